// The slot fake_quant_int_grouped: kernels/reference/fake_quant_int_grouped.hpp states the formula.
// Scalar division by reciprocal, as PyTorch does on CUDA. Backward is a copy of the gradient, which
// needs no kernel.
#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/quads.cuh"

namespace lyk::cuda {
namespace {

__device__ float given_scale(const IntGrouped& call, std::uint64_t row, std::uint64_t group) {
  return load(call.scale + static_cast<std::int64_t>(row) * call.scale_row_stride +
              static_cast<std::int64_t>(group) * call.scale_group_stride);
}

__device__ float scale_from(std::uint32_t amax_bits, const IntGrouped& call) {
  return __fmul_rn(__uint_as_float(amax_bits), __fdiv_rn(1.0F, call.highest_code));
}

// Clipping drops NaN; it comes back by the scale or by the last line, as in fake_quant_fp8.cu.
// Adding and taking away 1.5 * 2^23 rounds to nearest even.
__device__ float quantise(float weight, float scale, float highest) {
  constexpr float magic = 12582912.0F;
  const float clipped = fminf(fmaxf(__fdiv_rn(weight, scale), -highest - 1.0F), highest);
  const float code = __fsub_rn(__fadd_rn(clipped, magic), magic);
  return straight_through(__fmul_rn(code, scale), weight);
}

}  // namespace

// Groups of 4, 8, 16, 32, 64 or 128 columns: as many lanes of a warp as a group has quads.
extern "C" __global__ void lyk_fake_quant_int_grouped_forward_f32(IntGrouped call) {
  const unsigned lanes = call.group_size / quad_size;
  map_groups(call.shape, call.weight, nullptr, call.output,
             [&](const Quad& values, Quad& result, const GroupedPlace& place) {
               float scale = 0;
               if (call.scale == nullptr)
                 scale = scale_from(greatest_of_lanes(greatest_magnitude(values), lanes), call);
               else if (place.size != 0)
                 scale =
                     given_scale(call, place.row,
                                 place.column >> (__ffs(static_cast<int>(call.group_size)) - 1));
               scale = at_least(scale, smallest_scale);
#pragma unroll
               for (int i = 0; i < quad_size; ++i)
                 result.at[i] = quantise(values.at[i], scale, call.highest_code);
             });
}

// Groups of any size: a warp goes over its group twice.
extern "C" __global__ void lyk_fake_quant_int_grouped_forward_any_f32(IntGrouped call) {
  const unsigned lane = threadIdx.x % warpSize;
  const std::uint64_t groups_per_row = (call.shape.columns + call.group_size - 1) / call.group_size;
  const std::uint64_t groups = call.shape.rows * groups_per_row;
  for (std::uint64_t group = thread_of_grid() / warpSize; group < groups;
       group += threads_of_grid() / warpSize) {
    const std::uint64_t row = group / groups_per_row;
    const std::uint64_t first = (group - row * groups_per_row) * call.group_size;
    const std::uint64_t begin = row * call.shape.columns;
    const std::uint64_t end = min(first + call.group_size, call.shape.columns);
    float scale = 0;
    if (call.scale == nullptr) {
      std::uint32_t amax = 0;
      for (std::uint64_t column = first + lane; column < end; column += warpSize)
        amax = max(amax, magnitude_bits(load(call.weight + begin + column)));
      scale = scale_from(greatest_of_lanes(amax, warpSize), call);
    } else {
      scale = given_scale(call, row, group - row * groups_per_row);
    }
    scale = at_least(scale, smallest_scale);
    for (std::uint64_t column = first + lane; column < end; column += warpSize)
      call.output[begin + column] =
          quantise(load(call.weight + begin + column), scale, call.highest_code);
  }
}

}  // namespace lyk::cuda
