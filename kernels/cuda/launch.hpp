// Which grid and which block a kernel wants, and the parts of its arguments that follow from sizes.
// For whoever launches the kernels; arguments.hpp says with which other grids they are right.
// Thread rule: pure functions.
//
// Grids come from how many blocks the device holds at once (`resident_blocks`: multiprocessors
// times the driver's occupancy of the kernel for that block), so that a large tensor keeps every
// multiprocessor busy to the end and a small one starts no idle blocks.
//
// Launches per slot, all on one stream; TYPE stands for f32, f16 or bf16:
//   fake_quant_int8_affine       lyk_fake_quant_int8_affine_{forward,backward}_TYPE: run_grid
//   fake_quant_int8_per_channel  ChannelScales::given: lyk_fake_quant_int8_per_channel_forward_TYPE
//                                or ..._backward_TYPE: run_grid;
//                                of_rows: ..._{forward,backward}_rows_f32: rows_grid;
//                                scattered: `amax`, one word per channel, set to zero,
//                                ..._amax_f32: channels_grid, then as with a given scale
//   fake_quant_fp8               lyk_fake_quant_fp8_forward_f32: run_grid; backward is a copy
//   fake_quant_int_grouped       lyk_fake_quant_int_grouped_forward_f32: quads_grid, where
//                                is_group_of_quads; else ..._forward_any_f32: groups_grid;
//                                backward is a copy
//   fake_quant_nvfp4_weight      lyk_fake_quant_nvfp4_{forward,backward}_f32: quads_grid
//   fake_quant_nvfp4_dynamic     a word set to zero, lyk_fake_quant_nvfp4_dynamic_amax_f32 of one
//                                channel: run_grid, then as nvfp4_weight with that word
//   fake_quant_mxfp4_*           lyk_fake_quant_mxfp4_{forward,backward}_f32: quads_grid
//   unpack_*                     lyk_unpack_{int_grouped,nvfp4}_forward_f32: quads_grid
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/cuda/arguments.hpp"

namespace lyk::cuda {

struct Grid {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t threads = 256;  // of a block
};

constexpr std::uint64_t quotient_up(std::uint64_t dividend, std::uint64_t divisor) {
  return dividend / divisor + (dividend % divisor == 0 ? 0 : 1);
}

// More blocks than the device holds even out what a fixed share would leave uneven; beyond some
// rounds, beginning a block costs more than that gains.
constexpr std::uint32_t blocks_for(std::uint64_t work_blocks, std::uint32_t resident_blocks) {
  constexpr std::uint64_t rounds = 8;
  constexpr std::uint64_t grid_max = 0x7FFF'FFFF;
  const std::uint64_t most = std::clamp<std::uint64_t>(resident_blocks * rounds, 1, grid_max);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(work_blocks, 1, most));
}

// ---- sizes ------------------------------------------------------------------------------------

// Rows that are whole groups lie one after another, and are taken for one row: then no thread has
// to find out which row it is in.
constexpr GroupedRows grouped_rows(std::uint64_t rows,
                                   std::uint64_t columns,
                                   std::uint64_t group_size) {
  const bool is_dense = columns % group_size == 0;
  const std::uint64_t length = is_dense ? rows * columns : columns;
  return {.rows = is_dense ? std::uint64_t{1} : rows,
          .columns = length,
          .quads_per_row = divisor_of(quotient_up(length, group_size) * group_size / quad_size)};
}

// The same for int_grouped, whose scales must lie alike: those of a row after those of the row
// before it.
constexpr void set_shape(IntGrouped& call, std::uint64_t rows, std::uint64_t columns) {
  const auto groups = static_cast<std::int64_t>(quotient_up(columns, call.group_size));
  call.shape = grouped_rows(rows, columns, call.group_size);
  const bool scales_alike =
      call.scale == nullptr || call.scale_row_stride == groups * call.scale_group_stride;
  if (!scales_alike && call.shape.rows == 1)
    call.shape = {
        .rows = rows, .columns = columns, .quads_per_row = divisor_of(columns / quad_size)};
}

// Whether a part of a warp holds the group, a quad to a lane.
constexpr bool is_group_of_quads(std::uint32_t group_size) {
  return group_size >= quad_size && group_size <= 32 * quad_size && std::has_single_bit(group_size);
}

// Where fake_quant_int8_per_channel has its scales from.
enum class ChannelScales : std::uint8_t {
  given,
  of_rows,    // channels in one piece each, of which a block finds the scale by itself
  scattered,  // all others, whose greatest magnitudes are found before
};

// `outer` times the weight begins again with its first channel.
constexpr ChannelScales channel_scales(const float* scale, std::uint64_t outer) {
  if (scale != nullptr)
    return ChannelScales::given;
  return outer == 1 ? ChannelScales::of_rows : ChannelScales::scattered;
}

// ---- grids ------------------------------------------------------------------------------------

// Elements one after another, whatever their scale.
constexpr Grid run_grid(std::uint64_t elements, std::uint32_t resident_blocks) {
  constexpr std::uint64_t elements_per_block = 2048;  // two quads to a thread
  return {.x = blocks_for(quotient_up(elements, elements_per_block), resident_blocks)};
}

constexpr Grid quads_grid(std::uint64_t quads, std::uint32_t resident_blocks) {
  constexpr std::uint64_t quads_per_block = 512;  // two to a thread
  return {.x = blocks_for(quotient_up(quads, quads_per_block), resident_blocks)};
}

// A warp to a group.
constexpr Grid groups_grid(std::uint64_t groups, std::uint32_t resident_blocks) {
  constexpr std::uint64_t groups_per_block = 256 / 32;
  return {.x = blocks_for(quotient_up(groups, groups_per_block), resident_blocks)};
}

// A block to a row, two quads to a thread as long as a block can be that large.
constexpr std::uint32_t row_threads(std::uint64_t row_elements) {
  constexpr std::uint64_t elements_per_warp = 256;
  return static_cast<std::uint32_t>(
      32 * std::clamp<std::uint64_t>(quotient_up(row_elements, elements_per_warp), 1, 32));
}

// `resident_blocks` of row_threads(row_elements).
constexpr Grid rows_grid(std::uint64_t rows,
                         std::uint64_t row_elements,
                         std::uint32_t resident_blocks) {
  return {.x = blocks_for(rows, resident_blocks), .threads = row_threads(row_elements)};
}

// A thread to a place of a channel; what the columns leave free of the device is shared out among
// the rows.
constexpr Grid channels_grid(std::uint64_t outer,
                             std::uint64_t columns,
                             std::uint32_t resident_blocks) {
  const std::uint32_t x = blocks_for(quotient_up(columns, 256), resident_blocks);
  constexpr std::uint64_t grid_y_max = 65535;
  const std::uint64_t free = std::max<std::uint64_t>(resident_blocks / x, 1);
  return {.x = x,
          .y = static_cast<std::uint32_t>(
              std::clamp<std::uint64_t>(outer, 1, std::min(free, grid_y_max)))};
}

}  // namespace lyk::cuda
