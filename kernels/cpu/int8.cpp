// Both INT8 slots: codes are clipped in fp32, where all of them are exact.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "kernels/cpu/channels.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/fake_quant_int8_affine.hpp"
#include "kernels/cpu/fake_quant_int8_per_channel.hpp"
#include "kernels/cpu/standard_arithmetic.hpp"
#include "proto/check.hpp"

// clang-format off: Highway's headers come in this order
#include "kernels/cpu/targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/int8.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/vectors-inl.hpp"
// clang-format on

HWY_BEFORE_NAMESPACE();

namespace lyk::cpu::HWY_NAMESPACE {

HWY_INLINE Floats in_range_as_one(Floats code) {
  const auto in_range = hn::And(hn::Ge(code, all(-128)), hn::Le(code, all(127)));
  return hn::IfThenElseZero(in_range, all(1));
}

// ---- affine

struct Affine {
  Floats inverse;
  Floats zero_point;
  Floats scale;

  HWY_INLINE explicit Affine(const slots::FakeQuantInt8Affine& call) {
    const float lo = at_most(call.lo, 0);
    const float hi = at_least(call.hi, 0);
    const float range = hi - lo;
    const float step = at_least(range / 255, smallest_scale);
    const float quotient = lo / step;
    const float zero = at_most(at_least(std::nearbyint(-128 - quotient), -128), 127);
    // As x86 converts NaN to an integer, which is what PyTorch's zero point is.
    constexpr auto nan_as_integer = static_cast<float>(std::numeric_limits<std::int32_t>::min());
    inverse = all(1.0F / step);
    zero_point = all(std::isnan(zero) ? nan_as_integer : zero);
    scale = all(step);
  }

  HWY_INLINE Floats code(Floats x) const {
    return hn::Add(zero_point, round_half_even(hn::Mul(x, inverse)));
  }
  HWY_INLINE Floats operator()(Floats x) const {
    const Floats unclipped = code(x);
    const Floats clipped = clip(unclipped, all(-128), all(127));
    const Floats quantised = hn::IfThenElse(hn::IsNaN(unclipped), all(-128), clipped);
    return hn::Mul(hn::Sub(quantised, zero_point), scale);
  }
  HWY_INLINE Floats operator()(Floats x, Floats grad_output) const {
    return hn::Mul(grad_output, in_range_as_one(code(x)));
  }
};

void affine(const slots::FakeQuantInt8Affine& call, const Elements& elements) {
  const Affine operation{call};
  if (elements.grad_output == nullptr)
    transform(elements.to, elements.count, operation, elements.x);
  else
    transform(elements.to, elements.count, operation, elements.x, elements.grad_output);
}

// ---- per channel

struct PerChannel {
  // The greatest float that is a 64-bit integer. Greater codes become -128, and so does NaN.
  static constexpr float code_max = 0x1.FFFFFEp62F;

  Floats inverse;
  Floats scale;

  HWY_INLINE explicit PerChannel(Floats of_channel)
      : inverse(hn::Div(all(1), of_channel)), scale(of_channel) {}

