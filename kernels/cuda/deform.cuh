// What the kernels of ms_deform_attn have in common. `lanes` neighbours of a warp work on one
// (query, head), each on a few of its channels: 16 bytes of them, so that a head of 32 channels
// takes eight lanes and one line of memory per cell. Where a sampling point lies is found out by
// one lane for all of them, and handed over through shared memory.
// Thread rule: each thread by itself. What a group of lanes does together is in the kernels.
#pragma once

#include <cstdint>

#include "kernels/cuda/arguments.hpp"
#include "kernels/cuda/element.cuh"

namespace lyk::cuda {

constexpr unsigned deform_threads = 256;  // of a block, at most

// ---- sampling points --------------------------------------------------------------------------

__device__ inline float load_as(ElementCode type, const void* from, std::uint64_t index) {
  switch (type) {
    case ElementCode::f32:
      return load(static_cast<const float*>(from) + index);
    case ElementCode::f16:
      return load(static_cast<const Half*>(from) + index);
    case ElementCode::bf16:
      return load(static_cast<const Bfloat16*>(from) + index);
  }
  return 0;
}

__device__ inline void store_as(ElementCode type, void* to, std::uint64_t index, float value) {
  switch (type) {
    case ElementCode::f32:
      static_cast<float*>(to)[index] = value;
      break;
    case ElementCode::f16:
      static_cast<Half*>(to)[index] = from_float<Half>(value);
      break;
    case ElementCode::bf16:
      static_cast<Bfloat16*>(to)[index] = from_float<Bfloat16>(value);
      break;
  }
}

struct Level {
  int height;
  int width;
  int first_cell;
};

__device__ inline Level level_of(const MsDeformAttn& call, std::uint32_t level) {
  return {static_cast<int>(__ldg(call.spatial_shapes + 2 * level)),
          static_cast<int>(__ldg(call.spatial_shapes + 2 * level + 1)),
          static_cast<int>(__ldg(call.level_start_index + level))};
}

// Where a sampling point lies between the centres of four cells: (row, column), the one to its
// right, and the two below.
struct Point {
  int row;
  int column;
  float ly;  // from 0 to 1: how far it is towards the cells below and to the right
  float lx;
  // Bit i: cell i exists, in the order above. None if the point does not count.
  std::uint32_t inside;
};

__device__ inline Point point_of(const MsDeformAttn& call,
                                 const Level& level,
                                 std::uint64_t sample) {
  const float height = __int2float_rn(level.height);
  const float width = __int2float_rn(level.width);
  const float location_x = load_as(call.locations_type, call.locations, 2 * sample);
  const float location_y = load_as(call.locations_type, call.locations, 2 * sample + 1);
  const float y = __fmaf_rn(location_y, height, -0.5F);
  const float x = __fmaf_rn(location_x, width, -0.5F);
  if (!(y > -1 && x > -1 && y < height && x < width))  // NaN is nowhere
    return {};
  const int row = __float2int_rd(y);
  const int column = __float2int_rd(x);
  const std::uint32_t upper = row >= 0 ? 3 : 0;
  const std::uint32_t lower = row + 1 < level.height ? 12 : 0;
  const std::uint32_t left = column >= 0 ? 5 : 0;
  const std::uint32_t right = column + 1 < level.width ? 10 : 0;
  return {row, column, __fsub_rn(y, floorf(y)), __fsub_rn(x, floorf(x)),
          (upper | lower) & (left | right)};
}

struct TapWeights {
  float of[4];
};

__device__ inline TapWeights tap_weights(float ly, float lx) {
  const float hy = __fsub_rn(1, ly);
  const float hx = __fsub_rn(1, lx);
  return {__fmul_rn(hy, hx), __fmul_rn(hy, lx), __fmul_rn(ly, hx), __fmul_rn(ly, lx)};
}

// The bin of a point among those of its image, head and level, and the first bin of a level among
// those of its image and head: (height + 1) * (width + 1) places are at most 2 * (cells + 1).
__device__ inline std::uint32_t bin_in_level(const Level& level, int row, int column) {
  return static_cast<std::uint32_t>(row + 1) * static_cast<std::uint32_t>(level.width + 1) +
         static_cast<std::uint32_t>(column + 1);
}

__device__ inline std::uint64_t first_bin(const MsDeformAttn& call,
                                          std::uint64_t batch_head,
                                          std::uint32_t level,
                                          const Level& place) {
  const std::uint64_t bins_per_head = 2 * (call.cells.value + call.levels);
  return batch_head * bins_per_head + 2 * (static_cast<std::uint64_t>(place.first_cell) + level);
}

// ---- channels ---------------------------------------------------------------------------------

// As many channels as 16 bytes hold.
template <typename Element>
constexpr int lane_channels = 16 / static_cast<int>(sizeof(Element));

template <typename Element>
struct Channels {
  float at[lane_channels<Element>];
};

// Whether a lane's channels are one load or one each.
enum class ChannelAccess : std::uint8_t { by_vector, by_channel };

// Which channels of a head are a lane's: the same ones however they lie, so that sums over channels
// have one order.
struct LaneChannels {
  std::uint32_t first = 0;
  std::uint32_t end = 0;  // channels of the head
  ChannelAccess access = ChannelAccess::by_channel;

