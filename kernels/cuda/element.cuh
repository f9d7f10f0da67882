// Element types and their conversions. half and bfloat16 are two bytes here: CUDA's own headers for
// them take longer to read than all kernels take to compile.
// Thread rule: each thread by itself.
#pragma once

#include <cstdint>

#include "kernels/cuda/arithmetic.cuh"

namespace lyk::cuda {

struct Half {
  std::uint16_t bits;
};

struct Bfloat16 {
  std::uint16_t bits;
};

__device__ inline float to_float(float value) {
  return value;
}

__device__ inline float to_float(Half value) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(value.bits));
  return out;
}

__device__ inline float to_float(Bfloat16 value) {
  return __uint_as_float(std::uint32_t{value.bits} << 16);
}

// Rounded to nearest even; NaN stays NaN.
template <typename Element>
__device__ Element from_float(float value);

template <>
__device__ inline float from_float<float>(float value) {
  return value;
}

template <>
__device__ inline Half from_float<Half>(float value) {
  Half out;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(value));
  return out;
}

// By whole numbers: sm_75 has no instruction for it.
template <>
__device__ inline Bfloat16 from_float<Bfloat16>(float value) {
  const std::uint32_t bits = __float_as_uint(value);
  if (magnitude_bits(value) > float_infinity_bits)
    return {0x7FC0};
  return {static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)};
}

// One element that no other thread writes during the launch.
__device__ inline float load(const float* from) {
  return __ldg(from);
}

template <typename Element>
__device__ float load(const Element* from) {
  return to_float(Element{__ldg(&from->bits)});
}

}  // namespace lyk::cuda