  HWY_INLINE Floats operator()(Floats x) const {
    const Floats unclipped = round_half_even(hn::Mul(x, inverse));
    const Floats clipped = clip(unclipped, all(-128), all(127));
    const Floats code = hn::IfThenElse(hn::Le(unclipped, all(code_max)), clipped, all(-128));
    // An integer has no -0.
    return hn::Mul(hn::Add(code, all(0)), scale);
  }
  HWY_INLINE Floats operator()(Floats x, Floats grad_output) const {
    return hn::Mul(grad_output, in_range_as_one(round_half_even(hn::Mul(x, inverse))));
  }
};

// As above, where every element has a scale of its own.
struct PerElement {
  HWY_INLINE Floats operator()(Floats scale, Floats x) const { return PerChannel{scale}(x); }
  HWY_INLINE Floats operator()(Floats scale, Floats x, Floats grad_output) const {
    return PerChannel{scale}(x, grad_output);
  }
};

// One scale for all elements, or one for each.
void per_channel(const Elements& elements, std::span<const float> scales) {
  const auto [x, grad_output, to, count] = elements;
  if (scales.size() == 1) {
    const PerChannel operation{all(scales[0])};
    if (grad_output == nullptr)
      transform(to, count, operation, x);
    else
      transform(to, count, operation, x, grad_output);
    return;
  }
  const PerElement operation;
  if (grad_output == nullptr)
    transform(to, count, operation, scales.data(), x);
  else
    transform(to, count, operation, scales.data(), x, grad_output);
}

MagnitudeBits greatest(const float* from, std::size_t count) {
  return greatest_magnitude(from, count);
}

// greatest[i] becomes the greater of itself and the magnitude of row[i].
void raise(const float* row, std::size_t count, MagnitudeBits* greatest) {
  const BitsTag di;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Bits magnitudes = magnitude_bits(hn::LoadU(FloatTag{}, row + i));
    hn::StoreU(hn::Max(magnitudes, hn::LoadU(di, greatest + i)), di, greatest + i);
  }
  for (; i < count; ++i)
    greatest[i] = std::max(greatest[i], std::bit_cast<MagnitudeBits>(std::fabs(row[i])));
}

}  // namespace lyk::cpu::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace lyk::cpu {
namespace {

constexpr auto affine_variants = LYK_VARIANTS(affine);
constexpr auto per_channel_variants = LYK_VARIANTS(per_channel);
constexpr auto greatest_variants = LYK_VARIANTS(greatest);
constexpr auto raise_variants = LYK_VARIANTS(raise);

void run_affine(const slots::FakeQuantInt8Affine& call,
                const Elements& all,
                const Execution& execution) {
  LYK_CHECK(call.scalar_division == slots::ScalarDivision::ieee);
  LYK_CHECK(call.nan_as_integer == slots::NanAsInteger::lowest);
  const StandardArithmetic arithmetic;
  auto& variant = affine_variants.at(execution.instructions);
  for_each_range({.count = all.count}, execution.workers, [&](std::size_t first, std::size_t last) {
    variant(call, all.part(first, last - first));
  });
}

using slots::FakeQuantInt8PerChannel;

float scale_from(MagnitudeBits greatest) {
  return at_least(magnitude(greatest) / 127, smallest_scale);
}

std::vector<MagnitudeBits> greatest_of_long_runs(const FakeQuantInt8PerChannel& call,
                                                 const Execution& execution) {
  const slots::ChannelAxis& axis = call.axis;
  auto& variant = greatest_variants.at(execution.instructions);
  std::vector<MagnitudeBits> greatest(axis.channels, 0);
  const Units units{.count = axis.channels, .elements = axis.outer * axis.inner};
  for_each_range(units, execution.workers, [&](std::size_t first, std::size_t last) {
    for (std::size_t channel = first; channel < last; ++channel)
      for (std::size_t outer = 0; outer < axis.outer; ++outer) {
        const float* run = call.weight.data() + (outer * axis.channels + channel) * axis.inner;
        greatest[channel] = std::max(greatest[channel], variant(run, axis.inner));
      }
  });
  return greatest;
}

// On the caller's thread: weights with short runs and no scale yet are small, or rare.
std::vector<MagnitudeBits> greatest_of_short_runs(const FakeQuantInt8PerChannel& call,
                                                  const Execution& execution) {
  const slots::ChannelAxis& axis = call.axis;
  auto& variant = raise_variants.at(execution.instructions);
  const std::size_t period = periods_of(axis).elements();
  std::vector<MagnitudeBits> of_period(period, 0);
  for (std::size_t begin = 0; begin < call.weight.size(); begin += period)
    variant(call.weight.data() + begin, std::min(period, call.weight.size() - begin),
            of_period.data());
  std::vector<MagnitudeBits> greatest(axis.channels, 0);
  for (std::size_t i = 0; i < period; ++i) {
    MagnitudeBits& of_channel = greatest[axis.channel_of(i)];
    of_channel = std::max(of_channel, of_period[i]);
  }
  return greatest;
}

std::vector<float> scales_from(const FakeQuantInt8PerChannel& call, const Execution& execution) {
  const std::vector<MagnitudeBits> greatest = has_long_runs(call.axis)
                                                  ? greatest_of_long_runs(call, execution)
                                                  : greatest_of_short_runs(call, execution);
  std::vector<float> scales(greatest.size());
  for (std::size_t i = 0; i < scales.size(); ++i)
    scales[i] = scale_from(greatest[i]);
  return scales;
}

// Channel after channel: the second look at a channel finds it in the cache.
void run_whole_channels(const FakeQuantInt8PerChannel& call,
                        const Elements& all,
                        const Execution& execution) {
  const std::size_t inner = call.axis.inner;
  auto& greatest = greatest_variants.at(execution.instructions);
  auto& variant = per_channel_variants.at(execution.instructions);
  const Units units{.count = call.axis.channels, .elements = inner};
  for_each_range(units, execution.workers, [&](std::size_t first, std::size_t last) {
    for (std::size_t channel = first; channel < last; ++channel) {
      const Elements elements = all.part(channel * inner, inner);
      const float scale = scale_from(greatest(elements.x, inner));
      variant(elements, {&scale, 1});
    }
  });
}

void run_per_channel(FakeQuantInt8PerChannel call,
                     const Elements& all,
                     const Execution& execution) {
  call.axis = slots::joined(call.axis);
  LYK_CHECK(call.weight.size() == call.axis.elements());
  LYK_CHECK(call.scale.empty() || call.scale.size() == call.axis.channels);
  LYK_CHECK(call.scalar_division == slots::ScalarDivision::ieee);
  LYK_CHECK(call.overflow == slots::CodeOverflow::lowest);
  if (call.weight.empty())
    return;
  const StandardArithmetic arithmetic;
  const bool is_dynamic = call.scale.empty();
  if (is_dynamic && call.axis.outer == 1 && has_long_runs(call.axis))
    return run_whole_channels(call, all, execution);
  std::vector<float> made;
  if (is_dynamic)
    made = scales_from(call, execution);
  auto& variant = per_channel_variants.at(execution.instructions);
  for_each_stretch(call.axis, is_dynamic ? made : call.scale, execution.workers,
                   [&](const Stretch& stretch) {
                     variant(all.part(stretch.begin, stretch.count), stretch.scales);
                   });
}

}  // namespace

