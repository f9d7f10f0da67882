// From sampling locations to cells and their weights, for both directions of ms_deform_attn.
// Compiled once per target.
//
// A chunk is the samples of some queries of one head, at most `chunk_samples` of them. Where they
// fall is computed for all of them in vectors, whatever level they belong to; what is then done
// with the cells is done sample by sample, over the channels.
//
// `Real` is what is computed with: float, or double.
//
// What is called once per chunk, or rarely, is not inlined: with a branch of the sanitizers at
// every access, the compiler would allocate the registers of one large function for half a minute.
// What is rare takes structs by value: those of which a reference is handed on could not be in
// registers.
//
// Thread rule: a Chunk belongs to one task.

#if defined(LYK_KERNELS_CPU_TAPS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#  ifdef LYK_KERNELS_CPU_TAPS_INL_HPP
#    undef LYK_KERNELS_CPU_TAPS_INL_HPP
#  else
#    define LYK_KERNELS_CPU_TAPS_INL_HPP
#  endif

#  include <hwy/highway.h>

#  include <algorithm>
#  include <cstddef>
#  include <cstdint>

#  include "kernels/cpu/deform_task.hpp"
#  include "kernels/cpu/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();

namespace lyk::cpu::HWY_NAMESPACE {

inline constexpr std::size_t chunk_samples = 256;
// Cells are fetched into the cache this many samples before they are needed.
inline constexpr std::size_t samples_ahead = 8;
inline constexpr std::size_t floats_per_line = 16;

template <class Real>
using RealTag = hn::CappedTag<Real, 16>;
template <class Real>
using IntegerTag = hn::Rebind<std::int32_t, RealTag<Real>>;

// The four cells around a sample are those at `cell`, right of it, below it, and right of that; bit
// i of `inside` says whether cell i is inside of the level. A sample that does not count has none.
inline constexpr std::int32_t all_inside = 15;
// The row of such a sample: neither it nor the one below is inside.
inline constexpr std::int32_t nowhere = -2;

// One lane per sample. A whole vector is always computed, so that there are lanes to spare.
template <class Real>
struct Chunk {
  static constexpr std::size_t capacity = chunk_samples + hn::MaxLanes(RealTag<Real>{});

  // Of the samples' levels: set once for all chunks of a task, as levels repeat.
  HWY_ALIGN Real height[capacity];
  HWY_ALIGN Real width[capacity];
  HWY_ALIGN std::int32_t last_row[capacity];
  HWY_ALIGN std::int32_t columns[capacity];
  HWY_ALIGN std::int32_t first_cell[capacity];

  HWY_ALIGN Real location_x[capacity];
  HWY_ALIGN Real location_y[capacity];
  // Set by find().
  HWY_ALIGN std::int32_t cell[capacity];
  HWY_ALIGN std::int32_t inside[capacity];
  HWY_ALIGN Real below[capacity];  // how far the sample is below and right of the cell
  HWY_ALIGN Real right[capacity];
  HWY_ALIGN Real weights[4][capacity];  // of the four cells
};

// The samples of a row that a chunk has: all of them, or one level's.
struct Samples {
  std::size_t first = 0;  // in the row
  std::size_t count = 0;
};

// ---- reading and writing values

template <class D>
HWY_INLINE hn::Vec<D> load_values(D d, const float* from) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float))
    return hn::LoadU(d, from);
  else
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>{}, from));
}

template <class D>
HWY_INLINE void store_values(hn::Vec<D> v, D d, float* to) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float))
    hn::StoreU(v, d, to);
  else
    hn::StoreU(hn::DemoteTo(hn::Rebind<float, D>{}, v), hn::Rebind<float, D>{}, to);
}

// ---- from locations to cells

