// ms_deform_attn, forward. Lanes are channels: the four cells of a sample are four loads of
// neighbouring channels, weighted and added up in registers over all samples of a query.
#include "kernels/cpu/ms_deform_attn.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cpu/deform_task.hpp"
#include "kernels/cpu/dense_cells.hpp"
#include "kernels/cpu/standard_arithmetic.hpp"
#include "kernels/cpu/tasks.hpp"
#include "proto/check.hpp"

// clang-format off: Highway's headers come in this order
#include "kernels/cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/ms_deform_attn.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/taps-inl.hpp"
// clang-format on

HWY_BEFORE_NAMESPACE();

namespace lyk::cpu::HWY_NAMESPACE {

// What a cell outside of its level holds, for as many channels as are done at a time.
inline constexpr std::size_t vectors_max = 4;
HWY_ALIGN inline constexpr float nothing[16 * vectors_max] = {};

// In double, what a query of several chunks adds up to before the last of them. A query of more
// channels than these goes through its chunks several times.
inline constexpr std::size_t double_sums = 256;

// The channels that are done at a time.
struct Channels {
  std::size_t first = 0;
  std::size_t end = 0;

  std::size_t count() const { return end - first; }
};

// The samples of one query: where they begin in the chunk, what they are weighted with, and what
// they add up to.
template <class Real>
struct Query {
  std::size_t place = 0;
  const float* weights = nullptr;
  float* output = nullptr;  // channel 0
  Real* sums = nullptr;     // between two chunks; of the first channel that is done
};

// The four cells of a sample at some channel.
struct Sources {
  const float* cells[4];
  std::ptrdiff_t strides[4];  // between channels; 0 in `nothing`

  template <class Real>
  HWY_INLINE Sources(const HeadValue& head,
                     const Chunk<Real>& chunk,
                     std::size_t sample,
                     std::size_t channel) {
    const Places places{chunk, sample, head.cell_stride};
    const float* value = head.data + static_cast<std::ptrdiff_t>(channel) * head.channel_stride;
    const std::int32_t inside = chunk.inside[sample];
    HWY_UNROLL(4)
    for (std::size_t tap = 0; tap < 4; ++tap) {
      const bool is_inside = inside == all_inside || (inside >> tap & 1) != 0;
      cells[tap] = is_inside ? value + places.at[tap] : nothing;
      strides[tap] = is_inside ? head.channel_stride : 0;
    }
  }
};

// The sums of `count` vectors of channels. With more than one lane they lie side by side.
template <class D, std::size_t count>
struct Sums {
  using Real = hn::TFromD<D>;
  static constexpr std::size_t width = hn::MaxLanes(D{});
  static constexpr std::size_t channels = count * width;

  hn::Vec<D> vectors[count];

  HWY_INLINE hn::Vec<D> load(const Sources& sources, std::size_t tap, std::size_t k) const {
    const auto step = width > 1 ? static_cast<std::ptrdiff_t>(width) : sources.strides[tap];
    return load_values(D{}, sources.cells[tap] + static_cast<std::ptrdiff_t>(k) * step);
  }
  HWY_INLINE void add(const Sources& sources,
                      const Chunk<Real>& chunk,
                      std::size_t sample,
                      float weight) {
    const D d;
    const auto w1 = hn::Set(d, chunk.weights[0][sample]);
    const auto w2 = hn::Set(d, chunk.weights[1][sample]);
    const auto w3 = hn::Set(d, chunk.weights[2][sample]);
    const auto w4 = hn::Set(d, chunk.weights[3][sample]);
    const auto attention = hn::Set(d, static_cast<Real>(weight));
    // The second cell comes first: that is the order in which the compiled kernel adds.
    for (std::size_t k = 0; k < count; ++k) {
      auto sum = hn::Mul(w2, load(sources, 1, k));
      sum = fused_multiply_add(w1, load(sources, 0, k), sum);
      sum = fused_multiply_add(w3, load(sources, 2, k), sum);
      sum = fused_multiply_add(w4, load(sources, 3, k), sum);
      vectors[k] = fused_multiply_add(attention, sum, vectors[k]);
    }
  }
};

template <class Real>
struct ForwardWork {
  const slots::MsDeformAttn<float>& call;
  const HeadValue& head;
  const Chunk<Real>& chunk;
  std::size_t found;  // samples in the chunk
  Samples samples;    // of each query
  Channels channels;

