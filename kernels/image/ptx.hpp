// PTX text: version, target and kernels. Only the module's own level is read; function bodies are
// skipped by their braces, as is everything that is not a kernel.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/image/image.hpp"
#include "proto/device.hpp"
#include "proto/result.hpp"

namespace lyk::image {

struct Ptx {
  CudaVersion version;
  Arch target;
  std::vector<Kernel> kernels;  // by symbol, each once
};

// True if `head` begins as PTX does: comments and blanks, then `.version`.
bool is_ptx(std::string_view head);

// `text` without closing NULs. 32-bit PTX is an Error: no driver of today takes it.
Result<Ptx> parse_ptx(std::string_view text);

}  // namespace lyk::image
