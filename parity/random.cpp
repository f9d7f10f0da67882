#include "parity/random.hpp"

#include <array>

namespace lyk::parity {

namespace {

// What a byte makes of the rest, for a set's millions of them.
constexpr std::array<std::uint32_t, 256> make_table() {
  constexpr std::uint32_t polynomial = 0xedb88320;
  std::array<std::uint32_t, 256> out{};
  for (std::uint32_t byte = 0; byte < out.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = rest >> 1U ^ ((rest & 1U) != 0 ? polynomial : 0);
    out[byte] = rest;
  }
  return out;
}

constexpr std::array<std::uint32_t, 256> table = make_table();

}  // namespace

std::uint32_t crc32(std::string_view text, std::uint32_t before) {
  std::uint32_t rest = ~before;
  for (const char letter : text)
    rest = rest >> 8U ^ table[(rest ^ static_cast<unsigned char>(letter)) & 0xffU];
  return ~rest;
}

double Random::uniform(double from, double to) {
  constexpr double scale = 1.0 / static_cast<double>(std::uint64_t{1} << 53U);
  return from + (to - from) * (static_cast<double>(engine_() >> 11U) * scale);
}

double Random::normal() {
  constexpr std::uint64_t low_half = 0xffff;
  std::uint64_t sum = 0;
  for (int draw = 0; draw < 3; ++draw) {
    const std::uint64_t bits = engine_();
    sum += (bits & low_half) + (bits >> 16U & low_half) + (bits >> 32U & low_half) + (bits >> 48U);
  }
  return static_cast<double>(sum) / 65'536 - 6 + 6.0 / 65'536;
}

}  // namespace lyk::parity
