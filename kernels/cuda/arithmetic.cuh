// The operations that the formulas of the quantization slots are made of. They are those of
// kernels/reference/arithmetic.hpp, e2m1.hpp and e4m3.hpp, bit for bit, and each line of them is
// one correctly rounded operation: what can be contracted or approximated is written as the
// intrinsic that cannot.
// Thread rule: each thread by itself, but for greatest_of_lanes.
#pragma once

#include <cstdint>

#include "kernels/cuda/divisor.hpp"

namespace lyk::cuda {

constexpr float smallest_scale = 1e-12F;
constexpr std::uint32_t float_infinity_bits = 0x7F800000;
constexpr std::uint32_t float_mantissa_bits = 23;

// torch.maximum and torch.minimum with a number: NaN stays NaN, whereas fmaxf would drop it.
__device__ inline float at_least(float value, float bound) {
  return value < bound ? bound : value;
}

__device__ inline float at_most(float value, float bound) {
  return value > bound ? bound : value;
}

// x + (quantised - x), as LibreYOLO writes the straight-through estimator: two roundings.
__device__ inline float straight_through(float quantised, float x) {
  return __fadd_rn(x, __fsub_rn(quantised, x));
}

__device__ inline std::uint64_t quotient(std::uint64_t dividend, const Divisor& divisor) {
  if (divisor.magic == 0)
    return dividend;
  return __umul64hi(dividend, divisor.magic) >> divisor.shift;
}

// ---- magnitudes as bits -----------------------------------------------------------------------

__device__ inline std::uint32_t magnitude_bits(float value) {
  return __float_as_uint(value) & 0x7FFFFFFF;
}

// Over `lanes` neighbours of a warp, a power of two. REQUIRES: the whole warp calls.
__device__ inline std::uint32_t greatest_of_lanes(std::uint32_t bits, unsigned lanes) {
  for (unsigned distance = lanes / 2; distance != 0; distance /= 2)
    bits = max(bits, __shfl_xor_sync(0xFFFFFFFF, bits, distance));
  return bits;
}

// ---- e4m3 -------------------------------------------------------------------------------------

constexpr float e4m3_max = 448.0F;

// The nearest value of the format, ties to the even code. REQUIRES: |value| <= 448 or NaN.
//
// Adding 2^20 times the power of two below a float leaves three bits of its mantissa, rounded to
// nearest even; below 2^-6 the step stays 2^-9. The instruction for it is missing before sm_89 and
// would have to be followed by two more to come back to fp32: this is as fast, and the same
// everywhere.
__device__ inline float round_to_e4m3(float value) {
  constexpr std::uint32_t smallest_exponent = (127 - 6) << float_mantissa_bits;
  constexpr std::uint32_t exponent_of_base = 20 << float_mantissa_bits;
  const std::uint32_t exponent =
      max(__float_as_uint(value) & float_infinity_bits, smallest_exponent);
  const float base = __uint_as_float(exponent + exponent_of_base);
  return copysignf(__fsub_rn(__fadd_rn(fabsf(value), base), base), value);
}

// The value of a code. Its seven low bits, moved to where a float has them, are the value times
// 2^-120, denormals included.
__device__ inline float e4m3_value(std::uint32_t code) {
  constexpr std::uint32_t nan_code = 0x7F;
  const std::uint32_t magnitude = code & 0x7F;
  const float value = __fmul_rn(__uint_as_float(magnitude << 20), 0x1p120F);
  return magnitude == nan_code ? __uint_as_float(0x7FC00000)
                               : copysignf(value, __uint_as_float(code << 24));
}

// ---- e2m1 -------------------------------------------------------------------------------------

constexpr float e2m1_max = 6.0F;

// The nearest E2M1 value, where a tie goes to the one nearer to zero, and the straight-through
// estimator over it.
//
// From 1 on, the format is the upper bits of a float, so that rounding is an addition of just below
// half a step and a mask. Below 1 its step is that of [1, 2): the same after adding 1, rounded up,
// since what is above a midpoint must stay above it. NaN takes any way and stays NaN by the last
// line; the sign of a zero has no effect there.
__device__ inline float round_to_e2m1(float scaled) {
  constexpr std::uint32_t below_half_step = 0x001FFFFF;
  constexpr std::uint32_t mask = 0xFFC00000;
  const float magnitude = fminf(fabsf(scaled), e2m1_max);
  const float base = magnitude < 1.0F ? 1.0F : 0.0F;
  const std::uint32_t bits = __float_as_uint(__fadd_ru(magnitude, base)) + below_half_step;
  const float level = __fsub_rn(__uint_as_float(bits & mask), base);
  return straight_through(copysignf(level, scaled), scaled);
}

// The value of a code 0 to 15, a zero with its sign. Its three low bits, moved to where a float has
// them, are the value times 2^-126.
__device__ inline float e2m1_value(std::uint32_t code) {
  const float value = __fmul_rn(__uint_as_float((code & 7) << 22), 0x1p126F);
  return copysignf(value, __uint_as_float(code << 28));
}

}  // namespace lyk::cuda
