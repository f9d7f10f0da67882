// What the two INT8 slots have in common.
// Thread rule: each thread by itself.
#pragma once

namespace lyk::cuda {

constexpr float lowest_int8 = -128;
constexpr float highest_int8 = 127;

// NaN becomes the lowest code: fmaxf drops it.
__device__ inline float clip_int8(float code) {
  return fminf(fmaxf(code, lowest_int8), highest_int8);
}

// A multiplication, as automatic differentiation has it: a masked gradient keeps its sign, and is
// NaN if it is infinite. NaN is in no range.
__device__ inline float masked_gradient(float gradient, float unclipped_code) {
  const bool in_range = unclipped_code >= lowest_int8 && unclipped_code <= highest_int8;
  return __fmul_rn(gradient, in_range ? 1.0F : 0.0F);
}

}  // namespace lyk::cuda
