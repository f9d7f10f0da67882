// The scale of an MXFP4 block from the bits of its greatest magnitude: 2^(floor(log2(greatest)) -
// 2), not above 2^127, and 2^-102 for what is smaller than 1e-30. The logarithm is rounded to fp32.
//
// Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/cpu/arithmetic.hpp"

namespace lyk::cpu {

inline constexpr int mantissa_bits = 23;
inline constexpr std::int32_t mantissa_mask = (1 << mantissa_bits) - 1;

// By exponent field, the least mantissa from which the correctly rounded fp32 logarithm is already
// the next integer. The logarithms of the floats below 2^k are nearer to k than half the distance
// of floats there, and the further k is from zero, the larger that distance: it doubles with every
// bit of k. So does the number of those floats, but for the rounding: 1/ln(2) of them per unit.
inline constexpr std::array<std::int32_t, 256> rounded_up_from = [] {
  constexpr std::array<std::int32_t, 8> floats_below{0, 0, 1, 2, 5, 11, 22, 44};
  std::array<std::int32_t, 256> table{};
  for (std::size_t field = 0; field < table.size(); ++field) {
    const int exponent = static_cast<int>(field) - 127;
    const auto distance = static_cast<unsigned>(exponent < 0 ? ~exponent : exponent);
    const std::size_t bits = std::bit_width(distance);
    table[field] = mantissa_mask + 1 - floats_below[std::min<std::size_t>(bits, 7)];
  }
  table[255] = 0;  // the logarithm of infinity is above all
  return table;
}();

// REQUIRES: bits of a magnitude, which may be infinite or NaN.
inline float mxfp4_scale(MagnitudeBits greatest) {
  constexpr auto smallest = std::bit_cast<MagnitudeBits>(1e-30F);
  constexpr std::int32_t e2m1_exponent = 2;  // that of 6
  constexpr std::int32_t field_max = 254;    // of 2^127
  if (greatest > infinity_bits)
    return std::numeric_limits<float>::quiet_NaN();
  const MagnitudeBits bits = std::max(greatest, smallest);
  const std::int32_t field = bits >> mantissa_bits;
  const bool rounds_up = (bits & mantissa_mask) >= rounded_up_from[static_cast<std::size_t>(field)];
  const std::int32_t of_scale = field - e2m1_exponent + (rounds_up ? 1 : 0);
  return std::bit_cast<float>(std::min(of_scale, field_max) << mantissa_bits);
}

// 1 / power, which is exact; anything for NaN. REQUIRES: a normal power of two, or NaN.
inline float inverse_power(float power) {
  const std::int32_t field = std::bit_cast<std::int32_t>(power) >> mantissa_bits & 0xFF;
  // The inverse of 2^127 is a denormal.
  const std::int32_t bits =
      field >= 254 ? 1 << (mantissa_bits - 1) : (254 - field) << mantissa_bits;
  return std::bit_cast<float>(bits);
}

}  // namespace lyk::cpu
