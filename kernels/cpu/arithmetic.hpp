// The scalar operations around the vectors: what is computed once per tensor or block. Each is
// exactly PyTorch's on fp32; kernels/reference/arithmetic.hpp states the same rules for the oracle,
// which shares nothing with this folder so that neither can hide the other's mistake.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/slots/quantization.hpp"

namespace lyk::cpu {

inline constexpr float smallest_scale = 1e-12F;
inline constexpr float e4m3_max = 448.0F;
inline constexpr float e2m1_max = 6.0F;

// NaN stays NaN in both.
constexpr float at_least(float value, float bound) {
  return value < bound ? bound : value;
}

constexpr float at_most(float value, float bound) {
  return value > bound ? bound : value;
}

constexpr float divide_by_constant(float value, float constant, slots::ScalarDivision rule) {
  return rule == slots::ScalarDivision::reciprocal ? value * (1.0F / constant) : value / constant;
}

constexpr std::size_t divide_up(std::size_t count, std::size_t divisor) {
  return count / divisor + (count % divisor == 0 ? 0 : 1);
}

// Magnitudes as integers: floats without their sign are ordered as their bits are, NaN above all.
// A maximum of bits is therefore torch.amax, NaN included, in whatever order it is taken.
using MagnitudeBits = std::int32_t;
inline constexpr MagnitudeBits infinity_bits = 0x7F800000;

constexpr float magnitude(MagnitudeBits bits) {
  return std::bit_cast<float>(bits);
}

}  // namespace lyk::cpu
