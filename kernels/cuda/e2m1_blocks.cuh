// Block-scaled E2M1, which nvfp4 and mxfp4 have in common: kernels/reference/e2m1_blocks.hpp.
// Thread rule: the whole grid calls, in whole warps: the lanes of a block shuffle.
#pragma once

#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/quads.cuh"

namespace lyk::cuda {

// `lanes` neighbours hold a block, four elements each. `scale_of(greatest magnitude, as bits)`.
template <unsigned lanes, typename ScaleOf>
__device__ void e2m1_forward(const E2m1Blocks& call, const ScaleOf& scale_of) {
  map_groups(call.shape, call.x, nullptr, call.output,
             [&](const Quad& values, Quad& result, const GroupedPlace&) {
               const float scale = scale_of(greatest_of_lanes(greatest_magnitude(values), lanes));
#pragma unroll
               for (int i = 0; i < quad_size; ++i)
                 result.at[i] = __fmul_rn(round_to_e2m1(__fdiv_rn(values.at[i], scale)), scale);
             });
}

// (gradient * scale) / scale, in two roundings.
template <unsigned lanes, typename ScaleOf>
__device__ void e2m1_backward(const E2m1Blocks& call, const ScaleOf& scale_of) {
  map_groups(call.shape, call.x, call.grad_output, call.output,
             [&](const Quad& values, Quad& result, const GroupedPlace&) {
               const float scale = scale_of(greatest_of_lanes(greatest_magnitude(values), lanes));
#pragma unroll
               for (int i = 0; i < quad_size; ++i)
                 result.at[i] = __fdiv_rn(__fmul_rn(result.at[i], scale), scale);
             });
}

}  // namespace lyk::cuda