// `level` is that of the first sample or one before it, `origin` the cell that cells are counted
// from. Returns the level of the last sample.
template <class Real>
HWY_NOINLINE DeformLevel set_levels(const slots::MsDeformAttn<float>& call,
                                    Samples samples,
                                    std::size_t rows,
                                    DeformLevel level,
                                    std::int64_t origin,
                                    Chunk<Real>& chunk) {
  const auto copy = [&chunk](std::size_t to, std::size_t from) HWY_ATTR {
    chunk.height[to] = chunk.height[from];
    chunk.width[to] = chunk.width[from];
    chunk.last_row[to] = chunk.last_row[from];
    chunk.columns[to] = chunk.columns[from];
    chunk.first_cell[to] = chunk.first_cell[from];
  };
  std::size_t filled = 0;
  for (; filled < samples.count; ++filled) {
    while (level.number < (samples.first + filled) / call.sizes.points)
      level = next_level(call, level);
    chunk.height[filled] = static_cast<Real>(level.height);
    chunk.width[filled] = static_cast<Real>(level.width);
    chunk.last_row[filled] = static_cast<std::int32_t>(level.height - 1);
    chunk.columns[filled] = static_cast<std::int32_t>(level.width);
    chunk.first_cell[filled] = static_cast<std::int32_t>(level.first_cell - origin);
  }
  for (; filled < rows * samples.count; ++filled)
    copy(filled, filled - samples.count);
  for (std::size_t spare = filled; spare < filled + hn::MaxLanes(RealTag<Real>{}); ++spare) {
    copy(spare, 0);
    chunk.location_x[spare] = 0;
    chunk.location_y[spare] = 0;
  }
  return level;
}

template <class Real>
HWY_NOINLINE void read_locations(const slots::MsDeformAttn<float>& call,
                                 const DeformRows& rows,
                                 Samples samples,
                                 Chunk<Real>& chunk) {
  const std::size_t in_row = call.sizes.levels * call.sizes.points;
  std::size_t filled = 0;
  for (std::size_t query = rows.first_query; query < rows.first_query + rows.queries; ++query) {
    const std::size_t row = row_of(call.sizes, rows, query);
    const float* from = call.locations.data() + 2 * (row * in_row + samples.first);
    for (std::size_t i = 0; i < samples.count; ++i, ++filled) {
      chunk.location_x[filled] = from[2 * i];
      chunk.location_y[filled] = from[2 * i + 1];
    }
  }
}

// The rows of the next chunk are as far apart as a query's heads are many.
HWY_INLINE void fetch_rows(const slots::MsDeformAttn<float>& call,
                           const DeformRows& rows,
                           Samples samples) {
  const std::size_t in_row = call.sizes.levels * call.sizes.points;
  for (std::size_t query = rows.first_query; query < rows.first_query + rows.queries; ++query) {
    const std::size_t row = row_of(call.sizes, rows, query);
    const std::size_t first = row * in_row + samples.first;
    for (std::size_t i = 0; i < samples.count; i += floats_per_line) {
      __builtin_prefetch(call.weights.data() + first + i);
      __builtin_prefetch(call.locations.data() + 2 * (first + i));
      __builtin_prefetch(call.locations.data() + 2 * (first + i) + floats_per_line);
    }
  }
}

// Integers that all fit.
template <class Real>
HWY_INLINE hn::Vec<IntegerTag<Real>> as_integers(hn::Vec<RealTag<Real>> v) {
  if constexpr (sizeof(Real) == sizeof(float))
    return hn::ConvertTo(IntegerTag<Real>{}, v);
  else
    return hn::DemoteTo(IntegerTag<Real>{}, v);
}

