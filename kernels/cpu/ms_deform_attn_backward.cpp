// ms_deform_attn, backward. Lanes are channels, as in forward.
//
// A task is one level of one head of one image, and all queries: its cells belong to nobody else,
// so their gradients are added up without atomics and in the order of the queries, which is the
// oracle's. They are added up apart, where they lie side by side (dense_cells.hpp), and written to
// their place once. What else is needed of a sample are the products of grad_output with its four
// cells, summed over the channels: the gradients of its weight and location follow from those four
// sums.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/cpu/deform_task.hpp"
#include "kernels/cpu/dense_cells.hpp"
#include "kernels/cpu/ms_deform_attn.hpp"
#include "kernels/cpu/standard_arithmetic.hpp"
#include "kernels/cpu/tasks.hpp"
#include "proto/check.hpp"

// clang-format off: Highway's headers come in this order
#include "kernels/cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/ms_deform_attn_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/taps-inl.hpp"
// clang-format on

HWY_BEFORE_NAMESPACE();

namespace lyk::cpu::HWY_NAMESPACE {

// ---- sums over lanes

#if HWY_TARGET != HWY_SCALAR
template <class D>
HWY_INLINE auto sum_of_blocks(D /*d*/, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D{}) * sizeof(hn::TFromD<D>) > 16) {
    const hn::Half<D> dh;
    return sum_of_blocks(dh, hn::Add(hn::LowerHalf(dh, v), hn::UpperHalf(dh, v)));
  } else {
    return v;
  }
}
#endif

// sums[i] += the lanes of the vector i.
template <class D, class Real = hn::TFromD<D>>
HWY_INLINE void add_sums(D d, const hn::Vec<D> (&vectors)[4], Real* sums) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D{}) * sizeof(Real) >= 16) {
    // All four at once: each step halves the lanes of two vectors and packs them into one.
    const auto packed = [d](hn::Vec<D> even, hn::Vec<D> odd) HWY_ATTR {
      return hn::Add(hn::InterleaveLower(d, even, odd), hn::InterleaveUpper(d, even, odd));
    };
    const auto first = packed(vectors[0], vectors[1]);
    const auto second = packed(vectors[2], vectors[3]);
    const hn::CappedTag<Real, 16 / sizeof(Real)> block;
    if constexpr (sizeof(Real) == sizeof(float)) {
      const hn::RepartitionToWide<D> pairs;
      const auto a = hn::BitCast(pairs, first);
      const auto b = hn::BitCast(pairs, second);
      const auto quads = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, a, b)),
                                 hn::BitCast(d, hn::InterleaveUpper(pairs, a, b)));
      hn::StoreU(hn::Add(hn::LoadU(block, sums), sum_of_blocks(d, quads)), block, sums);
    } else {
      hn::StoreU(hn::Add(hn::LoadU(block, sums), sum_of_blocks(d, first)), block, sums);
      hn::StoreU(hn::Add(hn::LoadU(block, sums + 2), sum_of_blocks(d, second)), block, sums + 2);
    }
    return;
  }
#endif
  for (std::size_t i = 0; i < 4; ++i)
    sums[i] += hn::GetLane(hn::SumOfLanes(d, vectors[i]));
}

// ---- a sample

template <class Real>
struct Sample {
  const float* grad_output = nullptr;  // channel 0 of all of these
  const float* cells[4] = {};          // null outside of the level
  Real* gradients[4] = {};
  Real tap_weights[4] = {};
  Real attention = 0;
  bool is_inside = false;  // all four
};

// Which of a sample's cells are inside of the level.
enum class Inside : std::uint8_t { all, some };

