#include "tests/cuda/deform_model.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace lyk::test {
namespace {

// One of the four cells around a point.
struct Tap {
  bool exists = false;
  std::size_t cell = 0;
  float weight = 0;
  float slope_y = 0;
  float slope_x = 0;
};

struct Sample {
  bool counts = false;
  float height = 0;
  float width = 0;
  float weight = 0;
  std::array<Tap, 4> taps{};
};

// A row is a (batch, query, head).
struct Place {
  std::size_t row;
  std::size_t batch;
  std::size_t head;
};

Place place_of(const slots::MsDeformAttnSizes& sizes, std::size_t row) {
  return {row, row / sizes.heads / sizes.queries, row % sizes.heads};
}

Sample sample_of(const DeformTensors& tensors, std::size_t row, std::size_t of_row) {
  const std::size_t level = of_row / tensors.sizes.points;
  const std::size_t number = row * tensors.sizes.levels * tensors.sizes.points + of_row;
  const auto rows = tensors.shapes[2 * level];
  const auto columns = tensors.shapes[2 * level + 1];
  std::int64_t first_cell = 0;
  for (std::size_t i = 0; i < level; ++i)
    first_cell += tensors.shapes[2 * i] * tensors.shapes[2 * i + 1];

  Sample out{.height = static_cast<float>(rows),
             .width = static_cast<float>(columns),
             .weight = tensors.weights[number]};
  const float y = std::fma(tensors.locations[2 * number + 1], out.height, -0.5F);
  const float x = std::fma(tensors.locations[2 * number], out.width, -0.5F);
  out.counts = y > -1 && x > -1 && y < out.height && x < out.width;
  if (!out.counts)
    return out;
  const float ly = y - std::floor(y);
  const float lx = x - std::floor(x);
  const float hy = 1 - ly;
  const float hx = 1 - lx;
  const std::array weights{hy * hx, hy * lx, ly * hx, ly * lx};
  const std::array slopes_y{-hx, -lx, hx, lx};
  const std::array slopes_x{-hy, hy, -ly, ly};
  for (std::size_t tap = 0; tap < 4; ++tap) {
    const auto row_of_tap = static_cast<std::int64_t>(std::floor(y)) + (tap >= 2 ? 1 : 0);
    const auto column = static_cast<std::int64_t>(std::floor(x)) + (tap % 2 != 0 ? 1 : 0);
    const bool exists = row_of_tap >= 0 && row_of_tap < rows && column >= 0 && column < columns;
    out.taps[tap] = {
        .exists = exists,
        .cell = exists ? static_cast<std::size_t>(first_cell + row_of_tap * columns + column) : 0,
        .weight = weights[tap],
        .slope_y = slopes_y[tap],
        .slope_x = slopes_x[tap]};
  }
  return out;
}

// Where the channels of a head lie in value.
std::size_t head_of_cell(const slots::MsDeformAttnSizes& sizes,
                         const Place& place,
                         std::size_t cell) {
  return ((place.batch * sizes.cells + cell) * sizes.heads + place.head) * sizes.channels;
}

// ---- locations and weights --------------------------------------------------------------------

struct PointGradient {
  float weight = 0;
  float x = 0;
  float y = 0;
};

// Adds what one channel contributes.
void add_channel(const Sample& sample,
                 const std::array<float, 4>& cells,
                 float gradient,
                 PointGradient& sums) {
  float sum = sample.taps[1].weight * cells[1];
  for (const std::size_t tap : {0U, 2U, 3U})
    sum = std::fma(sample.taps[tap].weight, cells[tap], sum);
  float slope_y = 0;
  float slope_x = 0;
  for (std::size_t tap = 0; tap < 4; ++tap) {
    slope_y = std::fma(sample.taps[tap].slope_y, cells[tap], slope_y);
    slope_x = std::fma(sample.taps[tap].slope_x, cells[tap], slope_x);
  }
  const float scaled = gradient * sample.weight;
  const float of_sum = gradient * sum;
  const float of_x = sample.width * slope_x;
  const float of_y = sample.height * slope_y;
  sums.weight += of_sum;
  sums.x += of_x * scaled;
  sums.y += of_y * scaled;
}

// Each four neighbouring channels are a sum, over all chunks of 128; then neighbouring sums are
// added, and those of them.
PointGradient gradient_of(const DeformTensors& tensors, const Place& place, const Sample& sample) {
  const std::size_t channels = tensors.sizes.channels;
  std::vector<PointGradient> sums(std::min<std::size_t>(std::bit_ceil((channels + 3) / 4), 32));
  for (std::size_t channel = 0; channel < channels; ++channel) {
    std::array<float, 4> cells{};
    for (std::size_t tap = 0; tap < 4; ++tap)
      if (sample.taps[tap].exists)
        cells[tap] =
            tensors.value[head_of_cell(tensors.sizes, place, sample.taps[tap].cell) + channel];
    add_channel(sample, cells, tensors.grad_output[place.row * channels + channel],
                sums[channel / 4 % sums.size()]);
  }
  for (std::size_t distance = 1; distance < sums.size(); distance *= 2)
    for (std::size_t i = 0; i < sums.size(); i += 2 * distance) {
      sums[i].weight += sums[i + distance].weight;
      sums[i].x += sums[i + distance].x;
      sums[i].y += sums[i + distance].y;
    }
  return sums.front();
}

// ---- value ------------------------------------------------------------------------------------

// What a point adds to a cell.
struct Share {
  float tap_weight;
  float weight;
  std::span<const float> gradient;  // of the point's row

