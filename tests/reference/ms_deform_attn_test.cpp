#include "kernels/reference/ms_deform_attn.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "tests/reference/bits.hpp"

namespace lyk::reference::test {
namespace {

using slots::MsDeformAttnSizes;
using slots::ValueStrides;

// A case with its memory: random, but never with a pixel coordinate near an integer, where the
// gradient of a location jumps and finite differences say nothing.
template <typename Scalar>
struct Problem {
  MsDeformAttnSizes sizes = {};
  std::vector<std::int64_t> shapes = {};
  std::vector<Scalar> value = {};
  std::vector<Scalar> locations = {};
  std::vector<Scalar> weights = {};
  ValueStrides strides = {};

  slots::MsDeformAttn<Scalar> call() const {
    return {.sizes = sizes,
            .value = value.data(),
            .value_strides = strides,
            .spatial_shapes = shapes,
            .locations = locations,
            .weights = weights};
  }
  std::size_t output_size() const {
    return sizes.batch * sizes.queries * sizes.heads * sizes.channels;
  }
};

template <typename Scalar>
struct Gradients {
  std::vector<Scalar> value;
  std::vector<Scalar> locations;
  std::vector<Scalar> weights;
};

template <typename Scalar>
std::vector<Scalar> forward(const Problem<Scalar>& problem) {
  std::vector<Scalar> output(problem.output_size(), 7);
  ms_deform_attn(problem.call(), std::span{output});
  return output;
}

template <typename Scalar>
Gradients<Scalar> backward(const Problem<Scalar>& problem, const std::vector<Scalar>& grad_output) {
  Gradients<Scalar> gradients{.value = std::vector<Scalar>(problem.value.size(), 7),
                              .locations = std::vector<Scalar>(problem.locations.size(), 7),
                              .weights = std::vector<Scalar>(problem.weights.size(), 7)};
  ms_deform_attn_backward(problem.call(), std::span{grad_output},
                          {.value = gradients.value.data(),
                           .value_strides = problem.strides,
                           .locations = gradients.locations,
                           .weights = gradients.weights});
  return gradients;
}

Problem<double> random_problem(std::size_t channels, unsigned seed) {
  Problem<double> problem{.sizes = {.batch = 2,
                                    .cells = 4 * 6 + 2 * 3 + 1,
                                    .heads = 2,
                                    .channels = channels,
                                    .queries = 3,
                                    .levels = 3,
                                    .points = 2},
                          .shapes = {4, 6, 2, 3, 1, 1}};
  problem.strides = dense_value_strides(problem.sizes);
  std::mt19937 generator{seed};
  std::uniform_real_distribution<double> unit{0, 1};
  const MsDeformAttnSizes& sizes = problem.sizes;
  problem.value.resize(sizes.batch * sizes.cells * sizes.heads * channels);
  for (double& value : problem.value)
    value = unit(generator) - 0.5;
  problem.weights.resize(sizes.samples());
  for (double& weight : problem.weights)
    weight = unit(generator);
  for (std::size_t sample = 0; sample < sizes.samples(); ++sample) {
    const std::size_t level = sample / sizes.points % sizes.levels;
    for (const std::size_t axis : {1U, 0U}) {  // x has the width
      const auto cells = static_cast<double>(problem.shapes[2 * level + axis]);
      const double whole =
          std::floor(unit(generator) * (cells + 3)) - 2;  // a little outside as well
      const double fraction = 0.1 + 0.8 * unit(generator);
      problem.locations.push_back((whole + fraction + 0.5) / cells);
    }
  }
  return problem;
}

template <typename Scalar>
Problem<Scalar> one_level(std::int64_t height,
                          std::int64_t width,
                          std::vector<Scalar> value,
                          std::vector<Scalar> locations) {
  const std::size_t queries = locations.size() / 2;
  Problem<Scalar> problem{.sizes = {.batch = 1,
                                    .cells = static_cast<std::size_t>(height * width),
                                    .heads = 1,
                                    .channels = 1,
                                    .queries = queries,
                                    .levels = 1,
                                    .points = 1},
                          .shapes = {height, width},
                          .value = std::move(value),
                          .locations = std::move(locations)};
  problem.strides = dense_value_strides(problem.sizes);
  problem.weights.assign(problem.sizes.queries, 1);
  return problem;
}

double dot(const std::vector<double>& left, const std::vector<double>& right) {
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i)
    sum += left[i] * right[i];
  return sum;
}

std::vector<double> random_direction(std::size_t size, unsigned seed) {
  std::mt19937 generator{seed};
  std::normal_distribution<double> distribution;
  std::vector<double> direction(size);
  for (double& component : direction)
    component = distribution(generator);
  return direction;
}

// The slope of grad_output . forward along `direction` of `varied`, by central differences.
double slope(Problem<double> problem,
             std::vector<double> Problem<double>::*varied,
             const std::vector<double>& direction,
             const std::vector<double>& grad_output) {
  constexpr double step = 1e-6;
  const std::vector<double> middle = problem.*varied;
  double difference = 0;
  for (const double sign : {1.0, -1.0}) {
    for (std::size_t i = 0; i < middle.size(); ++i)
      (problem.*varied)[i] = middle[i] + sign * step * direction[i];
    difference += sign * dot(grad_output, forward(problem));
  }
  return difference / (2 * step);
}

TEST(MsDeformAttn, InterpolatesBetweenTheCentresOfCells) {
  // 2 x 2 cells 1 2 / 3 4: their centres are at 0.25 and 0.75, x before y.
  const auto problem = one_level<float>(
      2, 2, {1, 2, 3, 4},
      {0.25F, 0.25F, 0.75F, 0.25F, 0.25F, 0.75F, 0.75F, 0.75F, 0.5F, 0.5F, 0.5F, 0.25F});
  EXPECT_EQ(forward(problem), (std::vector<float>{1, 2, 3, 4, 2.5F, 1.5F}));
}

TEST(MsDeformAttn, FadesToZeroOutside) {
  const auto problem = one_level<float>(
      1, 2, {1, 1}, {0.0F, 0.5F, -0.25F, 0.5F, 1.0F, 0.5F, 0.5F, 0.0F, 5.0F, 0.5F, -1e30F, 1e30F});
  EXPECT_EQ(forward(problem), (std::vector<float>{0.5F, 0, 0.5F, 0.5F, 0, 0}));
}

TEST(MsDeformAttn, SumsLevelsAndPointsByTheirWeights) {
  Problem<float> problem{.sizes = {.batch = 1,
                                   .cells = 2,
                                   .heads = 1,
                                   .channels = 2,
                                   .queries = 1,
                                   .levels = 2,
                                   .points = 2},
                         .shapes = {1, 1, 1, 1},
                         .value = {1, 10, 100, 1000},
                         .locations = std::vector<float>(8, 0.5F),
                         .weights = {1, 2, 3, 4}};
  problem.strides = dense_value_strides(problem.sizes);
  EXPECT_EQ(forward(problem), (std::vector<float>{703, 7030}));
  const Gradients<float> gradients = backward(problem, {1, 2});
  EXPECT_EQ(gradients.value, (std::vector<float>{3, 6, 7, 14}));
  EXPECT_EQ(gradients.weights, (std::vector<float>{21, 21, 2100, 2100}));
}

TEST(MsDeformAttn, ASampleThatDoesNotCountIsNeitherReadNorGivenAGradient) {
  using lyk::test::infinity;
  using lyk::test::nan;
  auto problem = one_level<float>(2, 2, {1, 2, 3, 4},
                                  {nan, 0.5F, 0.5F, infinity, -infinity, 0.5F, -0.25F, 0.5F, 2, 2});
  problem.weights = {1, 1, 1, nan, infinity};
  EXPECT_EQ(forward(problem), std::vector<float>(5, 0));
  const Gradients<float> gradients = backward(problem, std::vector<float>(5, nan));
  EXPECT_EQ(gradients.value, std::vector<float>(4, 0));
  EXPECT_EQ(gradients.locations, std::vector<float>(10, 0));
  EXPECT_EQ(gradients.weights, std::vector<float>(5, 0));
}

TEST(MsDeformAttn, ALevelWithoutCellsAddsNothingWhateverItsWeight) {
  for (const float weight : {lyk::test::infinity, lyk::test::nan})
    for (const auto& empty : {std::array<std::int64_t, 2>{0, 5}, {5, 0}, {0, 0}}) {
      auto problem = one_level<float>(1, 1, {3}, {0.5F, 0.5F});
      problem.sizes.levels = 2;
      problem.shapes = {empty[0], empty[1], 1, 1};
      problem.locations = {0.5F, 0.5F, 0.5F, 0.5F};
      problem.weights = {weight, 1};
      EXPECT_EQ(forward(problem), std::vector<float>{3});
      const Gradients<float> gradients = backward(problem, {2});
      EXPECT_EQ(gradients.value, std::vector<float>{2});
      EXPECT_EQ(gradients.locations, (std::vector<float>{0, 0, -6, -6}));
      EXPECT_EQ(gradients.weights, (std::vector<float>{0, 6}));
    }
}

// One sample within a level of 3 x 3 cells, operation by operation: what it gives and adds to the
// gradients.
struct Step {
  float value;
  std::array<float, 4> cells;
  float location_x;
  float location_y;
};

Step step_of(const float* level, float location_x, float location_y, float scaled) {
  const float y = std::fma(location_y, 3.0F, -0.5F);
  const float x = std::fma(location_x, 3.0F, -0.5F);
  const float ly = y - std::floor(y);
  const float lx = x - std::floor(x);
  const float hy = 1 - ly;
  const float hx = 1 - lx;
  const float* first = level + 3 * static_cast<int>(y) + static_cast<int>(x);
  const std::array<float, 4> v{first[0], first[1], first[3], first[4]};
  const std::array<float, 4> w{hy * hx, hy * lx, ly * hx, ly * lx};
  const float slope_y = std::fma(lx, v[3], std::fma(hx, v[2], std::fma(-lx, v[1], -hx * v[0])));
  const float slope_x = std::fma(ly, v[3], std::fma(-ly, v[2], std::fma(hy, v[1], -hy * v[0])));
  return {.value = std::fma(w[3], v[3], std::fma(w[2], v[2], std::fma(w[0], v[0], w[1] * v[1]))),
          .cells = {w[0] * scaled, w[1] * scaled, w[2] * scaled, w[3] * scaled},
          .location_x = (3 * slope_x) * scaled,
          .location_y = (3 * slope_y) * scaled};
}

// Three channels of 3 x 3 cells and one query with two points, all of them inside.
Problem<float> two_points_inside(unsigned seed) {
  Problem<float> problem =
      one_level<float>(3, 3, lyk::test::normal_floats(27, seed), std::vector<float>(4));
  problem.sizes.channels = 3;
  problem.sizes.queries = 1;
  problem.sizes.points = 2;
  problem.strides = {.batch = 27, .cell = 1, .head = 27, .channel = 9};
  std::mt19937 generator{seed};
  std::uniform_real_distribution<float> inside{0.2F, 0.8F};
  for (float& location : problem.locations)
    location = inside(generator);
  problem.weights = {inside(generator), inside(generator)};
  return problem;
}

TEST(MsDeformAttn, RoundsOncePerOperationInForward) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Problem<float> problem = two_points_inside(seed);
    std::vector<float> expected;
    for (std::size_t channel = 0; channel < 3; ++channel) {
      float sum = 0;
      for (std::size_t point = 0; point < 2; ++point) {
        const Step step = step_of(&problem.value[9 * channel], problem.locations[2 * point],
                                  problem.locations[2 * point + 1], 0);
        sum = std::fma(problem.weights[point], step.value, sum);
      }
      expected.push_back(sum);
    }
    ASSERT_EQ(forward(problem), expected) << seed;
  }
}

