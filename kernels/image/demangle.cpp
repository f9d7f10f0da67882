#include "kernels/image/demangle.hpp"

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace lyk::image {

namespace {

// An upper estimate of the length of the demangled name; more than limits::demangle_letters_max
// means "too long" only. k references to what stands before (S_, S0_, T_, ...) lengthen a name at
// most 3^(k/3) times, three of them to each level being the worst; a pack expansion (Dp, sp) at
// most as many times as there are letters. Whatever looks like either is counted, also inside
// identifiers.
std::uint64_t estimate_letters(std::string_view symbol) {
  const auto is_index = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
  };
  std::uint64_t letters = symbol.size();
  std::size_t references = 0;
  for (std::size_t i = 0; i + 1 < symbol.size(); ++i) {
    const char next = symbol[i + 1];
    if ((symbol[i] == 'S' || symbol[i] == 'T') && is_index(next)) {
      if (++references % 3 == 1)
        letters *= 3;
    } else if ((symbol[i] == 'D' || symbol[i] == 's') && next == 'p') {
      letters *= symbol.size();
    }
    if (letters > limits::demangle_letters_max)
      break;
  }
  return letters;
}

}  // namespace

std::string Demangler::name(std::string_view symbol) {
  std::string out{symbol};
  if (!symbol.starts_with("_Z"))
    return out;
  const std::uint64_t letters = estimate_letters(symbol);
  if (letters > limits::demangle_letters_max || letters > letters_left_)
    return out;
  letters_left_ -= letters;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text{
      abi::__cxa_demangle(out.c_str(), nullptr, nullptr, &status), std::free};
  if (status != 0 || text == nullptr)
    return out;
  const std::string_view written = text.get();
  if (written.size() > symbol.size() * limits::demangle_growth_max ||
      written.size() > limits::kernel_list_bytes_max / 2 - kept_bytes_)
    return out;
  kept_bytes_ += written.size();
  out = written;
  return out;
}

}  // namespace lyk::image