// The channels from `channel` on, as far as there are whole vectors; returns where they end.
template <class D, Inside inside>
HWY_INLINE std::size_t run_channels(const Sample<hn::TFromD<D>>& sample,
                                    const BackwardTask& task,
                                    std::size_t channel,
                                    hn::TFromD<D>* sums) {
  const D d;
  constexpr std::size_t width = hn::MaxLanes(D{});
  const std::ptrdiff_t stride = width > 1 ? 1 : task.value.channel_stride;
  const auto attention = hn::Set(d, sample.attention);
  hn::Vec<D> products[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  hn::Vec<D> weights[4];
  // Unrolled, or arrays of vectors would live in memory.
  HWY_UNROLL(4)
  for (std::size_t tap = 0; tap < 4; ++tap)
    weights[tap] = hn::Set(d, sample.tap_weights[tap]);
  for (; channel + width <= task.call.sizes.channels; channel += width) {
    const auto grad_output = load_values(d, sample.grad_output + channel);
    const auto scaled = hn::Mul(grad_output, attention);
    HWY_UNROLL(4)
    for (std::size_t tap = 0; tap < 4; ++tap) {
      if (inside == Inside::some && sample.cells[tap] == nullptr)
        continue;
      const auto value =
          load_values(d, sample.cells[tap] + static_cast<std::ptrdiff_t>(channel) * stride);
      products[tap] = fused_multiply_add(grad_output, value, products[tap]);
      auto* gradient = sample.gradients[tap] + channel;
      hn::StoreU(hn::Add(hn::LoadU(d, gradient), hn::Mul(weights[tap], scaled)), d, gradient);
    }
  }
  add_sums(d, products, sums);
  return channel;
}

template <class D>
HWY_INLINE void run_from(const Sample<hn::TFromD<D>>& sample,
                         const BackwardTask& task,
                         std::size_t channel,
                         hn::TFromD<D>* sums) {
  channel = run_channels<D, Inside::some>(sample, task, channel, sums);
  if constexpr (hn::MaxLanes(D{}) > 1)
    if (channel < task.call.sizes.channels)
      run_from<hn::Half<D>>(sample, task, channel, sums);
}

// Whether the channels are vectors and nothing else, as those of most models are.
template <class Real>
HWY_INLINE bool has_whole_vectors(const BackwardTask& task) {
  constexpr std::size_t width = hn::MaxLanes(RealTag<Real>{});
  return width > 1 && task.value.channel_stride == 1 && task.call.sizes.channels % width == 0;
}

template <class Real>
HWY_INLINE void run_whole_vectors(const Sample<Real>& sample,
                                  const BackwardTask& task,
                                  Real* sums) {
  if (sample.is_inside)
    run_channels<RealTag<Real>, Inside::all>(sample, task, 0, sums);
  else
    run_channels<RealTag<Real>, Inside::some>(sample, task, 0, sums);
}

template <class Real>
HWY_INLINE void run_any_channels(const Sample<Real>& sample, const BackwardTask& task, Real* sums) {
  if constexpr (hn::MaxLanes(RealTag<Real>{}) > 1)
    if (task.value.channel_stride == 1)
      return run_from<RealTag<Real>>(sample, task, 0, sums);
  run_from<hn::CappedTag<Real, 1>>(sample, task, 0, sums);
}

// ---- a chunk

template <class Real>
struct BackwardWork {
  const BackwardTask& task;
  const DeformLevel& level;
  Real* gradient;  // of the level's cells, (cells, channels)
  const Chunk<Real>& chunk;
};

// The numbers of a sample.
struct SamplePlace {
  std::size_t in_chunk = 0;
  std::size_t index = 0;  // among all samples
  std::size_t row = 0;    // of its query
};

template <class Real>
HWY_INLINE Sample<Real> sample_at(const BackwardWork<Real>& work, const SamplePlace& place) {
  const BackwardTask& task = work.task;
  const std::size_t channels = task.call.sizes.channels;
  const Chunk<Real>& chunk = work.chunk;
  const Places in_value{chunk, place.in_chunk, task.value.cell_stride};
  const Places in_gradient{chunk, place.in_chunk, static_cast<std::ptrdiff_t>(channels)};
  const std::int32_t inside = chunk.inside[place.in_chunk];
  Sample<Real> sample{.grad_output = task.grad_output + place.row * channels,
                      .attention = static_cast<Real>(task.call.weights[place.index]),
                      .is_inside = inside == all_inside};
  HWY_UNROLL(4)
  for (std::size_t tap = 0; tap < 4; ++tap) {
    sample.tap_weights[tap] = chunk.weights[tap][place.in_chunk];
    const bool is_inside = inside == all_inside || (inside >> tap & 1) != 0;
    sample.cells[tap] = is_inside ? task.value.data + in_value.at[tap] : nullptr;
    sample.gradients[tap] = is_inside ? work.gradient + in_gradient.at[tap] : nullptr;
  }
  return sample;
}

// The gradients of a weight and a location from the four sums of products.
template <class Real>
HWY_INLINE void write_gradients(const BackwardWork<Real>& work,
                                const SamplePlace& place,
                                const Real* sums) {
  const std::size_t in_chunk = place.in_chunk;
  const std::size_t index = place.index;
  const slots::MsDeformAttnGradients<float>& gradients = work.task.gradients;
  const Chunk<Real>& chunk = work.chunk;
  const Real ly = chunk.below[in_chunk];
  const Real lx = chunk.right[in_chunk];
  const Real hy = 1 - ly;
  const Real hx = 1 - lx;
  const Real along_x = hy * (sums[1] - sums[0]) + ly * (sums[3] - sums[2]);
  const Real along_y = hx * (sums[2] - sums[0]) + lx * (sums[3] - sums[1]);
  const auto attention = static_cast<Real>(work.task.call.weights[index]);
  Real of_weight = 0;
  for (std::size_t tap = 0; tap < 4; ++tap)
    of_weight += chunk.weights[tap][in_chunk] * sums[tap];
  gradients.weights[index] = static_cast<float>(of_weight);
  gradients.locations[2 * index] =
      static_cast<float>(static_cast<Real>(work.level.width) * along_x * attention);
  gradients.locations[2 * index + 1] =
      static_cast<float>(static_cast<Real>(work.level.height) * along_y * attention);
}

template <class Real>
HWY_NOINLINE void run_any_sample_at(BackwardWork<Real> work, SamplePlace place) {
  HWY_ALIGN Real sums[4] = {};
  run_any_channels(sample_at(work, place), work.task, sums);
  write_gradients(work, place, sums);
}

template <class Real>
HWY_INLINE void run_sample_at(const BackwardWork<Real>& work, const SamplePlace& place) {
  if (work.chunk.inside[place.in_chunk] == 0) {
    work.task.gradients.weights[place.index] = 0;
    work.task.gradients.locations[2 * place.index] = 0;
    work.task.gradients.locations[2 * place.index + 1] = 0;
    return;
  }
  if (!has_whole_vectors<Real>(work.task))
    return run_any_sample_at(work, place);
  HWY_ALIGN Real sums[4] = {};
  run_whole_vectors(sample_at(work, place), work.task, sums);
  write_gradients(work, place, sums);
}

template <class Real>
HWY_INLINE void fetch_sample(const BackwardWork<Real>& work, std::size_t in_chunk) {
  const std::size_t channels = work.task.call.sizes.channels;
  const HeadValue& value = work.task.value;
  fetch_cells(value.data, Places{work.chunk, in_chunk, value.cell_stride}, channels);
  fetch_cells(work.gradient, Places{work.chunk, in_chunk, static_cast<std::ptrdiff_t>(channels)},
              channels);
}

inline constexpr std::size_t queries_ahead = 4;

HWY_INLINE void fetch_grad_output(const BackwardTask& task, std::size_t query) {
  const slots::MsDeformAttnSizes& sizes = task.call.sizes;
  if (query >= sizes.queries)
    return;
  const DeformRows rows{.batch = task.batch, .head = task.head};
  const float* from = task.grad_output + row_of(sizes, rows, query) * sizes.channels;
  for (std::size_t i = 0; i < std::min(sizes.channels, 4 * floats_per_line); i += floats_per_line)
    __builtin_prefetch(from + i);
}

// The samples of a chunk, of which every query has `samples`.
template <class Real>
HWY_INLINE void run_chunk(const BackwardWork<Real>& work, const DeformRows& rows, Samples samples) {
  const slots::MsDeformAttnSizes& sizes = work.task.call.sizes;
  const std::size_t found = rows.queries * samples.count;
  std::size_t in_chunk = 0;
  for (std::size_t query = rows.first_query; query < rows.first_query + rows.queries; ++query) {
    const std::size_t row = row_of(sizes, rows, query);
    const std::size_t first = row * sizes.levels * sizes.points + samples.first;
    fetch_grad_output(work.task, query + queries_ahead);
    for (std::size_t i = 0; i < samples.count; ++i, ++in_chunk) {
      if (in_chunk + samples_ahead < found)
        fetch_sample(work, in_chunk + samples_ahead);
      run_sample_at(work, {.in_chunk = in_chunk, .index = first + i, .row = row});
    }
  }
}

// ---- a task

template <class Real>
HWY_INLINE void run_task(const BackwardTask& task, Real* gradient) {
  const slots::MsDeformAttnSizes& sizes = task.call.sizes;
  const DeformLevel& level = task.level;
  const DeformRows all{.batch = task.batch, .head = task.head, .queries = sizes.queries};
  const std::size_t rows_max =
      std::clamp<std::size_t>(chunk_samples / sizes.points, 1, sizes.queries);
  Chunk<Real> chunk;
  const BackwardWork<Real> work{.task = task, .level = level, .gradient = gradient, .chunk = chunk};
  DeformRows rows = all;
  rows.queries = rows_max;
  for (; rows.queries > 0; rows = next_rows(rows, all)) {
    const DeformRows next = next_rows(rows, all);
    for (std::size_t point = 0; point < sizes.points; point += chunk_samples) {
      const Samples samples{.first = level.number * sizes.points + point,
                            .count = std::min(chunk_samples, sizes.points - point)};
      if (rows.first_query == 0 && point == 0)
        (void)set_levels(task.call, samples, rows.queries, level, level.first_cell, chunk);
      read_locations(task.call, rows, samples, chunk);
      find(chunk, rows.queries * samples.count);
      fetch_rows(task.call, next, samples);
      run_chunk(work, rows, samples);
    }
  }
}

void backward(const BackwardTask& task, float* gradient) {
  run_task(task, gradient);
}

void backward_in_double(const BackwardTask& task, double* gradient) {
  run_task(task, gradient);
}

}  // namespace lyk::cpu::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace lyk::cpu {
namespace {

constexpr auto float_variants = LYK_VARIANTS(backward);
constexpr auto double_variants = LYK_VARIANTS(backward_in_double);

// What the tasks of one thread work in, for the largest level.
template <typename Real>
struct Workspace {
  std::unique_ptr<Real[]> gradient;
  std::unique_ptr<float[]> value;  // for the largest level that is worth a copy
};

template <typename Real>
void write_cells(const Real* from, const BackwardTask& task, const CellRange& range) {
  const slots::MsDeformAttnGradients<float>& gradients = task.gradients;
  const slots::ValueStrides& strides = gradients.value_strides;
  float* to = gradients.value + static_cast<std::ptrdiff_t>(task.batch) * strides.batch +
              static_cast<std::ptrdiff_t>(task.head) * strides.head + range.first * strides.cell;
  if (strides.channel == 1) {
    for (std::ptrdiff_t cell = 0; cell < range.count; ++cell, from += range.channels)
      if constexpr (std::is_same_v<Real, float>)
        std::copy_n(from, range.channels, to + cell * strides.cell);
      else
        std::transform(from, from + range.channels, to + cell * strides.cell,
                       [](Real sum) { return static_cast<float>(sum); });
    return;
  }
  for_each_value(range, [&](std::ptrdiff_t cell, std::ptrdiff_t channel) {
    to[cell * strides.cell + channel * strides.channel] =
        static_cast<float>(from[cell * range.channels + channel]);
  });
}

// REQUIRES: there is one.
std::vector<DeformLevel> levels_of(const slots::MsDeformAttn<float>& call) {
  std::vector<DeformLevel> levels;
  levels.reserve(call.sizes.levels);
  levels.push_back(first_level(call));
  while (levels.size() < call.sizes.levels)
    levels.push_back(next_level(call, levels.back()));
  return levels;
}

bool is_copied(const slots::MsDeformAttnSizes& sizes, const DeformLevel& level) {
  return is_worth_a_copy(sizes.queries * sizes.points, static_cast<std::size_t>(level.cells()));
}

template <typename Real>
void run_task(BackwardTask task, const Workspace<Real>& space, InstructionSet instructions) {
  const DeformLevel& level = task.level;
  const CellRange range{.first = level.first_cell,
                        .count = level.cells(),
                        .channels = static_cast<std::ptrdiff_t>(task.call.sizes.channels)};
  task.value = head_of(task.call, {.batch = task.batch, .head = task.head});
  if (is_copied(task.call.sizes, level)) {
    copy_cells(task.value, range, space.value.get());
    task.value = {.data = space.value.get(), .cell_stride = range.channels, .channel_stride = 1};
  } else {
    task.value.data += range.first * task.value.cell_stride;
  }
  std::fill_n(space.gradient.get(), range.count * range.channels, Real{0});
  if (task.call.sizes.samples() == 0) {
    write_cells(space.gradient.get(), task, range);
    return;
  }
  if constexpr (std::is_same_v<Real, float>)
    float_variants.at(instructions)(task, space.gradient.get());
  else
    double_variants.at(instructions)(task, space.gradient.get());
  write_cells(space.gradient.get(), task, range);
}

template <typename Real>
void run_all(const BackwardTask& whole, const Execution& execution) {
  const slots::MsDeformAttnSizes& sizes = whole.call.sizes;
  std::int64_t summed_cells = 0;
  std::int64_t copied_cells = 0;
  const std::vector<DeformLevel> levels = levels_of(whole.call);
  for (const DeformLevel& level : levels) {
    summed_cells = std::max(summed_cells, level.cells());
    if (is_copied(sizes, level))
      copied_cells = std::max(copied_cells, level.cells());
  }
  const std::size_t cells_of_heads = sizes.batch * sizes.heads * sizes.cells;
  const bool is_divided =
      (sizes.samples() + cells_of_heads) * sizes.channels >= divided_elements_min;
  const Division division{.tasks = sizes.batch * sizes.heads * sizes.levels,
                          .threads = is_divided ? execution.workers.threads() : 1};
  std::vector<Workspace<Real>> spaces(division.workers());
  for (Workspace<Real>& space : spaces) {
    space.gradient = std::make_unique_for_overwrite<Real[]>(static_cast<std::size_t>(summed_cells) *
                                                            sizes.channels);
    space.value = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(copied_cells) *
                                                          sizes.channels);
  }
  const auto run_one = [&](std::size_t index, std::size_t worker) {
    const std::size_t head = index / sizes.levels;
    BackwardTask task = whole;
    task.batch = head / sizes.heads;
    task.head = head % sizes.heads;
    task.level = levels[index % sizes.levels];
    run_task(task, spaces[worker], execution.instructions);
  };
  execution.workers.run(division, run_one);
}

}  // namespace

void ms_deform_attn_backward(const slots::MsDeformAttn<float>& call,
                             std::span<const float> grad_output,
                             const slots::MsDeformAttnGradients<float>& gradients,
                             const Execution& execution,
                             Accumulation accumulation) {
  LYK_CHECK(is_consistent(call));
  LYK_CHECK(grad_output.size() == output_elements(call.sizes));
  LYK_CHECK(gradients.locations.size() == call.locations.size());
  LYK_CHECK(gradients.weights.size() == call.weights.size());
  if (call.sizes.cells == 0) {
    std::ranges::fill(gradients.locations, 0.0F);
    std::ranges::fill(gradients.weights, 0.0F);
    return;
  }
  const StandardArithmetic arithmetic;
  const BackwardTask whole{.call = call,
                           .grad_output = grad_output.data(),
                           .gradients = gradients,
                           .level = {},
                           .value = {}};
  if (accumulation == Accumulation::fp32)
    run_all<float>(whole, execution);
  else
    run_all<double>(whole, execution);
}

}  // namespace lyk::cpu

#endif  // HWY_ONCE
