// The slot ms_deform_attn, forward. The operations of a channel and their order are those of
// kernels/reference/ms_deform_attn.hpp, so that the bits are the same; half and bfloat16 are read
// as they are and computed in fp32.
#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/deform.cuh"

namespace lyk::cuda {
namespace {

// What the lanes of a (query, head) need to know of a sampling point.
struct alignas(16) ForwardSample {
  TapWeights taps;
  float weight;
  std::uint32_t inside;
  int cell;  // the first of the four, existing or not
  int width;
};

__device__ ForwardSample forward_sample(const MsDeformAttn& call,
                                        std::uint64_t row,
                                        std::uint32_t sample_of_row) {
  const Level level = level_of(call, sample_of_row / call.points);
  const std::uint64_t sample = row * call.samples_per_row.value + sample_of_row;
  const Point point = point_of(call, level, sample);
  return {.taps = tap_weights(point.ly, point.lx),
          .weight = load_as(call.weights_type, call.weights, sample),
          .inside = point.inside,
          .cell = level.first_cell + point.row * level.width + point.column,
          .width = level.width};
}

template <typename Element>
__device__ void add_sample(const ForwardSample& sample,
                           const Element* value,
                           const DeformStrides& strides,
                           const LaneChannels& lane,
                           Channels<Element>& sums) {
  Channels<Element> cells[4];
#pragma unroll
  for (int tap = 0; tap < 4; ++tap) {
    const int cell = sample.cell + (tap & 1) + (tap >> 1) * sample.width;
    cells[tap] = {};
    if ((sample.inside >> tap & 1) != 0)
      cells[tap] = load_channels(value + std::int64_t{cell} * strides.cell, strides.channel, lane);
  }
#pragma unroll
  for (int i = 0; i < lane_channels<Element>; ++i) {
    float sum = __fmul_rn(sample.taps.of[1], cells[1].at[i]);
    sum = __fmaf_rn(sample.taps.of[0], cells[0].at[i], sum);
    sum = __fmaf_rn(sample.taps.of[2], cells[2].at[i], sum);
    sum = __fmaf_rn(sample.taps.of[3], cells[3].at[i], sum);
    sums.at[i] = __fmaf_rn(sample.weight, sum, sums.at[i]);
  }
}

template <typename Element>
__device__ void forward(const MsDeformAttn& call) {
  __shared__ ForwardSample of_block[deform_threads];
  const auto* value = static_cast<const Element*>(call.value);
  auto* output = static_cast<Element*>(call.output);
  const ChannelAccess access = access_of(call, value, call.value_strides, output);
  const std::uint32_t lane = threadIdx.x & (call.lanes - 1);
  ForwardSample* const of_group = of_block + (threadIdx.x - lane);
  const auto samples = static_cast<std::uint32_t>(call.samples_per_row.value);
  const std::uint64_t rows = call.batch * call.queries.value * call.heads.value;
  const std::uint64_t items = rows * call.chunks.value;
  for (Groups at = groups_of_grid(call.lanes); at.warp_has_item(items); at.item += at.stride) {
    const std::uint64_t row = quotient(at.item, call.chunks);
    const auto chunk = static_cast<std::uint32_t>(at.item - row * call.chunks.value);
    const LaneChannels mine = channels_of_lane<Element>(call, chunk, access);
    const DeformRow place = row_of(call, row);
    const Element* head = value + head_offset(call.value_strides, place.batch, place.head);
    Channels<Element> sums{};
    for (std::uint32_t first = 0; first < samples; first += call.lanes) {
      __syncwarp();  // nobody reads the last ones any more
      if (at.item < items && first + lane < samples)
        of_block[threadIdx.x] = forward_sample(call, row, first + lane);
      __syncwarp();
      const std::uint32_t count = min(call.lanes, samples - first);
      if (at.item >= items)
        continue;
#pragma unroll 1  // four loads per thread under way, and registers for more threads
      for (std::uint32_t i = 0; i < count; ++i)
        if (of_group[i].inside != 0)
          add_sample(of_group[i], head, call.value_strides, mine, sums);
    }
    if (at.item < items)
      store_channels(output + row * call.channels, 1, mine, sums);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(deform_threads)
    lyk_ms_deform_attn_forward_f32(MsDeformAttn call) {
  forward<float>(call);
}
extern "C" __global__ void __launch_bounds__(deform_threads)
    lyk_ms_deform_attn_forward_f16(MsDeformAttn call) {
  forward<Half>(call);
}
extern "C" __global__ void __launch_bounds__(deform_threads)
    lyk_ms_deform_attn_forward_bf16(MsDeformAttn call) {
  forward<Bfloat16>(call);
}

}  // namespace lyk::cuda