TEST(MsDeformAttn, RoundsOncePerOperationInBackwardAndAddsInOrder) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Problem<float> problem = two_points_inside(seed);
    const std::vector<float> grad_output = lyk::test::normal_floats(3, seed + 1000);
    Gradients<float> expected{.value = std::vector<float>(27),
                              .locations = std::vector<float>(4),
                              .weights = std::vector<float>(2)};
    for (std::size_t point = 0; point < 2; ++point) {
      const float location_x = problem.locations[2 * point];
      const float location_y = problem.locations[2 * point + 1];
      const auto row = static_cast<std::size_t>(std::fma(location_y, 3.0F, -0.5F));
      const auto column = static_cast<std::size_t>(std::fma(location_x, 3.0F, -0.5F));
      for (std::size_t channel = 0; channel < 3; ++channel) {
        const float scaled = grad_output[channel] * problem.weights[point];
        const Step step = step_of(&problem.value[9 * channel], location_x, location_y, scaled);
        float* first = &expected.value[9 * channel + 3 * row + column];
        first[0] += step.cells[0];
        first[1] += step.cells[1];
        first[3] += step.cells[2];
        first[4] += step.cells[3];
        expected.locations[2 * point] += step.location_x;
        expected.locations[2 * point + 1] += step.location_y;
        const float product = grad_output[channel] * step.value;
        expected.weights[point] += product;
      }
    }
    const Gradients<float> actual = backward(problem, grad_output);
    ASSERT_EQ(actual.value, expected.value) << seed;
    ASSERT_EQ(actual.locations, expected.locations) << seed;
    ASSERT_EQ(actual.weights, expected.weights) << seed;
  }
}

