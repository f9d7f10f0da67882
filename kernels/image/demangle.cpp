#include "kernels/image/demangle.hpp"

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "proto/limits.hpp"
#include "proto/unique.hpp"

namespace lyk::image {

namespace {

// A substitution (S_, S0_, T_, ...) repeats an earlier part of the name, which may repeat others: k
// of them can lengthen a name 3^(k/3) times. Their count is bounded here by counting every S and T,
// also those inside identifiers.
bool is_bounded(std::string_view symbol) {
  if (symbol.size() > limits::demangled_symbol_bytes_max)
    return false;
  std::size_t substitutions = 0;
  for (std::size_t i = 0; i + 1 < symbol.size(); ++i) {
    const char next = symbol[i + 1];
    const bool begins = symbol[i] == 'S' || symbol[i] == 'T';
    const bool index = next == '_' || (next >= '0' && next <= '9') || (next >= 'A' && next <= 'Z');
    substitutions += begins && index ? 1 : 0;
  }
  return substitutions <= limits::demangled_substitutions_max;
}

}  // namespace

std::string demangle(std::string_view symbol) {
  std::string out{symbol};
  if (!symbol.starts_with("_Z") || !is_bounded(symbol))
    return out;
  int status = 0;
  const UniqueHandle<char, std::free> text{
      abi::__cxa_demangle(out.c_str(), nullptr, nullptr, &status)};
  if (status == 0 && text != nullptr)
    out = text.get();
  return out;
}

}  // namespace lyk::image
