// Numbers that look random and are the same everywhere: of the seed and of nothing else, not of the
// C++ library either, whose distributions differ.
// Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>

namespace lyk::parity {

// CRC-32 (IEEE 802.3, as zlib's), which LibreYOLO's harness seeds its cases with. `before`: of what
// stands before it.
std::uint32_t crc32(std::string_view text, std::uint32_t before = 0);

class Random {
public:
  // Of a label such as "ms_deform_attn:rf-detr".
  explicit Random(std::string_view label) : engine_(crc32(label)) {}

  std::uint64_t bits() { return engine_(); }
  double uniform(double from, double to);  // from <= x < to
  // Mean 0, standard deviation 1, at most 6 from the mean: the sum of twelve uniform numbers.
  double normal();

private:
  std::mt19937_64 engine_;  // the standard defines its every bit
};

}  // namespace lyk::parity
