// C++ names of kernels, for people. Programs use the mangled symbol.
//
// A mangled name is a program: substitutions repeat earlier parts of it, which may repeat others,
// and pack expansions repeat a part for every argument. 150 letters can stand for gigabytes. So the
// length of what would be written is estimated first, from above, and what may be too long is not
// demangled.
//
// Thread rule: a Demangler is used by one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/limits.hpp"

namespace lyk::image {

// For the symbols of one image: it stops demangling when their estimates together reach
// limits::demangle_letters_per_image_max.
class Demangler {
public:
  // `symbol` as C++ declares it; the symbol itself if it is no Itanium C++ name or may be too long.
  std::string name(std::string_view symbol);

private:
  std::uint64_t letters_left_ = limits::demangle_letters_per_image_max;
  std::size_t kept_bytes_ = 0;
};

}  // namespace lyk::image
