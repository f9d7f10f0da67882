// How a call of ms_deform_attn is cut into tasks, and what its kernels know about a level.
//
// Thread rule: values and pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/slots/ms_deform_attn.hpp"

namespace lyk::cpu {

// Some queries of one head of one image.
struct DeformRows {
  std::size_t batch = 0;
  std::size_t head = 0;
  std::size_t first_query = 0;
  std::size_t queries = 0;
};

// What comes after `rows` of a task, as many or fewer.
inline DeformRows next_rows(const DeformRows& rows, const DeformRows& task) {
  DeformRows next = rows;
  next.first_query += rows.queries;
  next.queries = std::min(rows.queries, task.first_query + task.queries - next.first_query);
  return next;
}

struct DeformLevel {
  std::size_t number = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t first_cell = 0;

  std::int64_t cells() const { return height * width; }
};

// Levels are gone through one after the other, since each begins where those before it end.
// REQUIRES: there is one.
inline DeformLevel first_level(const slots::MsDeformAttn<float>& call) {
  return {.height = call.spatial_shapes[0], .width = call.spatial_shapes[1]};
}

// REQUIRES: `level` is not the last.
inline DeformLevel next_level(const slots::MsDeformAttn<float>& call, const DeformLevel& level) {
  const std::size_t number = level.number + 1;
  return {.number = number,
          .height = call.spatial_shapes[2 * number],
          .width = call.spatial_shapes[2 * number + 1],
          .first_cell = level.first_cell + level.cells()};
}

// Where the cells of one head are, or of one level of it.
struct HeadValue {
  const float* data = nullptr;  // channel 0 of cell 0 of all levels
  std::ptrdiff_t cell_stride = 0;
  std::ptrdiff_t channel_stride = 0;
};

inline HeadValue head_of(const slots::MsDeformAttn<float>& call, const DeformRows& rows) {
  const slots::ValueStrides& strides = call.value_strides;
  return {.data = call.value + static_cast<std::ptrdiff_t>(rows.batch) * strides.batch +
                  static_cast<std::ptrdiff_t>(rows.head) * strides.head,
          .cell_stride = strides.cell,
          .channel_stride = strides.channel};
}

// A task of forward.
struct ForwardTask {
  const slots::MsDeformAttn<float>& call;
  HeadValue head;
  DeformRows rows;
  float* output = nullptr;  // of the call
};

// A task of backward: one level of one head of one image, and all queries.
struct BackwardTask {
  const slots::MsDeformAttn<float>& call;
  const float* grad_output = nullptr;
  const slots::MsDeformAttnGradients<float>& gradients;
  std::size_t batch = 0;
  std::size_t head = 0;
  DeformLevel level;
  HeadValue value;  // from the level's first cell on
};

// The number of a query in locations, weights and output: that of its (batch, query, head).
inline std::size_t row_of(const slots::MsDeformAttnSizes& sizes,
                          const DeformRows& rows,
                          std::size_t query) {
  return (rows.batch * sizes.queries + query) * sizes.heads + rows.head;
}

// Cells are found as 32-bit integers. More would be two gigabytes of one channel of one head.
inline constexpr std::size_t cells_max = (std::size_t{1} << 31) - 1;

inline bool is_consistent(const slots::MsDeformAttn<float>& call) {
  const slots::MsDeformAttnSizes& sizes = call.sizes;
  if (call.spatial_shapes.size() != 2 * sizes.levels ||
      call.locations.size() != 2 * sizes.samples() || call.weights.size() != sizes.samples() ||
      sizes.cells > cells_max)
    return false;
  std::int64_t cells = 0;
  for (std::size_t l = 0; l < sizes.levels; ++l) {
    const std::int64_t height = call.spatial_shapes[2 * l];
    const std::int64_t width = call.spatial_shapes[2 * l + 1];
    // Without cells a side may be anything, and is not looked at.
    if (height < 0 || width < 0 ||
        (width > 0 && height > static_cast<std::int64_t>(cells_max) / width))
      return false;
    cells += height * width;
  }
  return cells == static_cast<std::int64_t>(sizes.cells);
}

inline std::size_t output_elements(const slots::MsDeformAttnSizes& sizes) {
  return sizes.batch * sizes.queries * sizes.heads * sizes.channels;
}

}  // namespace lyk::cpu
