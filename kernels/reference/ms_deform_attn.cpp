#include "kernels/reference/ms_deform_attn.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "proto/check.hpp"

namespace lyk::reference {
namespace {

using slots::MsDeformAttn;
using slots::MsDeformAttnGradients;
using slots::MsDeformAttnSizes;
using slots::ValueStrides;

// One of the four cells around a sampling point.
template <typename Scalar>
struct Tap {
  bool is_inside = false;
  std::size_t cell = 0;  // among the cells of all levels, if it is inside
  Scalar weight = 0;     // of the bilinear interpolation
  Scalar slope_y = 0;    // of that weight, per row and per column
  Scalar slope_x = 0;
};

template <typename Scalar>
struct Sample {
  std::size_t index = 0;  // among all samples, which is that of its weight
  std::size_t batch = 0;
  std::size_t head = 0;
  std::size_t output = 0;  // place of channel 0 in the output
  Scalar height = 0;
  Scalar width = 0;
  bool counts = false;
  std::array<Tap<Scalar>, 4> taps;  // (y, x), (y, x + 1), (y + 1, x), (y + 1, x + 1)
};

struct Level {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t first_cell = 0;
};

template <typename Scalar>
void find_taps(const Level& level, Scalar location_x, Scalar location_y, Sample<Scalar>& sample) {
  constexpr auto half = static_cast<Scalar>(0.5);
  sample.height = static_cast<Scalar>(level.height);
  sample.width = static_cast<Scalar>(level.width);
  const Scalar y = std::fma(location_y, sample.height, -half);
  const Scalar x = std::fma(location_x, sample.width, -half);
  const bool has_cells = level.height > 0 && level.width > 0;
  sample.counts = has_cells && y > -1 && x > -1 && y < sample.height && x < sample.width;
  if (!sample.counts)
    return;
  const auto row = static_cast<std::int64_t>(std::floor(y));
  const auto column = static_cast<std::int64_t>(std::floor(x));
  const Scalar ly = y - std::floor(y);
  const Scalar lx = x - std::floor(x);
  const Scalar hy = 1 - ly;
  const Scalar hx = 1 - lx;
  const auto tap = [&level](std::int64_t tap_row, std::int64_t tap_column, Tap<Scalar> filled) {
    filled.is_inside =
        tap_row >= 0 && tap_row < level.height && tap_column >= 0 && tap_column < level.width;
    if (filled.is_inside)
      filled.cell = static_cast<std::size_t>(level.first_cell + tap_row * level.width + tap_column);
    return filled;
  };
  sample.taps = {tap(row, column, {.weight = hy * hx, .slope_y = -hx, .slope_x = -hy}),
                 tap(row, column + 1, {.weight = hy * lx, .slope_y = -lx, .slope_x = hy}),
                 tap(row + 1, column, {.weight = ly * hx, .slope_y = hx, .slope_x = -ly}),
                 tap(row + 1, column + 1, {.weight = ly * lx, .slope_y = lx, .slope_x = ly})};
}

// Calls `visit` with every sample, in the order of their weights in memory.
template <typename Scalar, typename Visit>
void for_each_sample(const MsDeformAttn<Scalar>& call, const Visit& visit) {
  const MsDeformAttnSizes& sizes = call.sizes;
  Sample<Scalar> sample;
  for (std::size_t row = 0; row < sizes.batch * sizes.queries * sizes.heads; ++row) {
    sample.batch = row / (sizes.queries * sizes.heads);
    sample.head = row % sizes.heads;
    sample.output = row * sizes.channels;
    Level level;
    for (std::size_t l = 0; l < sizes.levels; ++l) {
      level.height = call.spatial_shapes[2 * l];
      level.width = call.spatial_shapes[2 * l + 1];
      for (std::size_t p = 0; p < sizes.points; ++p) {
        find_taps(level, call.locations[2 * sample.index], call.locations[2 * sample.index + 1],
                  sample);
        visit(sample);
        ++sample.index;
      }
      level.first_cell += level.height * level.width;
    }
  }
}

template <typename Scalar>
void check_sizes(const MsDeformAttn<Scalar>& call) {
  const MsDeformAttnSizes& sizes = call.sizes;
  LYK_CHECK(call.spatial_shapes.size() == 2 * sizes.levels);
  LYK_CHECK(call.locations.size() == 2 * sizes.samples());
  LYK_CHECK(call.weights.size() == sizes.samples());
  std::int64_t cells = 0;
  for (std::size_t l = 0; l < sizes.levels; ++l)
    cells += call.spatial_shapes[2 * l] * call.spatial_shapes[2 * l + 1];
  LYK_CHECK(cells == static_cast<std::int64_t>(sizes.cells));
}

std::size_t output_elements(const MsDeformAttnSizes& sizes) {
  return sizes.batch * sizes.queries * sizes.heads * sizes.channels;
}

struct ValueIndex {
  std::size_t batch = 0;
  std::size_t cell = 0;
  std::size_t head = 0;
  std::size_t channel = 0;
};

std::ptrdiff_t place_of(const ValueIndex& index, const ValueStrides& strides) {
  return static_cast<std::ptrdiff_t>(index.batch) * strides.batch +
         static_cast<std::ptrdiff_t>(index.cell) * strides.cell +
         static_cast<std::ptrdiff_t>(index.head) * strides.head +
         static_cast<std::ptrdiff_t>(index.channel) * strides.channel;
}

// The four cells of a sample in one channel, 0 outside.
template <typename Scalar>
std::array<Scalar, 4> values_of(const MsDeformAttn<Scalar>& call,
                                const Sample<Scalar>& sample,
                                std::size_t channel) {
  std::array<Scalar, 4> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Tap<Scalar>& tap = sample.taps[i];
    if (tap.is_inside)
      values[i] =
          call.value[place_of({sample.batch, tap.cell, sample.head, channel}, call.value_strides)];
  }
  return values;
}

// The second cell comes first: that is the order in which the compiled kernel adds.
template <typename Scalar>
Scalar interpolate(const std::array<Tap<Scalar>, 4>& taps, const std::array<Scalar, 4>& values) {
  Scalar sum = taps[1].weight * values[1];
  sum = std::fma(taps[0].weight, values[0], sum);
  sum = std::fma(taps[2].weight, values[2], sum);
  return std::fma(taps[3].weight, values[3], sum);
}

template <typename Scalar>
void forward(const MsDeformAttn<Scalar>& call, std::span<Scalar> output) {
  check_sizes(call);
  LYK_CHECK(output.size() == output_elements(call.sizes));
  std::ranges::fill(output, Scalar{0});
  for_each_sample(call, [&](const Sample<Scalar>& sample) {
    if (!sample.counts)
      return;
    for (std::size_t channel = 0; channel < call.sizes.channels; ++channel) {
      const Scalar value = interpolate(sample.taps, values_of(call, sample, channel));
      Scalar& sum = output[sample.output + channel];
      sum = std::fma(call.weights[sample.index], value, sum);
    }
  });
}

template <typename Scalar>
void set_to_zero(const MsDeformAttnSizes& sizes, const MsDeformAttnGradients<Scalar>& gradients) {
  std::ranges::fill(gradients.locations, Scalar{0});
  std::ranges::fill(gradients.weights, Scalar{0});
  for (std::size_t batch = 0; batch < sizes.batch; ++batch)
    for (std::size_t cell = 0; cell < sizes.cells; ++cell)
      for (std::size_t head = 0; head < sizes.heads; ++head)
        for (std::size_t channel = 0; channel < sizes.channels; ++channel)
          gradients.value[place_of({batch, cell, head, channel}, gradients.value_strides)] = 0;
}

// Adds what one channel of one sample contributes to all three gradients.
template <typename Scalar>
void add_contribution(const MsDeformAttn<Scalar>& call,
                      const Sample<Scalar>& sample,
                      std::size_t channel,
                      Scalar grad_output,
                      const MsDeformAttnGradients<Scalar>& gradients) {
  const std::array<Scalar, 4> values = values_of(call, sample, channel);
  const Scalar scaled = grad_output * call.weights[sample.index];
  Scalar slope_y = 0;
  Scalar slope_x = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Tap<Scalar>& tap = sample.taps[i];
    if (!tap.is_inside)
      continue;
    slope_y = std::fma(tap.slope_y, values[i], slope_y);
    slope_x = std::fma(tap.slope_x, values[i], slope_x);
    const Scalar contribution = tap.weight * scaled;
    gradients
        .value[place_of({sample.batch, tap.cell, sample.head, channel}, gradients.value_strides)] +=
        contribution;
  }
  const Scalar weight_contribution = grad_output * interpolate(sample.taps, values);
  const Scalar x_contribution = (sample.width * slope_x) * scaled;
  const Scalar y_contribution = (sample.height * slope_y) * scaled;
  gradients.weights[sample.index] += weight_contribution;
  gradients.locations[2 * sample.index] += x_contribution;
  gradients.locations[2 * sample.index + 1] += y_contribution;
}