  bool is_first() const { return samples.first == 0; }
  bool is_last() const {
    return samples.first + samples.count == call.sizes.levels * call.sizes.points;
  }
};

// Sums between two chunks are in the output where that can hold them.
template <class D, std::size_t count>
HWY_INLINE void begin_sums(const ForwardWork<hn::TFromD<D>>& work,
                           const Query<hn::TFromD<D>>& query,
                           std::size_t channel,
                           Sums<D, count>& sums) {
  const D d;
  for (std::size_t k = 0; k < count; ++k)
    if (work.is_first())
      sums.vectors[k] = hn::Zero(d);
    else if constexpr (sizeof(hn::TFromD<D>) == sizeof(float))
      sums.vectors[k] = hn::LoadU(d, query.output + channel + k * sums.width);
    else
      sums.vectors[k] = hn::LoadU(d, query.sums + channel - work.channels.first + k * sums.width);
}

template <class D, std::size_t count>
HWY_INLINE void end_sums(const ForwardWork<hn::TFromD<D>>& work,
                         const Query<hn::TFromD<D>>& query,
                         std::size_t channel,
                         const Sums<D, count>& sums) {
  const D d;
  for (std::size_t k = 0; k < count; ++k)
    if (sizeof(hn::TFromD<D>) == sizeof(float) || work.is_last())
      store_values(sums.vectors[k], d, query.output + channel + k * sums.width);
    else
      hn::StoreU(sums.vectors[k], d, query.sums + channel - work.channels.first + k * sums.width);
}

template <class D, std::size_t count>
HWY_INLINE void run_channels(const ForwardWork<hn::TFromD<D>>& work,
                             const Query<hn::TFromD<D>>& query,
                             std::size_t channel) {
  Sums<D, count> sums;
  begin_sums(work, query, channel, sums);
  const float* weight = query.weights + work.samples.first;
  const std::size_t end = query.place + work.samples.count;
  const bool fetches = channel == work.channels.first;  // for all that are done
  const float* values =
      work.head.data + static_cast<std::ptrdiff_t>(channel) * work.head.channel_stride;
  for (std::size_t sample = query.place; sample < end; ++sample, ++weight) {
    if (fetches && sample + samples_ahead < work.found)
      fetch_cells(values, Places{work.chunk, sample + samples_ahead, work.head.cell_stride},
                  work.channels.count());
    if (work.chunk.inside[sample] != 0)
      sums.add(Sources{work.head, work.chunk, sample, channel}, work.chunk, sample, *weight);
  }
  end_sums(work, query, channel, sums);
}

// The channels from `channel` on, of which there are fewer than two vectors: one vector if there
// is, then narrower ones.
template <class D>
HWY_NOINLINE void run_rest(ForwardWork<hn::TFromD<D>> work,
                           Query<hn::TFromD<D>> query,
                           std::size_t channel) {
  constexpr std::size_t width = hn::MaxLanes(D{});
  if (channel + width <= work.channels.end) {
    run_channels<D, 1>(work, query, channel);
    channel += width;
  }
  if constexpr (width > 1)
    if (channel < work.channels.end)
      run_rest<hn::Half<D>>(work, query, channel);
}

template <class D>
HWY_INLINE void run_vectors(const ForwardWork<hn::TFromD<D>>& work,
                            const Query<hn::TFromD<D>>& query) {
  constexpr std::size_t width = hn::MaxLanes(D{});
  const std::size_t channels = work.channels.end;
  std::size_t channel = work.channels.first;
  for (; channel + 4 * width <= channels; channel += 4 * width)
    run_channels<D, 4>(work, query, channel);
  for (; channel + 2 * width <= channels; channel += 2 * width)
    run_channels<D, 2>(work, query, channel);
  if (channel + width <= channels) {
    run_channels<D, 1>(work, query, channel);
    channel += width;
  }
  if constexpr (width > 1)
    if (channel < channels)
      run_rest<hn::Half<D>>(work, query, channel);
}

// Channels that are apart.
template <class Real>
HWY_NOINLINE void run_one_by_one(ForwardWork<Real> work, Query<Real> query) {
  run_vectors<hn::CappedTag<Real, 1>>(work, query);
}

template <class Real>
HWY_INLINE void run_query(const ForwardWork<Real>& work, const Query<Real>& query) {
  if constexpr (hn::MaxLanes(RealTag<Real>{}) > 1)
    if (work.head.channel_stride == 1)
      return run_vectors<RealTag<Real>>(work, query);
  run_one_by_one(work, query);
}

// ---- a task

// How many channels of a query are done before the next ones. In double the sums of those must have
// a place between two chunks; finding the samples again for each 256 channels costs next to
// nothing.
template <class Real>
HWY_INLINE std::size_t channels_at_a_time(const slots::MsDeformAttnSizes& sizes) {
  if (sizeof(Real) == sizeof(float) || sizes.levels * sizes.points <= chunk_samples)
    return sizes.channels;
  return std::min(sizes.channels, double_sums);
}

template <class Real>
struct RowsState {
  Chunk<Real> chunk;
  HWY_ALIGN Real sums[sizeof(Real) == sizeof(float) ? 1 : double_sums];
};

// All samples of some queries, for some of their channels.
template <class Real>
HWY_INLINE void run_samples(const ForwardTask& task,
                            const DeformRows& rows,
                            Channels channels,
                            RowsState<Real>& state) {
  const slots::MsDeformAttn<float>& call = task.call;
  const std::size_t in_row = call.sizes.levels * call.sizes.points;
  Chunk<Real>& chunk = state.chunk;
  DeformLevel level = first_level(call);
  for (std::size_t first = 0; first < in_row; first += chunk_samples) {
    const Samples samples{.first = first, .count = std::min(chunk_samples, in_row - first)};
    if (rows.first_query == task.rows.first_query || in_row > chunk_samples)
      level = set_levels(call, samples, rows.queries, level, 0, chunk);
    read_locations(call, rows, samples, chunk);
    const std::size_t found = rows.queries * samples.count;
    find(chunk, found);
    fetch_rows(call, next_rows(rows, task.rows), samples);
    const ForwardWork<Real> work{.call = call,
                                 .head = task.head,
                                 .chunk = chunk,
                                 .found = found,
                                 .samples = samples,
                                 .channels = channels};
    for (std::size_t i = 0; i < rows.queries; ++i) {
      const std::size_t row = row_of(call.sizes, rows, rows.first_query + i);
      const Query<Real> query{.place = i * samples.count,
                              .weights = call.weights.data() + row * in_row,
                              .output = task.output + row * call.sizes.channels,
                              .sums = state.sums};
      run_query(work, query);
    }
  }
}

template <class Real>
HWY_INLINE void run_task(const ForwardTask& task) {
  const slots::MsDeformAttnSizes& sizes = task.call.sizes;
  const std::size_t rows_max =
      std::clamp<std::size_t>(chunk_samples / (sizes.levels * sizes.points), 1, task.rows.queries);
  const std::size_t channels_max = channels_at_a_time<Real>(sizes);
  RowsState<Real> state;
  DeformRows rows = task.rows;
  rows.queries = rows_max;
  for (; rows.queries > 0; rows = next_rows(rows, task.rows))
    for (std::size_t first = 0; first < sizes.channels; first += channels_max)
      run_samples(task, rows,
                  {.first = first, .end = std::min(first + channels_max, sizes.channels)}, state);
}

void forward(const ForwardTask& task) {
  run_task<float>(task);
}

void forward_in_double(const ForwardTask& task) {
  run_task<double>(task);
}

}  // namespace lyk::cpu::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace lyk::cpu {
namespace {

constexpr auto forward_variants = LYK_VARIANTS(forward);
constexpr auto double_variants = LYK_VARIANTS(forward_in_double);

using Variant = void(const ForwardTask& task);

// A query is four cells and some arithmetic per sample and channel.
std::size_t work_of_query(const slots::MsDeformAttnSizes& sizes) {
  return 4 * sizes.levels * sizes.points * sizes.channels;
}

// Some queries of all heads at a time. One head's queries after the other would look up its cells
// only, which are bad neighbours in the cache (dense_cells.hpp).
void run_on_value(const slots::MsDeformAttn<float>& call,
                  std::span<float> output,
                  Variant& variant,
                  Workers& workers) {
  constexpr std::size_t queries_at_a_time = 16;
  const slots::MsDeformAttnSizes& sizes = call.sizes;
  const std::size_t blocks = slots::groups_in(sizes.queries, queries_at_a_time);
  const Units units{.count = sizes.batch * blocks,
                    .elements = queries_at_a_time * sizes.heads * work_of_query(sizes)};
  for_each_range(units, workers, [&](std::size_t first, std::size_t last) {
    for (std::size_t unit = first; unit < last; ++unit) {
      DeformRows rows{.batch = unit / blocks, .first_query = unit % blocks * queries_at_a_time};
      rows.queries = std::min(queries_at_a_time, sizes.queries - rows.first_query);
      for (; rows.head < sizes.heads; ++rows.head)
        variant({.call = call, .head = head_of(call, rows), .rows = rows, .output = output.data()});
    }
  });
}

// One head's queries after the other, on a copy of its cells.
void run_on_copies(const slots::MsDeformAttn<float>& call,
                   std::span<float> output,
                   Variant& variant,
                   Workers& workers) {
  const slots::MsDeformAttnSizes& sizes = call.sizes;
  // A task is worth a copy of its own, although a thread's next one may find it made already.
  const std::size_t samples_min = 2 * lookups_of_dense_min * sizes.cells / lookups_per_sample;
  const std::size_t queries =
      std::min(slots::groups_in(samples_min, sizes.levels * sizes.points), sizes.queries);
  const std::size_t parts = slots::groups_in(sizes.queries, queries);
  struct Copy {
    std::unique_ptr<float[]> cells;
    std::size_t head = SIZE_MAX;
  };
  const Division division{.tasks = sizes.batch * sizes.heads * parts, .threads = workers.threads()};
  std::vector<Copy> copies(division.workers());
  for (Copy& copy : copies)
    copy.cells = std::make_unique_for_overwrite<float[]>(sizes.cells * sizes.channels);
  workers.run(division, [&](std::size_t task, std::size_t worker) {
    const std::size_t head = task / parts;
    DeformRows rows{.batch = head / sizes.heads,
                    .head = head % sizes.heads,
                    .first_query = task % parts * queries};
    rows.queries = std::min(queries, sizes.queries - rows.first_query);
    Copy& copy = copies[worker];
    const auto channels = static_cast<std::ptrdiff_t>(sizes.channels);
    if (copy.head != head)
      copy_cells(head_of(call, rows),
                 {.count = static_cast<std::ptrdiff_t>(sizes.cells), .channels = channels},
                 copy.cells.get());
    copy.head = head;
    variant({.call = call,
             .head = {.data = copy.cells.get(), .cell_stride = channels, .channel_stride = 1},
             .rows = rows,
             .output = output.data()});
  });
}

}  // namespace

void ms_deform_attn(const slots::MsDeformAttn<float>& call,
                    std::span<float> output,
                    const Execution& execution,
                    Accumulation accumulation) {
  const slots::MsDeformAttnSizes& sizes = call.sizes;
  LYK_CHECK(is_consistent(call));
  LYK_CHECK(output.size() == output_elements(sizes));
  if (output.empty())
    return;
  if (sizes.samples() == 0 || sizes.cells == 0) {
    std::ranges::fill(output, 0.0F);
    return;
  }
  const StandardArithmetic arithmetic;
  const auto& variants = accumulation == Accumulation::fp32 ? forward_variants : double_variants;
  Variant& variant = variants.at(execution.instructions);
  const std::size_t work = sizes.batch * sizes.heads * sizes.queries * work_of_query(sizes);
  if (work >= divided_elements_min &&
      is_worth_a_copy(sizes.queries * sizes.levels * sizes.points, sizes.cells))
    run_on_copies(call, output, variant, execution.workers);
  else
    run_on_value(call, output, variant, execution.workers);
}

}  // namespace lyk::cpu

#endif  // HWY_ONCE
