// As launch.hpp, for ms_deform_attn. Launches, all on one stream, with the value's element type at
// the end of a name:
//   forward                  lyk_ms_deform_attn_forward_f32: rows_of_lanes
//   backward, atomic         f32: grad_value set to zero, lyk_ms_deform_attn_backward_atomic_f32:
//                            rows_of_lanes, without chunks. f16, bf16: the same into a dense fp32
//                            buffer of the workspace, then lyk_ms_deform_attn_cast_f16
//   backward, deterministic  counts and bounds of the workspace set to zero, then
//                            lyk_ms_deform_attn_backward_count_f32: rows_of_lanes, without chunks;
//                            ..._scan: segments_grid; ..._list: samples_grid;
//                            ..._gather_f32: cells_of_lanes
// Where a tensor is empty there is nothing to launch, and what would have been written is zero.
// Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/cuda/launch.hpp"

namespace lyk::cuda {

struct DeformSizes {
  std::uint64_t batch = 0;
  std::uint64_t cells = 0;  // of all levels
  std::uint64_t heads = 0;
  std::uint64_t channels = 0;  // of one head
  std::uint64_t queries = 0;
  std::uint64_t levels = 0;
  std::uint64_t points = 0;  // per level

  constexpr std::uint64_t rows() const { return batch * queries * heads; }
  constexpr std::uint64_t samples() const { return rows() * levels * points; }
  constexpr std::uint64_t elements() const { return batch * cells * heads * channels; }
};

// Cells, bins and points of one image and head are counted in 32 bits, and so are the channels of
// one cell, which are its stride where value is dense; nothing else is. Other strides of cells and
// channels must fit 32 bits as well.
constexpr bool are_deform_sizes_in_reach(const DeformSizes& sizes) {
  constexpr std::uint64_t cells_max = std::uint64_t{1} << 30;
  constexpr std::uint64_t count_max = 0x7FFF'FFFF;
  return sizes.cells + sizes.levels <= cells_max && sizes.heads <= count_max &&
         sizes.channels <= count_max && sizes.heads * sizes.channels <= count_max &&
         sizes.levels <= count_max && sizes.points <= count_max &&
         sizes.levels * sizes.points <= count_max && sizes.queries <= count_max &&
         sizes.queries * sizes.points <= count_max;
}

constexpr DeformStrides dense_strides(const DeformSizes& sizes) {
  return {.batch = static_cast<std::int64_t>(sizes.cells * sizes.heads * sizes.channels),
          .head = static_cast<std::int64_t>(sizes.channels),
          .cell = static_cast<std::int32_t>(sizes.heads * sizes.channels),
          .channel = 1};
}

// What follows from the sizes and the type of value, which decides how many channels a lane takes.
// Of any type, the lanes take 128 channels at most at once: sums over channels begin alike then.
constexpr void set_sizes(MsDeformAttn& call, const DeformSizes& sizes, ElementCode value_type) {
  const std::uint64_t lane_channels = value_type == ElementCode::f32 ? 4 : 8;
  const std::uint64_t lanes = std::min<std::uint64_t>(
      std::bit_ceil(quotient_up(sizes.channels, lane_channels)), 128 / lane_channels);
  call.heads = divisor_of(sizes.heads);
  call.queries = divisor_of(sizes.queries);
  call.cells = divisor_of(sizes.cells);
  call.chunks = divisor_of(quotient_up(sizes.channels, lanes * lane_channels));
  call.samples_per_row = divisor_of(sizes.levels * sizes.points);
  call.batch = sizes.batch;
  call.channels = static_cast<std::uint32_t>(sizes.channels);
  call.levels = static_cast<std::uint32_t>(sizes.levels);
  call.points = static_cast<std::uint32_t>(sizes.points);
  call.lanes = static_cast<std::uint32_t>(lanes);
}

// ---- workspaces -------------------------------------------------------------------------------

// Of the deterministic backward: 16 * B * H * (S + L) bytes of bins and 4 * B * H * L * Q * P of
// entries, each rounded up to 256. For an encoder (H 8, L 3, P 4, Q = S) with 32 channels that is
// half of what the gradient of value takes, for its decoder with 300 queries a seventh.
struct DeformWorkspace {
  std::uint64_t bounds = 0;  // offsets in bytes; counts begin at 0
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t zeroed_bytes = 0;  // from the beginning
};

constexpr std::uint64_t rounded_up(std::uint64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

constexpr DeformWorkspace deform_workspace(const DeformSizes& sizes) {
  const std::uint64_t bins = sizes.batch * sizes.heads * 2 * (sizes.cells + sizes.levels);
  const std::uint64_t array = rounded_up(bins * sizeof(std::uint32_t));
  return {.bounds = array,
          .entries = 2 * array,
          .bytes = 2 * array + rounded_up(sizes.samples() * sizeof(std::uint32_t)),
          .zeroed_bytes = 2 * array};
}

// Of the atomic backward: nothing for f32.
constexpr std::uint64_t deform_sums_bytes(const DeformSizes& sizes, ElementCode value_type) {
  return value_type == ElementCode::f32 ? 0 : rounded_up(sizes.elements() * sizeof(float));
}

// ---- grids ------------------------------------------------------------------------------------

// `items` groups of `lanes` threads.
constexpr Grid lanes_grid(std::uint64_t items, std::uint32_t lanes, std::uint32_t resident_blocks) {
  constexpr std::uint64_t threads = 256;
  return {.x = blocks_for(quotient_up(items, threads / lanes), resident_blocks),
          .threads = threads};
}

constexpr Grid rows_of_lanes(const MsDeformAttn& call,
                             std::uint64_t chunks,
                             std::uint32_t resident_blocks) {
  const std::uint64_t rows = call.batch * call.queries.value * call.heads.value;
  return lanes_grid(rows * chunks, call.lanes, resident_blocks);
}

constexpr Grid cells_of_lanes(const MsDeformAttn& call, std::uint32_t resident_blocks) {
  const std::uint64_t cells = call.batch * call.cells.value * call.heads.value;
  return lanes_grid(cells * call.chunks.value, call.lanes, resident_blocks);
}

constexpr Grid samples_grid(const DeformSizes& sizes, std::uint32_t resident_blocks) {
  return {.x = blocks_for(quotient_up(sizes.samples(), 256), resident_blocks)};
}

constexpr Grid segments_grid(const DeformSizes& sizes, std::uint32_t resident_blocks) {
  return {.x = blocks_for(sizes.batch * sizes.heads * sizes.levels, resident_blocks)};
}

constexpr Grid cast_grid(const DeformSizes& sizes, std::uint32_t resident_blocks) {
  return {.x = blocks_for(quotient_up(sizes.elements(), 256), resident_blocks)};
}

}  // namespace lyk::cuda