TEST(MsDeformAttn, GradientsAgreeWithFiniteDifferences) {
  for (const std::size_t channels : {1U, 3U, 30U, 71U}) {
    const Problem<double> problem = random_problem(channels, 11 + static_cast<unsigned>(channels));
    const auto grad_output = random_direction(problem.output_size(), 12);
    const Gradients<double> gradients = backward(problem, grad_output);
    const auto expect_slope = [&](std::vector<double> Problem<double>::*varied,
                                  const std::vector<double>& gradient) {
      const auto direction = random_direction(gradient.size(), 13);
      const double expected = slope(problem, varied, direction, grad_output);
      EXPECT_NEAR(dot(gradient, direction), expected, 1e-6 * (1 + std::fabs(expected))) << channels;
    };
    expect_slope(&Problem<double>::value, gradients.value);
    expect_slope(&Problem<double>::locations, gradients.locations);
    expect_slope(&Problem<double>::weights, gradients.weights);
  }
}

TEST(MsDeformAttn, EachGradientOfALocationAgreesWithAFiniteDifference) {
  const Problem<double> problem = random_problem(2, 21);
  const auto grad_output = random_direction(problem.output_size(), 22);
  const Gradients<double> gradients = backward(problem, grad_output);
  for (std::size_t i = 0; i < problem.locations.size(); ++i) {
    std::vector<double> direction(problem.locations.size());
    direction[i] = 1;
    EXPECT_NEAR(gradients.locations[i],
                slope(problem, &Problem<double>::locations, direction, grad_output), 1e-7)
        << i;
  }
}

