// Elementwise work on a tensor with one scale per channel, in any order of its axes.
//
// The tensor is cut into stretches that vectors can walk over. Long channels are stretches with one
// scale. Where channels change every few elements, as in channels_last, each element of a stretch
// has its scale from a table, which is the scales written out for some rows.
//
// Thread rule: as Workers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/cpu/tasks.hpp"
#include "kernels/slots/quantization.hpp"

namespace lyk::cpu {

// Shorter runs of one channel are not worth a loop of their own.
inline constexpr std::size_t long_run_min = 64;

struct Stretch {
  std::size_t begin = 0;
  std::size_t count = 0;
  std::span<const float> scales;  // one for all elements, or one for each
};

inline bool has_long_runs(const slots::ChannelAxis& axis) {
  return axis.channels == 1 || axis.inner >= long_run_min;
}

// A row of a tensor with short runs is one element of the outer axis. Several rows make a period,
// so that the vectors of short rows are full.
struct Periods {
  std::size_t columns = 0;
  std::size_t rows = 0;

  std::size_t elements() const { return columns * rows; }
};

inline Periods periods_of(const slots::ChannelAxis& axis) {
  constexpr std::size_t elements_min = 1024;
  const std::size_t columns = axis.channels * axis.inner;
  return {.columns = columns,
          .rows = std::min(axis.outer, slots::groups_in(elements_min, columns))};
}

inline std::vector<float> write_out(std::span<const float> scales,
                                    std::size_t inner,
                                    const Periods& periods) {
  std::vector<float> table;
  table.reserve(periods.elements());
  for (std::size_t row = 0; row < periods.rows; ++row)
    for (const float scale : scales)
      table.insert(table.end(), inner, scale);
  return table;
}

// Calls `visit(stretch)` on the workers until the tensor is covered. REQUIRES: one scale per
// channel, and elements.
template <typename Visit>
void for_each_stretch(const slots::ChannelAxis& axis,
                      std::span<const float> scales,
                      Workers& workers,
                      const Visit& visit) {
  if (has_long_runs(axis)) {
    const std::size_t pieces = slots::groups_in(axis.inner, task_elements);
    const Units units{.count = axis.outer * axis.channels * pieces,
                      .elements = std::min(axis.inner, task_elements)};
    for_each_range(units, workers, [&](std::size_t first, std::size_t last) {
      for (std::size_t unit = first; unit < last; ++unit) {
        const std::size_t run = unit / pieces;
        const std::size_t offset = unit % pieces * task_elements;
        visit(Stretch{.begin = run * axis.inner + offset,
                      .count = std::min(task_elements, axis.inner - offset),
                      .scales = scales.subspan(run % axis.channels, 1)});
      }
    });
    return;
  }
  const Periods periods = periods_of(axis);
  std::vector<float> written_out;
  if (periods.elements() != scales.size())
    written_out = write_out(scales, axis.inner, periods);
  const std::span<const float> table = written_out.empty() ? scales : written_out;
  const Units units{.count = slots::groups_in(axis.elements(), table.size()),
                    .elements = table.size()};
  for_each_range(units, workers, [&](std::size_t first, std::size_t last) {
    for (std::size_t unit = first; unit < last; ++unit) {
      const std::size_t begin = unit * table.size();
      const std::size_t count = std::min(table.size(), axis.elements() - begin);
      visit(Stretch{.begin = begin, .count = count, .scales = table.first(count)});
    }
  });
}

}  // namespace lyk::cpu