template <typename Scalar>
void backward(const MsDeformAttn<Scalar>& call,
              std::span<const Scalar> grad_output,
              const MsDeformAttnGradients<Scalar>& gradients) {
  check_sizes(call);
  LYK_CHECK(grad_output.size() == output_elements(call.sizes));
  LYK_CHECK(gradients.locations.size() == call.locations.size());
  LYK_CHECK(gradients.weights.size() == call.weights.size());
  set_to_zero(call.sizes, gradients);
  for_each_sample(call, [&](const Sample<Scalar>& sample) {
    if (!sample.counts)
      return;
    for (std::size_t channel = 0; channel < call.sizes.channels; ++channel)
      add_contribution(call, sample, channel, grad_output[sample.output + channel], gradients);
  });
}

}  // namespace

void ms_deform_attn(const MsDeformAttn<float>& call, std::span<float> output) {
  forward(call, output);
}

void ms_deform_attn(const MsDeformAttn<double>& call, std::span<double> output) {
  forward(call, output);
}

void ms_deform_attn_backward(const MsDeformAttn<float>& call,
                             std::span<const float> grad_output,
                             const MsDeformAttnGradients<float>& gradients) {
  backward(call, grad_output, gradients);
}

void ms_deform_attn_backward(const MsDeformAttn<double>& call,
                             std::span<const double> grad_output,
                             const MsDeformAttnGradients<double>& gradients) {
  backward(call, grad_output, gradients);
}

}  // namespace lyk::reference
