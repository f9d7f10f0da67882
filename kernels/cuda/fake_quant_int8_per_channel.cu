// The slot fake_quant_int8_per_channel: kernels/reference/fake_quant_int8_per_channel.hpp states
// the formula. Scalar division by reciprocal and saturating codes, as PyTorch has them on CUDA.
//
// A channel that lies in one piece is read once: a block keeps it in registers between finding its
// greatest magnitude and rounding it (`_rows`). Channels that are scattered, as in channels_last,
// take two launches: `_amax`, then the kernel that also serves given scales.
#include <type_traits>

#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/channels.cuh"
#include "kernels/cuda/int8.cuh"
#include "kernels/cuda/reduce.cuh"

namespace lyk::cuda {
namespace {

enum class Direction : std::uint8_t { forward, backward };

struct ChannelGrid {
  float scale;
  float inverse;
};

__device__ ChannelGrid grid_of(float scale) {
  return {scale, __fdiv_rn(1.0F, scale)};
}

__device__ float scale_from(std::uint32_t amax_bits) {
  return at_least(__fmul_rn(__uint_as_float(amax_bits), 1.0F / highest_int8), smallest_scale);
}

// Clipped before it is rounded, which is the same since the bounds are integers. Adding and taking
// away 1.5 * 2^23 rounds to nearest even, and to +0 as through an integer.
__device__ float quantise(float weight, const ChannelGrid& grid) {
  constexpr float magic = 12582912.0F;
  const float code = __fadd_rn(clip_int8(__fmul_rn(weight, grid.inverse)), magic);
  return __fmul_rn(__fsub_rn(code, magic), grid.scale);
}

template <Direction direction>
__device__ float apply(float weight, float gradient, const ChannelGrid& grid) {
  if constexpr (direction == Direction::forward)
    return quantise(weight, grid);
  else
    return masked_gradient(gradient, rintf(__fmul_rn(weight, grid.inverse)));
}

// ---- a scale that is there --------------------------------------------------------------------

template <Direction direction, typename Element>
__device__ void apply_to_all(const Int8PerChannel& call) {
  const auto* weight = static_cast<const Element*>(call.weight);
  const auto* gradient = static_cast<const Element*>(call.grad_output);
  auto* output = static_cast<Element*>(call.output);
  const auto make = [&call](std::uint64_t channel) {
    return grid_of(call.scale != nullptr ? load(call.scale + channel)
                                         : scale_from(__ldg(call.amax + channel)));
  };
  const auto operation = [&](const auto& values, auto& result, std::uint64_t first) {
    for_each_channel(call.inner, call.channels, first, values, result, make, apply<direction>);
  };
  if constexpr (direction == Direction::forward)
    map(weight, output, run_of(call.elements, weight, weight, output), operation);
  else
    map(weight, gradient, output, run_of(call.elements, weight, gradient, output), operation);
}

// ---- a scale from the weight ------------------------------------------------------------------

// What a thread keeps of its row. 1024 threads keep 16384 elements; the rest of a longer row is
// read again.
constexpr int quads_kept = 4;
constexpr unsigned row_threads_max = 1024;

struct Row {
  const float* weight;
  const float* gradient;  // backward only
  float* output;
  Run run;
};

// What the thread reads of its row beyond the quads that it keeps: `visit(index, constant of the
// pack's size)`.
template <typename Visit>
__device__ void for_the_rest(const Row& row, const Visit& visit) {
  const std::uint64_t kept = threadIdx.x + std::uint64_t{quads_kept} * blockDim.x;
  for (std::uint64_t quad = kept; quad < row.run.quads; quad += blockDim.x)
    visit(row.run.begin_of_quad(quad), std::integral_constant<int, quad_size>{});
  for (std::uint64_t single = threadIdx.x; single < row.run.singles; single += blockDim.x)
    visit(row.run.index_of_single(single), std::integral_constant<int, 1>{});
}

template <Direction direction, int size>
__device__ void apply_to_pack(const Row& row,
                              std::uint64_t index,
                              const Pack<size>& values,
                              const ChannelGrid& grid) {
  Pack<size> result = values;
  if constexpr (direction == Direction::backward)
    result = load_pack<size>(row.gradient + index);
#pragma unroll
  for (int i = 0; i < size; ++i)
    result.at[i] = apply<direction>(values.at[i], result.at[i], grid);
  store_pack(row.output + index, result);
}

template <Direction direction>
__device__ void apply_to_row(const Row& row) {
  Quad kept[quads_kept];
  std::uint32_t amax = 0;
#pragma unroll
  for (int k = 0; k < quads_kept; ++k) {
    const unsigned quad = threadIdx.x + k * blockDim.x;
    if (quad < row.run.quads) {
      kept[k] = load_pack<quad_size>(row.weight + row.run.begin_of_quad(quad));
      amax = max(amax, greatest_magnitude(kept[k]));
    }
  }
  for_the_rest(row, [&](std::uint64_t index, auto size) {
    amax = max(amax, greatest_magnitude(load_pack<size>(row.weight + index)));
  });

  const ChannelGrid grid = grid_of(scale_from(greatest_of_block(amax)));
#pragma unroll
  for (int k = 0; k < quads_kept; ++k) {
    const unsigned quad = threadIdx.x + k * blockDim.x;
    if (quad < row.run.quads)
      apply_to_pack<direction>(row, row.run.begin_of_quad(quad), kept[k], grid);
  }
  for_the_rest(row, [&](std::uint64_t index, auto size) {
    apply_to_pack<direction>(row, index, load_pack<size>(row.weight + index), grid);
  });
}

template <Direction direction>
__device__ void apply_to_rows(const Int8PerChannel& call) {
  for (std::uint64_t row = blockIdx.x; row < call.channels.value; row += gridDim.x) {
    const std::uint64_t begin = row * call.inner.value;
    const auto* weight = static_cast<const float*>(call.weight) + begin;
    auto* output = static_cast<float*>(call.output) + begin;
    const float* gradient = weight;
    if constexpr (direction == Direction::backward)
      gradient = static_cast<const float*>(call.grad_output) + begin;
    apply_to_row<direction>(
        Row{weight, gradient, output, run_of(call.inner.value, weight, gradient, output)});
  }
}

}  // namespace

// With a given scale, or with what `_amax` found.
extern "C" __global__ void lyk_fake_quant_int8_per_channel_forward_f32(Int8PerChannel call) {
  apply_to_all<Direction::forward, float>(call);
}
extern "C" __global__ void lyk_fake_quant_int8_per_channel_forward_f16(Int8PerChannel call) {
  apply_to_all<Direction::forward, Half>(call);
}
extern "C" __global__ void lyk_fake_quant_int8_per_channel_forward_bf16(Int8PerChannel call) {
  apply_to_all<Direction::forward, Bfloat16>(call);
}
extern "C" __global__ void lyk_fake_quant_int8_per_channel_backward_f32(Int8PerChannel call) {
  apply_to_all<Direction::backward, float>(call);
}
extern "C" __global__ void lyk_fake_quant_int8_per_channel_backward_f16(Int8PerChannel call) {
  apply_to_all<Direction::backward, Half>(call);
}
extern "C" __global__ void lyk_fake_quant_int8_per_channel_backward_bf16(Int8PerChannel call) {
  apply_to_all<Direction::backward, Bfloat16>(call);
}

// With a scale from the weight, of fp32 alone: that of a 16-bit weight is made in 16 bits, which is
// another one. REQUIRES: channels * inner elements. Bounded, since row_threads may ask for the
// largest block there is: unbounded, a compiler may take more registers than it can have.
extern "C" __global__ void __launch_bounds__(row_threads_max, 1)
    lyk_fake_quant_int8_per_channel_forward_rows_f32(Int8PerChannel call) {
  apply_to_rows<Direction::forward>(call);
}
extern "C" __global__ void __launch_bounds__(row_threads_max, 1)
    lyk_fake_quant_int8_per_channel_backward_rows_f32(Int8PerChannel call) {
  apply_to_rows<Direction::backward>(call);
}

}  // namespace lyk::cuda
