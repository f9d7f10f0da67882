// Git LFS pointers: the small file in git that names a large one by sha256 and size
// (facts hub-protocol 3.2). One valid encoding per object; extension lines are refused.
// Thread rule: values.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/digest.hpp"
#include "proto/result.hpp"

namespace lyk::fetcher {

struct Pointer {
  Digest sha256;
  std::uint64_t bytes = 0;
};

// Whether this content means to be a pointer. What does, and is not a valid one, is refused rather
// than taken for an ordinary file.
bool looks_like_pointer(std::string_view content);

// Fails with refused: the text says which rule is broken.
Result<Pointer> parse_pointer(std::string_view content);

}  // namespace lyk::fetcher