  __device__ std::uint32_t channel(int i) const { return first + static_cast<std::uint32_t>(i); }
  __device__ bool has(int i) const { return channel(i) < end; }
};

template <typename Element>
__device__ LaneChannels channels_of_lane(const MsDeformAttn& call,
                                         std::uint32_t chunk,
                                         ChannelAccess access) {
  constexpr std::uint32_t size = lane_channels<Element>;
  const std::uint32_t lane = threadIdx.x & (call.lanes - 1);
  return {.first = (chunk * call.lanes + lane) * size, .end = call.channels, .access = access};
}

// Whether 16 bytes of channels can be read and written at once.
template <typename Element>
__device__ bool is_vector_place(const Element* pointer, const DeformStrides& strides) {
  constexpr std::int64_t size = lane_channels<Element>;
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0 && strides.channel == 1 &&
         strides.cell % size == 0 && strides.head % size == 0 && strides.batch % size == 0;
}

template <typename Element>
__device__ ChannelAccess access_of(const MsDeformAttn& call,
                                   const Element* strided,
                                   const DeformStrides& strides,
                                   const Element* dense) {
  const bool is_vector = call.channels % lane_channels<Element> == 0 &&
                         is_vector_place(strided, strides) &&
                         reinterpret_cast<std::uintptr_t>(dense) % 16 == 0;
  return is_vector ? ChannelAccess::by_vector : ChannelAccess::by_channel;
}

__device__ inline Channels<float> load_vector(const float* from) {
  const float4 four = __ldg(reinterpret_cast<const float4*>(from));
  return {four.x, four.y, four.z, four.w};
}

template <typename Element>
__device__ Channels<Element> load_vector(const Element* from) {
  const uint4 eight = __ldg(reinterpret_cast<const uint4*>(from));
  const auto element = [](std::uint32_t bits) {
    return to_float(Element{static_cast<std::uint16_t>(bits)});
  };
  return {element(eight.x), element(eight.x >> 16), element(eight.y), element(eight.y >> 16),
          element(eight.z), element(eight.z >> 16), element(eight.w), element(eight.w >> 16)};
}

__device__ inline void store_vector(float* to, const Channels<float>& channels) {
  *reinterpret_cast<float4*>(to) = {channels.at[0], channels.at[1], channels.at[2], channels.at[3]};
}

template <typename Element>
__device__ void store_vector(Element* to, const Channels<Element>& channels) {
  const auto pair = [&channels](int i) {
    return std::uint32_t{from_float<Element>(channels.at[i]).bits} |
           std::uint32_t{from_float<Element>(channels.at[i + 1]).bits} << 16;
  };
  *reinterpret_cast<uint4*>(to) = {pair(0), pair(2), pair(4), pair(6)};
}

// A lane's channels of a head, which lie `stride` elements apart. Those that it lacks read as zero.
template <typename Element>
__device__ Channels<Element> load_channels(const Element* head,
                                           std::int32_t stride,
                                           const LaneChannels& lane) {
  Channels<Element> out{};
  if (lane.access == ChannelAccess::by_vector) {
    if (lane.first < lane.end)
      out = load_vector(head + lane.first);
    return out;
  }
#pragma unroll
  for (int i = 0; i < lane_channels<Element>; ++i)
    if (lane.has(i))
      out.at[i] = load(head + std::int64_t{lane.channel(i)} * stride);
  return out;
}

template <typename Element>
__device__ void store_channels(Element* head,
                               std::int32_t stride,
                               const LaneChannels& lane,
                               const Channels<Element>& channels) {
  if (lane.access == ChannelAccess::by_vector) {
    if (lane.first < lane.end)
      store_vector(head + lane.first, channels);
    return;
  }
#pragma unroll
  for (int i = 0; i < lane_channels<Element>; ++i)
    if (lane.has(i))
      head[std::int64_t{lane.channel(i)} * stride] = from_float<Element>(channels.at[i]);
}

// ---- who works on what ------------------------------------------------------------------------

// The groups of `lanes` threads of the grid, each with an item of its own at a time. A warp stays
// together: it goes on as long as one of its groups has an item.
struct Groups {
  std::uint64_t item = 0;
  std::uint64_t stride = 0;
  std::uint32_t in_warp = 0;  // which group of its warp

  __device__ bool warp_has_item(std::uint64_t items) const { return item - in_warp < items; }
};

__device__ inline Groups groups_of_grid(std::uint32_t lanes) {
  const std::uint32_t per_block = blockDim.x / lanes;
  return {.item = std::uint64_t{blockIdx.x} * per_block + threadIdx.x / lanes,
          .stride = std::uint64_t{gridDim.x} * per_block,
          .in_warp = threadIdx.x % 32 / lanes};
}

// A (batch, query, head), as they follow one another.
struct DeformRow {
  std::uint64_t batch;
  std::uint64_t query;
  std::uint64_t head;
};

__device__ inline DeformRow row_of(const MsDeformAttn& call, std::uint64_t row) {
  const std::uint64_t batch_query = quotient(row, call.heads);
  const std::uint64_t batch = quotient(batch_query, call.queries);
  return {batch, batch_query - batch * call.queries.value, row - batch_query * call.heads.value};
}

__device__ inline std::int64_t head_offset(const DeformStrides& strides,
                                           std::uint64_t batch,
                                           std::uint64_t head) {
  return static_cast<std::int64_t>(batch) * strides.batch +
         static_cast<std::int64_t>(head) * strides.head;
}

}  // namespace lyk::cuda