template <class Real>
HWY_INLINE void store_cells(hn::Vec<IntegerTag<Real>> row,
                            hn::Vec<IntegerTag<Real>> column,
                            std::size_t i,
                            Chunk<Real>& chunk) {
  const IntegerTag<Real> di;
  const auto before_first = hn::Set(di, -1);
  const auto columns = hn::Load(di, chunk.columns + i);
  const auto first = hn::Load(di, chunk.first_cell + i);
  hn::Store(hn::Add(first, hn::Add(hn::Mul(row, columns), column)), di, chunk.cell + i);
  const auto top = hn::Gt(row, before_first);
  const auto bottom =
      hn::And(hn::Gt(row, hn::Set(di, nowhere)), hn::Lt(row, hn::Load(di, chunk.last_row + i)));
  const auto left = hn::Gt(column, before_first);
  const auto right = hn::Lt(hn::Add(column, hn::Set(di, 1)), columns);
  const auto bit = [di](auto is_vertical, auto is_horizontal, std::int32_t value) HWY_ATTR {
    return hn::IfThenElseZero(hn::And(is_vertical, is_horizontal), hn::Set(di, value));
  };
  const auto above_bits = hn::Or(bit(top, left, 1), bit(top, right, 2));
  const auto below_bits = hn::Or(bit(bottom, left, 4), bit(bottom, right, 8));
  hn::Store(hn::Or(above_bits, below_bits), di, chunk.inside + i);
}

template <class Real>
HWY_NOINLINE void find(Chunk<Real>& chunk, std::size_t count) {
  const RealTag<Real> d;
  const auto one = hn::Set(d, Real{1});
  const auto minus_half = hn::Set(d, Real{-0.5});
  const auto minus_one = hn::Set(d, Real{-1});
  const auto above_all = hn::Set(d, Real{nowhere});
  for (std::size_t i = 0; i < count; i += hn::MaxLanes(d)) {
    const auto height = hn::Load(d, chunk.height + i);
    const auto width = hn::Load(d, chunk.width + i);
    const auto y = fused_multiply_add(hn::Load(d, chunk.location_y + i), height, minus_half);
    const auto x = fused_multiply_add(hn::Load(d, chunk.location_x + i), width, minus_half);
    // Comparisons with NaN are false.
    const auto after_first = hn::And(hn::Gt(y, minus_one), hn::Gt(x, minus_one));
    const auto before_last = hn::And(hn::Lt(y, height), hn::Lt(x, width));
    const auto counts = hn::And(after_first, before_last);
    const auto row = hn::Floor(y);
    const auto column = hn::Floor(x);
    store_cells(as_integers<Real>(hn::IfThenElse(counts, row, above_all)),
                as_integers<Real>(hn::IfThenElse(counts, column, above_all)), i, chunk);
    const auto ly = hn::Sub(y, row);
    const auto lx = hn::Sub(x, column);
    const auto hy = hn::Sub(one, ly);
    const auto hx = hn::Sub(one, lx);
    hn::Store(ly, d, chunk.below + i);
    hn::Store(lx, d, chunk.right + i);
    hn::Store(hn::Mul(hy, hx), d, chunk.weights[0] + i);
    hn::Store(hn::Mul(hy, lx), d, chunk.weights[1] + i);
    hn::Store(hn::Mul(ly, hx), d, chunk.weights[2] + i);
    hn::Store(hn::Mul(ly, lx), d, chunk.weights[3] + i);
  }
}

// ---- the cells of a sample

// Places of the four cells around a sample among those of its head, `stride` apart.
struct Places {
  std::ptrdiff_t at[4];

  template <class Real>
  HWY_INLINE Places(const Chunk<Real>& chunk, std::size_t sample, std::ptrdiff_t stride) {
    at[0] = chunk.cell[sample] * stride;
    at[1] = at[0] + stride;
    at[2] = at[0] + chunk.columns[sample] * stride;
    at[3] = at[2] + stride;
  }
};

// Fetches the cells of a sample, wherever they are: an address outside of anything is ignored.
template <class Value>
HWY_INLINE void fetch_cells(const Value* values, const Places& places, std::size_t channels) {
  // More lines than these are found by the hardware.
  constexpr std::size_t values_per_line = 64 / sizeof(Value);
  const std::size_t fetched = std::min(channels, 2 * values_per_line);
  for (const std::ptrdiff_t place : places.at)
    for (std::size_t i = 0; i < fetched; i += values_per_line)
      __builtin_prefetch(values + place + i);
}

}  // namespace lyk::cpu::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif  // once per target