TEST(MsDeformAttn, IsLinearInValueAndInWeights) {
  const Problem<double> problem = random_problem(5, 31);
  const auto grad_output = random_direction(problem.output_size(), 32);
  const Gradients<double> gradients = backward(problem, grad_output);
  const double product = dot(grad_output, forward(problem));
  EXPECT_NEAR(dot(gradients.value, problem.value), product, 1e-12);
  EXPECT_NEAR(dot(gradients.weights, problem.weights), product, 1e-12);
}

TEST(MsDeformAttn, ThePermutedLayoutOfValueGivesTheSameBits) {
  const Problem<double> dense = random_problem(5, 41);
  const MsDeformAttnSizes& sizes = dense.sizes;
  // (batch, heads, channels, cells) in memory, seen as (batch, cells, heads, channels).
  Problem<double> permuted = dense;
  const auto cells = static_cast<std::ptrdiff_t>(sizes.cells);
  const auto channels = static_cast<std::ptrdiff_t>(sizes.channels);
  permuted.strides = {.batch = static_cast<std::ptrdiff_t>(sizes.heads) * channels * cells,
                      .cell = 1,
                      .head = channels * cells,
                      .channel = cells};
  const auto place = [&](std::size_t i) {
    const std::size_t channel = i % sizes.channels;
    const std::size_t head = i / sizes.channels % sizes.heads;
    const std::size_t cell = i / (sizes.channels * sizes.heads) % sizes.cells;
    const std::size_t batch = i / (sizes.channels * sizes.heads * sizes.cells);
    return ((batch * sizes.heads + head) * sizes.channels + channel) * sizes.cells + cell;
  };
  for (std::size_t i = 0; i < dense.value.size(); ++i)
    permuted.value[place(i)] = dense.value[i];
  EXPECT_EQ(forward(permuted), forward(dense));
  const auto grad_output = random_direction(dense.output_size(), 42);
  const Gradients<double> expected = backward(dense, grad_output);
  const Gradients<double> actual = backward(permuted, grad_output);
  EXPECT_EQ(actual.locations, expected.locations);
  EXPECT_EQ(actual.weights, expected.weights);
  for (std::size_t i = 0; i < dense.value.size(); ++i)
    ASSERT_EQ(actual.value[place(i)], expected.value[i]) << i;
}

