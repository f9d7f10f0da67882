// The scalar operations around the vectors: what is computed once per tensor or block. Each is
// exactly PyTorch's on fp32; kernels/reference/arithmetic.hpp states the same rules for the oracle,
// which shares nothing with this folder so that neither can hide the other's mistake.
//
// Of the oracle's modes there is one here, PyTorch's on a CPU: numbers are divided by, not
// multiplied with their inverse, logarithms are rounded, and codes that overflow are the lowest.
// Every slot checks that its call says so, which is what a call says unless it is told otherwise.
//
// Thread rule: pure functions.
#pragma once

#include <bit>
#include <cstdint>

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

// `ts` of kernels/reference/nvfp4.hpp.
constexpr float nvfp4_tensor_scale(float tensor_amax) {
  return at_least(tensor_amax / (e4m3_max * e2m1_max), smallest_scale);
}

// Magnitudes as integers: floats without their sign are ordered as their bits are, NaN above all.
// A maximum of bits is therefore torch.amax, NaN included, in whatever order it is taken.
using MagnitudeBits = std::int32_t;
inline constexpr MagnitudeBits infinity_bits = 0x7F800000;

constexpr float magnitude(MagnitudeBits bits) {
  return std::bit_cast<float>(bits);
}

}  // namespace lyk::cpu
