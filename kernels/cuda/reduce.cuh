// Greatest magnitudes, as bits (arguments.hpp, Amax).
// Thread rule: the whole block calls, in whole warps, and meets at barriers.
#pragma once

#include <cstdint>

#include "kernels/cuda/quads.cuh"

namespace lyk::cuda {

constexpr unsigned warp_lanes = 32;

// Over all threads of the block. REQUIRES: all of it call, whole warps.
__device__ inline std::uint32_t greatest_of_block(std::uint32_t bits) {
  __shared__ std::uint32_t of_warps[warp_lanes];
  bits = greatest_of_lanes(bits, warp_lanes);
  if (blockDim.x <= warp_lanes)
    return bits;
  const unsigned lane = threadIdx.x % warp_lanes;
  if (lane == 0)
    of_warps[threadIdx.x / warp_lanes] = bits;
  __syncthreads();
  bits = greatest_of_lanes(lane < blockDim.x / warp_lanes ? of_warps[lane] : 0, warp_lanes);
  __syncthreads();  // the next call writes again
  return bits;
}

}  // namespace lyk::cuda