void fake_quant_int8_affine(const slots::FakeQuantInt8Affine& call,
                            std::span<float> output,
                            const Execution& execution) {
  LYK_CHECK(output.size() == call.x.size());
  run_affine(call, {.x = call.x.data(), .to = output.data(), .count = output.size()}, execution);
}

void fake_quant_int8_affine_backward(const slots::FakeQuantInt8Affine& call,
                                     std::span<const float> grad_output,
                                     std::span<float> grad_x,
                                     const Execution& execution) {
  LYK_CHECK(grad_output.size() == call.x.size());
  LYK_CHECK(grad_x.size() == call.x.size());
  run_affine(call,
             {.x = call.x.data(),
              .grad_output = grad_output.data(),
              .to = grad_x.data(),
              .count = grad_x.size()},
             execution);
}

void fake_quant_int8_per_channel(const FakeQuantInt8PerChannel& call,
                                 std::span<float> output,
                                 const Execution& execution) {
  LYK_CHECK(output.size() == call.weight.size());
  run_per_channel(call, {.x = call.weight.data(), .to = output.data(), .count = output.size()},
                  execution);
}

void fake_quant_int8_per_channel_backward(const FakeQuantInt8PerChannel& call,
                                          std::span<const float> grad_output,
                                          std::span<float> grad_weight,
                                          const Execution& execution) {
  LYK_CHECK(grad_output.size() == call.weight.size());
  LYK_CHECK(grad_weight.size() == call.weight.size());
  run_per_channel(call,
                  {.x = call.weight.data(),
                   .grad_output = grad_output.data(),
                   .to = grad_weight.data(),
                   .count = grad_weight.size()},
                  execution);
}

}  // namespace lyk::cpu

#endif  // HWY_ONCE