  [[nodiscard]] float term(std::size_t channel) const {
    const float scaled = gradient[channel] * weight;
    return tap_weight * scaled;
  }
};

// The power of two above all terms, as far as the kernel knows: from the greatest channels.
int exponent_above(const std::vector<Share>& shares) {
  constexpr int smallest = -106;
  int exponent = smallest;
  for (const Share& share : shares) {
    float greatest = 0;
    for (const float gradient : share.gradient)
      greatest = std::max(greatest, std::fabs(gradient));
    const float bound = std::fabs(share.weight * greatest);
    exponent = std::max(exponent, bound == 0 ? smallest : std::ilogb(bound));
  }
  return exponent + 1 + static_cast<int>(std::bit_width(shares.size() >> 18));
}

// As whole numbers, which have no order.
float sum_of_channel(const std::vector<Share>& shares, std::size_t channel, int above) {
  constexpr int bits = 44;
  std::int64_t sum = 0;
  for (const Share& share : shares)
    sum += std::llrint(std::ldexp(double{share.term(channel)}, bits - above));
  return static_cast<float>(sum) * std::ldexp(1.0F, above - bits);
}

// Of every (batch, cell, head), in the order of value.
using Shares = std::vector<std::vector<Share>>;

std::vector<float> value_gradient(const Shares& shares, std::size_t channels) {
  std::vector<float> out;
  out.reserve(shares.size() * channels);
  for (const std::vector<Share>& of_head : shares) {
    const int above = exponent_above(of_head);
    for (std::size_t channel = 0; channel < channels; ++channel)
      out.push_back(sum_of_channel(of_head, channel, above));
  }
  return out;
}

}  // namespace

DeformGradients backward_of_model(const DeformTensors& tensors) {
  const slots::MsDeformAttnSizes& sizes = tensors.sizes;
  DeformGradients out;
  Shares shares(sizes.batch * sizes.cells * sizes.heads);
  for (std::size_t row = 0; row < sizes.batch * sizes.queries * sizes.heads; ++row) {
    const Place place = place_of(sizes, row);
    const auto gradient =
        std::span{tensors.grad_output}.subspan(row * sizes.channels, sizes.channels);
    for (std::size_t of_row = 0; of_row < sizes.levels * sizes.points; ++of_row) {
      const Sample sample = sample_of(tensors, row, of_row);
      const PointGradient point =
          sample.counts ? gradient_of(tensors, place, sample) : PointGradient{};
      out.weights.push_back(point.weight);
      out.locations.push_back(point.x);
      out.locations.push_back(point.y);
      for (const Tap& tap : sample.taps)
        if (tap.exists)
          shares[head_of_cell(sizes, place, tap.cell) / sizes.channels].push_back(
              {tap.weight, sample.weight, gradient});
    }
  }
  out.value = value_gradient(shares, sizes.channels);
  return out;
}

}  // namespace lyk::test
