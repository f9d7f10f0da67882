// The slot ms_deform_attn, backward: the gradients of locations and weights, and for that of value
// one of two ways.
//
//   atomic  adds to grad_value in whatever order threads come by: the last bits vary
//   count   the first step of the deterministic backward, whose last one is in
//           ms_deform_attn_gather.cu: notes how many points each bin has and how much they can add
//
// What a point adds, and to what, is in kernels/reference/ms_deform_attn.hpp. The sums over
// channels are in one order for every type and place of value: every fourth channel of a lane
// begins a sum of its own, and neighbouring sums are added up first. So the gradients of locations
// and weights are deterministic both ways, and those of 16-bit types are those of fp32, rounded.
#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/deform.cuh"

namespace lyk::cuda {
namespace {

enum class ValueGradient : std::uint8_t { atomic, count };

struct alignas(16) BackwardSample {
  float ly;
  float lx;
  float weight;
  std::uint32_t inside;
  int cell;  // the first of the four, existing or not
  int width;
  int height;
  std::uint32_t level;
};

// Sums over channels.
struct PointGradient {
  float weight;
  float x;
  float y;
};

// Those of a lane: one for the four channels that a lane of fp32 has, two of a 16-bit type.
constexpr int channels_of_sum = 4;
template <typename Element>
constexpr int sums_of_lane = lane_channels<Element> / channels_of_sum;

template <typename Element>
struct LaneSums {
  PointGradient of[sums_of_lane<Element>];
};

__device__ BackwardSample backward_sample(const MsDeformAttn& call,
                                          std::uint64_t row,
                                          std::uint32_t sample_of_row,
                                          Point& point) {
  const std::uint32_t number = sample_of_row / call.points;
  const Level level = level_of(call, number);
  const std::uint64_t sample = row * call.samples_per_row.value + sample_of_row;
  point = point_of(call, level, sample);
  return {.ly = point.ly,
          .lx = point.lx,
          .weight = load_as(call.weights_type, call.weights, sample),
          .inside = point.inside,
          .cell = level.first_cell + point.row * level.width + point.column,
          .width = level.width,
          .height = level.height,
          .level = number};
}

// Adds a lane's channels to grad_value. From sm_90 on, four at once.
template <typename Element>
__device__ void add_atomically(float* head,
                               std::int32_t stride,
                               const LaneChannels& lane,
                               const Channels<Element>& terms) {
#if __CUDA_ARCH__ >= 900
  if (lane.access == ChannelAccess::by_vector) {
    if (lane.first >= lane.end)
      return;
#  pragma unroll
    for (int i = 0; i < lane_channels<Element>; i += 4)
      atomicAdd(reinterpret_cast<float4*>(head + lane.first + i),
                float4{terms.at[i], terms.at[i + 1], terms.at[i + 2], terms.at[i + 3]});
    return;
  }
#endif
#pragma unroll
  for (int i = 0; i < lane_channels<Element>; ++i)
    if (lane.has(i))
      atomicAdd(head + std::int64_t{lane.channel(i)} * stride, terms.at[i]);
}

// Where one head of one image begins.
template <typename Element>
struct Head {
  const Element* value;
  float* grad_value;  // atomic only
};

// One sample and a lane's channels of grad_output.
template <ValueGradient way, typename Element>
__device__ void add_point(const MsDeformAttn& call,
                          const BackwardSample& sample,
                          const Head<Element>& head,
                          const LaneChannels& lane,
                          const Channels<Element>& gradient,
                          LaneSums<Element>& lane_sums) {
  const TapWeights weights = tap_weights(sample.ly, sample.lx);
  const float hy = __fsub_rn(1, sample.ly);
  const float hx = __fsub_rn(1, sample.lx);
  const float slopes_y[4] = {-hx, -sample.lx, hx, sample.lx};
  const float slopes_x[4] = {-hy, hy, -sample.ly, sample.ly};
  const float width = __int2float_rn(sample.width);
  const float height = __int2float_rn(sample.height);

  Channels<Element> cells[4];
#pragma unroll
  for (int tap = 0; tap < 4; ++tap) {
    const std::int64_t cell = sample.cell + (tap & 1) + (tap >> 1) * sample.width;
    cells[tap] = {};
    if ((sample.inside >> tap & 1) == 0)
      continue;
    cells[tap] = load_channels(head.value + cell * call.value_strides.cell,
                               call.value_strides.channel, lane);
    if constexpr (way == ValueGradient::atomic) {
      Channels<Element> terms;
#pragma unroll
      for (int i = 0; i < lane_channels<Element>; ++i)
        terms.at[i] = __fmul_rn(weights.of[tap], __fmul_rn(gradient.at[i], sample.weight));
      add_atomically(head.grad_value + cell * call.grad_value_strides.cell,
                     call.grad_value_strides.channel, lane, terms);
    }
  }
#pragma unroll
  for (int i = 0; i < lane_channels<Element>; ++i) {
    float sum = __fmul_rn(weights.of[1], cells[1].at[i]);
    float slope_y = 0;
    float slope_x = 0;
#pragma unroll
    for (int tap = 0; tap < 4; ++tap) {
      if (tap != 1)
        sum = __fmaf_rn(weights.of[tap], cells[tap].at[i], sum);
      // A cell outside adds a zero, which changes nothing.
      slope_y = __fmaf_rn(slopes_y[tap], cells[tap].at[i], slope_y);
      slope_x = __fmaf_rn(slopes_x[tap], cells[tap].at[i], slope_x);
    }
    // A channel that there is not adds a zero, which an infinite weight would make NaN.
    const float scaled = lane.has(i) ? __fmul_rn(gradient.at[i], sample.weight) : 0;
    PointGradient& sums = lane_sums.of[i / channels_of_sum];
    sums.weight = __fadd_rn(sums.weight, __fmul_rn(gradient.at[i], sum));
    sums.x = __fadd_rn(sums.x, __fmul_rn(__fmul_rn(width, slope_x), scaled));
    sums.y = __fadd_rn(sums.y, __fmul_rn(__fmul_rn(height, slope_y), scaled));
  }
}

__device__ float sum_of_lanes(float value, std::uint32_t lanes) {
  for (std::uint32_t distance = 1; distance < lanes; distance *= 2)
    value = __fadd_rn(value, __shfl_xor_sync(0xFFFFFFFF, value, distance));
  return value;
}

// REQUIRES: the whole warp calls.
template <typename Element>
__device__ PointGradient sum_of_lanes(const LaneSums<Element>& sums, std::uint32_t lanes) {
  PointGradient sum = sums.of[0];
  if constexpr (sums_of_lane<Element> == 2)
    sum = {__fadd_rn(sum.weight, sums.of[1].weight), __fadd_rn(sum.x, sums.of[1].x),
           __fadd_rn(sum.y, sums.of[1].y)};
  return {sum_of_lanes(sum.weight, lanes), sum_of_lanes(sum.x, lanes), sum_of_lanes(sum.y, lanes)};
}

// A (query, head), as its lanes see it.
template <typename Element>
struct RowGradient {
  const MsDeformAttn& call;
  const Element* grad_output;  // of its first channel
  ChannelAccess access;

