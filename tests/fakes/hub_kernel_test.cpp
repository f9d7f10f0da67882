// The arithmetic of hub_kernel/, compiled for the host: the forward against a plain loop over every
// cell, the backward against finite differences. How blocks add up is for a device to show.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

// What a host compiler lacks of CUDA.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): CUDA's names
#define __device__
static float __fmaf_rn(float a, float b, float c) {
  return std::fmaf(a, b, c);
}
static double __fma_rn(double a, double b, double c) {
  return std::fma(a, b, c);
}
static float __fmul_rn(float a, float b) {
  return a * b;
}
static double __dmul_rn(double a, double b) {
  return a * b;
}
template <typename T>
static void atomicAdd(T* target, T value) {
  *target += value;
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
using std::floor;

#include <deform_attn_device.cuh>

namespace {

using deform_attn::Inputs;
using deform_attn::Level;
using deform_attn::Place;
using deform_attn::Sizes;

// Two levels of 6 x 7 and 3 x 2 cells; locations reach past every border.
struct Case {
  Sizes sizes{
      .batch = 2, .spatial = 48, .heads = 3, .channels = 5, .levels = 2, .queries = 4, .points = 3};
  std::array<std::int64_t, 4> shapes{6, 7, 3, 2};
  std::array<std::int64_t, 2> starts{0, 42};
  std::vector<double> value, locations, weights, gradient;

  Case() {
    std::mt19937 random(3);
    const auto fill = [&](int count) {
      std::uniform_real_distribution<double> number(-0.2, 1.2);
      std::vector<double> numbers(static_cast<std::size_t>(count));
      std::generate(numbers.begin(), numbers.end(), [&] { return number(random); });
      return numbers;
    };
    value = fill(sizes.batch * sizes.spatial * sizes.heads * sizes.channels);
    locations = fill(2 * samples());
    weights = fill(samples());
    gradient = fill(outputs());
  }

  int outputs() const { return sizes.batch * sizes.queries * sizes.heads * sizes.channels; }
  int samples() const {
    return sizes.batch * sizes.queries * sizes.heads * sizes.levels * sizes.points;
  }
  Inputs<double> inputs() const {
    return {value.data(), shapes.data(), starts.data(), locations.data(), weights.data()};
  }

  // sum(gradient * output), whose derivatives the backward computes.
  double scalar() const {
    double sum = 0;
    for (int index = 0; index < outputs(); ++index) {
      sum += gradient[static_cast<std::size_t>(index)] *
             deform_attn::forward_value(inputs(), sizes, index);
    }
    return sum;
  }
};

// One output as the definition has it: every cell of every level, weighted by its distance.
double plain_output(const Case& c, int index) {
  const Place place(index, c.sizes);
  double sum = 0;
  for (int l = 0; l < c.sizes.levels; ++l) {
    const auto level = static_cast<std::size_t>(l);
    const std::int64_t height = c.shapes[2 * level];
    const std::int64_t width = c.shapes[2 * level + 1];
    for (int p = 0; p < c.sizes.points; ++p) {
      const auto k =
          static_cast<std::size_t>((place.sample * c.sizes.levels + l) * c.sizes.points + p);
      const double y = c.locations[2 * k + 1] * static_cast<double>(height) - 0.5;
      const double x = c.locations[2 * k] * static_cast<double>(width) - 0.5;
      for (std::int64_t row = 0; row < height; ++row) {
        for (std::int64_t column = 0; column < width; ++column) {
          const double near = std::max(0.0, 1 - std::fabs(y - static_cast<double>(row))) *
                              std::max(0.0, 1 - std::fabs(x - static_cast<double>(column)));
          const std::int64_t cell =
              place.batch * c.sizes.spatial + c.starts[level] + row * width + column;
          const auto at = (cell * c.sizes.heads + place.head) * c.sizes.channels + place.channel;
          sum += c.weights[k] * near * c.value[static_cast<std::size_t>(at)];
        }
      }
    }
  }
  return sum;
}

TEST(HubKernel, ForwardIsTheWeightedSumOverAllCells) {
  const Case c;
  for (int index = 0; index < c.outputs(); ++index) {
    EXPECT_NEAR(deform_attn::forward_value(c.inputs(), c.sizes, index), plain_output(c, index),
                1e-12);
  }
}

struct Gradients {
  std::vector<double> value, locations, weights;
};

Gradients gradients(const Case& c) {
  Gradients sums{std::vector<double>(c.value.size()), std::vector<double>(c.locations.size()),
                 std::vector<double>(c.weights.size())};
  for (int index = 0; index < c.outputs(); ++index) {
    const Place place(index, c.sizes);
    int sample = place.sample * c.sizes.levels * c.sizes.points;
    for (int l = 0; l < c.sizes.levels; ++l) {
      const Level level(place, c.sizes, c.shapes.data(), c.starts.data(), l);
      for (int p = 0; p < c.sizes.points; ++p, ++sample) {
        const auto at = static_cast<std::size_t>(sample);
        const auto one = deform_attn::backward_point(c.inputs(), level, sample,
                                                     c.gradient[static_cast<std::size_t>(index)],
                                                     sums.value.data());
        sums.locations[2 * at] += one.location_x;
        sums.locations[2 * at + 1] += one.location_y;
        sums.weights[at] += one.weight;
      }
    }
  }
  return sums;
}

void expect_slopes(Case* c, std::vector<double> Case::*input, const std::vector<double>& expected) {
  constexpr double step = 1e-6;
  for (std::size_t at = 0; at < expected.size(); ++at) {
    double& number = (c->*input)[at];
    const double honest = number;
    number = honest + step;
    const double above = c->scalar();
    number = honest - step;
    const double below = c->scalar();
    number = honest;
    EXPECT_NEAR((above - below) / (2 * step), expected[at], 1e-6) << at;
  }
}

TEST(HubKernel, BackwardIsTheSlopeOfTheForward) {
  Case c;
  const Gradients sums = gradients(c);
  expect_slopes(&c, &Case::value, sums.value);
  expect_slopes(&c, &Case::locations, sums.locations);
  expect_slopes(&c, &Case::weights, sums.weights);
}

}  // namespace