TEST(MsDeformAttn, FloatIsNearDouble) {
  const Problem<double> wide = random_problem(4, 51);
  const Problem<float> narrow{.sizes = wide.sizes,
                              .shapes = wide.shapes,
                              .value = {wide.value.begin(), wide.value.end()},
                              .locations = {wide.locations.begin(), wide.locations.end()},
                              .weights = {wide.weights.begin(), wide.weights.end()},
                              .strides = wide.strides};
  const auto expected = forward(wide);
  const auto actual = forward(narrow);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(static_cast<double>(actual[i]), expected[i], 1e-5);
  const auto grad_output = random_direction(wide.output_size(), 52);
  const auto wide_gradients = backward(wide, grad_output);
  const auto narrow_gradients =
      backward(narrow, std::vector<float>(grad_output.begin(), grad_output.end()));
  for (std::size_t i = 0; i < wide.locations.size(); ++i)
    EXPECT_NEAR(static_cast<double>(narrow_gradients.locations[i]), wide_gradients.locations[i],
                1e-4);
  for (std::size_t i = 0; i < wide.value.size(); ++i)
    EXPECT_NEAR(static_cast<double>(narrow_gradients.value[i]), wide_gradients.value[i], 1e-5);
}

TEST(MsDeformAttn, SizesOfZeroGiveZeros) {
  Problem<float> no_points = one_level<float>(1, 1, {3}, {0.5F, 0.5F});
  no_points.sizes.points = 0;
  no_points.locations.clear();
  no_points.weights.clear();
  EXPECT_EQ(forward(no_points), std::vector<float>{0});
  EXPECT_EQ(backward(no_points, {1}).value, std::vector<float>{0});
  const Problem<float> no_queries = one_level<float>(1, 1, {3}, {});
  EXPECT_TRUE(forward(no_queries).empty());
  EXPECT_EQ(backward(no_queries, {}).value, std::vector<float>{0});
  const Problem<float> no_cells = one_level<float>(0, 4, {}, {0.5F, 0.5F});
  EXPECT_EQ(forward(no_cells), std::vector<float>{0});
}

}  // namespace
}  // namespace lyk::reference::test
