// Cells of one head side by side, apart from those of the other heads.
//
// In a value as models have it, the cells of a head are a kilobyte apart. Caches place lines by
// their address, so that such cells share an eighth or less of a cache's places and push each other
// out. Where cells are looked up more than a few times each, a dense copy is worth its making.
//
// Thread rule: pure functions, but for what they write to.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/deform_task.hpp"

namespace lyk::cpu {

// From this many look-ups per cell on.
inline constexpr std::size_t lookups_of_dense_min = 4;
inline constexpr std::size_t lookups_per_sample = 4;

inline bool is_worth_a_copy(std::size_t samples, std::size_t cells) {
  return samples * lookups_per_sample >= cells * lookups_of_dense_min;
}

struct CellRange {
  std::ptrdiff_t first = 0;
  std::ptrdiff_t count = 0;
  std::ptrdiff_t channels = 0;
};

// Calls `visit(cell, channel)` for all of a range. Where channels are apart, neighbours are cells:
// some of them at a time, so that on either side few lines are in use.
template <typename Visit>
void for_each_value(const CellRange& range, const Visit& visit) {
  constexpr std::ptrdiff_t cells_at_a_time = 16;
  for (std::ptrdiff_t begin = 0; begin < range.count; begin += cells_at_a_time) {
    const std::ptrdiff_t end = std::min(begin + cells_at_a_time, range.count);
    for (std::ptrdiff_t channel = 0; channel < range.channels; ++channel)
      for (std::ptrdiff_t cell = begin; cell < end; ++cell)
        visit(cell, channel);
  }
}

// Copies the range to `to`, which becomes (cells, channels).
inline void copy_cells(const HeadValue& head, const CellRange& range, float* to) {
  const float* from = head.data + range.first * head.cell_stride;
  if (head.channel_stride == 1) {
    for (std::ptrdiff_t cell = 0; cell < range.count; ++cell)
      std::copy_n(from + cell * head.cell_stride, range.channels, to + cell * range.channels);
    return;
  }
  for_each_value(range, [&](std::ptrdiff_t cell, std::ptrdiff_t channel) {
    to[cell * range.channels + channel] =
        from[cell * head.cell_stride + channel * head.channel_stride];
  });
}

}  // namespace lyk::cpu