  __device__ LaneChannels lane(std::uint32_t chunk) const {
    return channels_of_lane<Element>(call, chunk, access);
  }
  __device__ Channels<Element> load(std::uint32_t chunk) const {
    return load_channels(grad_output, 1, lane(chunk));
  }
  // Over all channels, of what is finite, as bits. REQUIRES: the whole warp calls.
  __device__ std::uint32_t greatest(std::uint32_t usable_chunks) const {
    std::uint32_t greatest = 0;
    for (std::uint32_t chunk = 0; chunk < usable_chunks; ++chunk) {
      const Channels<Element> channels = load(chunk);
#pragma unroll
      for (int i = 0; i < lane_channels<Element>; ++i) {
        const std::uint32_t bits = magnitude_bits(channels.at[i]);
        greatest = max(greatest, bits < float_infinity_bits ? bits : 0);
      }
    }
    return greatest_of_lanes(greatest, call.lanes);
  }
};

__device__ std::uint32_t product_bits(float weight, std::uint32_t magnitude) {
  return magnitude_bits(__fmul_rn(weight, __uint_as_float(magnitude)));
}

// The greatest finite product of the weight and a gradient, as bits. That of the greatest gradient
// is one but for numbers beyond all use: then the others are looked at, by the point's lane alone.
template <typename Element>
__device__ std::uint32_t bound_of(const RowGradient<Element>& row,
                                  float weight,
                                  std::uint32_t greatest) {
  std::uint32_t bound = product_bits(weight, greatest);
  if (bound < float_infinity_bits)
    return bound;
  bound = 0;
  for (std::uint32_t channel = 0; channel < row.call.channels; ++channel) {
    const float gradient = lyk::cuda::load(row.grad_output + channel);
    const std::uint32_t product = product_bits(weight, magnitude_bits(gradient));
    bound = max(bound, product < float_infinity_bits ? product : 0);
  }
  return bound;
}

// Notes a point in its bin. No finite term of it is greater than its bound, since the four weights
// of the cells are at most 1.
template <typename Element>
__device__ void count_point(const RowGradient<Element>& gradients,
                            const DeformRow& row,
                            const BackwardSample& sample,
                            const Point& point,
                            std::uint32_t greatest) {
  if (sample.inside == 0)
    return;
  const MsDeformAttn& call = gradients.call;
  const Level level = level_of(call, sample.level);
  const std::uint64_t bin =
      first_bin(call, row.batch * call.heads.value + row.head, sample.level, level) +
      bin_in_level(level, point.row, point.column);
  atomicAdd(call.bins.counts + bin, 1);
  atomicMax(call.bins.bounds + bin, bound_of(gradients, sample.weight, greatest));
}

// The gradient of one sample over all channels. REQUIRES: the whole warp calls.
template <ValueGradient way, typename Element>
__device__ PointGradient gradient_of(const RowGradient<Element>& row,
                                     const BackwardSample& sample,
                                     const Head<Element>& head,
                                     const Channels<Element>& first_chunk) {
  LaneSums<Element> sums{};
  for (std::uint32_t chunk = 0; chunk < row.call.chunks.value && sample.inside != 0; ++chunk)
    add_point<way>(row.call, sample, head, row.lane(chunk),
                   chunk == 0 ? first_chunk : row.load(chunk), sums);
  return sum_of_lanes(sums, row.call.lanes);
}

template <ValueGradient way, typename Element>
__device__ ChannelAccess backward_access(const MsDeformAttn& call) {
  const auto* grad_output = static_cast<const Element*>(call.grad_output);
  const ChannelAccess access =
      access_of(call, static_cast<const Element*>(call.value), call.value_strides, grad_output);
  if (way == ValueGradient::atomic &&
      !is_vector_place(static_cast<const float*>(call.grad_value), call.grad_value_strides))
    return ChannelAccess::by_channel;
  return access;
}

template <ValueGradient way, typename Element>
__device__ void backward(const MsDeformAttn& call) {
  __shared__ BackwardSample of_block[deform_threads];
  const ChannelAccess access = backward_access<way, Element>(call);
  const std::uint32_t lane = threadIdx.x & (call.lanes - 1);
  const BackwardSample* const of_group = of_block + (threadIdx.x - lane);
  const auto samples = static_cast<std::uint32_t>(call.samples_per_row.value);
  const std::uint64_t rows = call.batch * call.queries.value * call.heads.value;
  for (Groups at = groups_of_grid(call.lanes); at.warp_has_item(rows); at.item += at.stride) {
    const bool has_row = at.item < rows;
    const std::uint64_t number = has_row ? at.item : 0;
    const DeformRow place = row_of(call, number);
    const RowGradient<Element> row{
        call, static_cast<const Element*>(call.grad_output) + number * call.channels, access};
    const Head<Element> head{static_cast<const Element*>(call.value) +
                                 head_offset(call.value_strides, place.batch, place.head),
                             way == ValueGradient::atomic
                                 ? static_cast<float*>(call.grad_value) +
                                       head_offset(call.grad_value_strides, place.batch, place.head)
                                 : nullptr};
    const Channels<Element> first_chunk = row.load(0);
    std::uint32_t greatest = 0;
    if constexpr (way == ValueGradient::count)
      greatest = row.greatest(static_cast<std::uint32_t>(call.chunks.value));
    for (std::uint32_t first = 0; first < samples; first += call.lanes) {
      const bool has_sample = has_row && first + lane < samples;
      __syncwarp();  // nobody reads the last ones any more
      BackwardSample own{};
      Point point{};
      if (has_sample)
        own = backward_sample(call, number, first + lane, point);
      of_block[threadIdx.x] = own;
      if constexpr (way == ValueGradient::count)
        count_point(row, place, own, point, greatest);
      __syncwarp();
      PointGradient mine{};
      const std::uint32_t count = min(call.lanes, samples - first);
#pragma unroll 1
      for (std::uint32_t i = 0; i < count; ++i) {
        const PointGradient gradient = gradient_of<way>(row, of_group[i], head, first_chunk);
        if (i == lane)
          mine = gradient;
      }
      if (!has_sample)
        continue;
      const std::uint64_t sample = number * samples + first + lane;
      store_as(call.weights_type, call.grad_weights, sample, mine.weight);
      store_as(call.locations_type, call.grad_locations, 2 * sample, mine.x);
      store_as(call.locations_type, call.grad_locations, 2 * sample + 1, mine.y);
    }
  }
}

template <typename Element>
__device__ void cast(const DeformCast& call) {
  auto* to = static_cast<Element*>(call.to);
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < call.elements;
       i += stride) {
    const std::uint64_t head_row = quotient(i, call.channels);
    const std::uint64_t cell_row = quotient(head_row, call.heads);
    const std::uint64_t batch = quotient(cell_row, call.cells);
    const std::uint64_t channel = i - head_row * call.channels.value;
    const std::uint64_t cell = cell_row - batch * call.cells.value;
    const std::int64_t offset =
        head_offset(call.strides, batch, head_row - cell_row * call.heads.value) +
        static_cast<std::int64_t>(cell) * call.strides.cell +
        static_cast<std::int64_t>(channel) * call.strides.channel;
    to[offset] = from_float<Element>(load(call.from + i));
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(deform_threads)
    lyk_ms_deform_attn_backward_atomic_f32(MsDeformAttn call) {
  backward<ValueGradient::atomic, float>(call);
}
extern "C" __global__ void __launch_bounds__(deform_threads)
    lyk_ms_deform_attn_backward_atomic_f16(MsDeformAttn call) {
  backward<ValueGradient::atomic, Half>(call);
}
extern "C" __global__ void __launch_bounds__(deform_threads)
    lyk_ms_deform_attn_backward_atomic_bf16(MsDeformAttn call) {
  backward<ValueGradient::atomic, Bfloat16>(call);
}
extern "C" __global__ void __launch_bounds__(deform_threads)
    lyk_ms_deform_attn_backward_count_f32(MsDeformAttn call) {
  backward<ValueGradient::count, float>(call);
}
extern "C" __global__ void __launch_bounds__(deform_threads)
    lyk_ms_deform_attn_backward_count_f16(MsDeformAttn call) {
  backward<ValueGradient::count, Half>(call);
}
extern "C" __global__ void __launch_bounds__(deform_threads)
    lyk_ms_deform_attn_backward_count_bf16(MsDeformAttn call) {
  backward<ValueGradient::count, Bfloat16>(call);
}

// What the atomic backward of a 16-bit type has summed up, rounded once.
extern "C" __global__ void lyk_ms_deform_attn_cast_f16(DeformCast call) {
  cast<Half>(call);
}
extern "C" __global__ void lyk_ms_deform_attn_cast_bf16(DeformCast call) {
  cast<Bfloat16>(call);
}

}  // namespace lyk::cuda
