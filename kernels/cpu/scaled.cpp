// The slots that divide by a scale and put the result through the straight-through estimator:
// fake_quant_fp8 and fake_quant_int_grouped.
#include <algorithm>
#include <cstddef>
#include <span>

#include "kernels/cpu/channels.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/fake_quant_fp8.hpp"
#include "kernels/cpu/fake_quant_int_grouped.hpp"
#include "kernels/cpu/row_blocks.hpp"
#include "kernels/cpu/standard_arithmetic.hpp"
#include "proto/check.hpp"

// clang-format off: Highway's headers come in this order
#include "kernels/cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/scaled.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/vectors-inl.hpp"
// clang-format on

HWY_BEFORE_NAMESPACE();

namespace lyk::cpu::HWY_NAMESPACE {

// ---- FP8

// NaN in x or in its scale comes back in by the multiplication or the estimator.
struct Fp8 {
  Floats scale;

  HWY_INLINE explicit Fp8(Floats of_channel) : scale(at_least(of_channel, all(smallest_scale))) {}
  HWY_INLINE Floats operator()(Floats x) const {
    const Floats scaled = clip(hn::Div(x, scale), all(-e4m3_max), all(e4m3_max));
    return straight_through(hn::Mul(round_to_e4m3(scaled), scale), x);
  }
};

struct Fp8PerElement {
  HWY_INLINE Floats operator()(Floats scale, Floats x) const { return Fp8{scale}(x); }
};

// One scale for all elements, or one for each.
void fp8(const Elements& elements, std::span<const float> scales) {
  if (scales.size() == 1)
    transform(elements.to, elements.count, Fp8{all(scales[0])}, elements.x);
  else
    transform(elements.to, elements.count, Fp8PerElement{}, scales.data(), elements.x);
}

// ---- grouped integers

struct Grouped {
  Floats scale;
  Floats lowest;
  Floats highest;

  HWY_INLINE Floats operator()(Floats x) const {
    const Floats code = clip(round_half_even(hn::Div(x, scale)), lowest, highest);
    return straight_through(hn::Mul(code, scale), x);
  }
};

HWY_INLINE float highest_code(unsigned bits) {
  return static_cast<float>((1U << (bits - 1)) - 1);
}

inline constexpr std::size_t groups_per_tile = 32;

// The scales of some groups. In tiles, as one group alone would wait for its maximum, its division
// and its elements in turn.
HWY_INLINE void make_scales(const slots::FakeQuantIntGrouped& call,
                            const RowBlocks& groups,
                            BlockRange tile,
                            float* scales) {
  const float highest = highest_code(call.bits);
  RowBlock group = groups.at(tile.first);
  for (std::size_t i = 0; i < tile.last - tile.first; ++i, group = groups.after(group))
    scales[i] = call.scale.data != nullptr
                    ? call.scale.at(group.row, group.in_row)
                    : magnitude(greatest_magnitude(call.weight.data() + group.begin, group.count)) /
                          highest;
}

// Some groups, numbered row after row.
void grouped(const slots::FakeQuantIntGrouped& call, BlockRange range, float* output) {
  const RowBlocks groups{{.columns = call.columns, .block = call.group_size}};
  const float highest = highest_code(call.bits);
  while (range.first < range.last) {
    const BlockRange tile{.first = range.first,
                          .last = std::min(range.first + groups_per_tile, range.last)};
    float scales[groups_per_tile];
    make_scales(call, groups, tile, scales);
    RowBlock group = groups.at(tile.first);
    for (std::size_t i = 0; i < tile.last - tile.first; ++i, group = groups.after(group)) {
      const Grouped operation{.scale = all(at_least(scales[i], smallest_scale)),
                              .lowest = all(-highest - 1),
                              .highest = all(highest)};
      transform(output + group.begin, group.count, operation, call.weight.data() + group.begin);
    }
    range.first = tile.last;
  }
}

}  // namespace lyk::cpu::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace lyk::cpu {
namespace {

constexpr auto fp8_variants = LYK_VARIANTS(fp8);
constexpr auto grouped_variants = LYK_VARIANTS(grouped);

// The estimator's gradient, which is the identity.
void pass_on(std::span<const float> grad_output,
             std::span<float> gradient,
             const Execution& execution) {
  if (gradient.data() == grad_output.data())
    return;
  for_each_range({.count = gradient.size()}, execution.workers,
                 [&](std::size_t first, std::size_t last) {
                   std::ranges::copy(grad_output.subspan(first, last - first),
                                     gradient.subspan(first).begin());
                 });
}

}  // namespace

void fake_quant_fp8(const slots::FakeQuantFp8& call,
                    std::span<float> output,
                    const Execution& execution) {
  LYK_CHECK(call.x.size() == call.axis.elements());
  LYK_CHECK(call.scale.size() == call.axis.channels);
  LYK_CHECK(output.size() == call.x.size());
  if (output.empty())
    return;
  const StandardArithmetic arithmetic;
  const Elements all{.x = call.x.data(), .to = output.data(), .count = output.size()};
  auto& variant = fp8_variants.at(execution.instructions);
  for_each_stretch(slots::joined(call.axis), call.scale, execution.workers,
                   [&](const Stretch& stretch) {
                     variant(all.part(stretch.begin, stretch.count), stretch.scales);
                   });
}

void fake_quant_fp8_backward(const slots::FakeQuantFp8& call,
                             std::span<const float> grad_output,
                             std::span<float> grad_x,
                             const Execution& execution) {
  LYK_CHECK(grad_output.size() == call.x.size());
  LYK_CHECK(grad_x.size() == call.x.size());
  pass_on(grad_output, grad_x, execution);
}

void fake_quant_int_grouped(const slots::FakeQuantIntGrouped& call,
                            std::span<float> output,
                            const Execution& execution) {
  LYK_CHECK(call.bits >= 2 && call.bits <= 8 && call.group_size > 0);
  LYK_CHECK(call.weight.size() == call.rows * call.columns);
  LYK_CHECK(call.scalar_division == slots::ScalarDivision::ieee);
  LYK_CHECK(output.size() == call.weight.size());
  const StandardArithmetic arithmetic;
  auto& variant = grouped_variants.at(execution.instructions);
  const RowBlocks groups{{.columns = call.columns, .block = call.group_size}};
  for_each_range(groups.units(call.rows), execution.workers,
                 [&](std::size_t first, std::size_t last) {
                   variant(call, {.first = first, .last = last}, output.data());
                 });
}

void fake_quant_int_grouped_backward(const slots::FakeQuantIntGrouped& call,
                                     std::span<const float> grad_output,
                                     std::span<float> grad_weight,
                                     const Execution& execution) {
  LYK_CHECK(grad_output.size() == call.weight.size());
  LYK_CHECK(grad_weight.size() == call.weight.size());
  pass_on(grad_output, grad_weight, execution);
}

}  // namespace lyk::cpu

#endif  // HWY_ONCE
