// The scales of NVFP4: kernels/reference/nvfp4.hpp. Scalar division by reciprocal, as PyTorch does
// on CUDA.
// Thread rule: each thread by itself.
#pragma once

#include "kernels/cuda/arithmetic.cuh"

namespace lyk::cuda {

__device__ inline float nvfp4_tensor_scale(float tensor_amax) {
  return at_least(__fmul_rn(tensor_amax, 1.0F / (e4m3_max * e2m1_max)), smallest_scale);
}

__device__ inline float nvfp4_effective_scale(float block_scale, float tensor_scale) {
  return at_least(__fmul_rn(block_scale, tensor_scale), smallest_scale);
}

}  // namespace lyk::cuda
