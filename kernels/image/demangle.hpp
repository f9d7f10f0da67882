// C++ names of kernels, for people. Programs use the mangled symbol.
#pragma once

#include <string>
#include <string_view>

namespace lyk::image {

// `symbol` as C++ declares it; the symbol itself if it is not an Itanium C++ name, or one so long
// or so involved that writing it out is not bounded (limits::demangled_*).
std::string demangle(std::string_view symbol);

}  // namespace lyk::image
