#include "kernels/reference/ms_deform_attn.hpp"

#include <gtest/gtest.h>

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
  Problem<Scalar> problem{.sizes = {.batch = 1,
                                    .cells = static_cast<std::size_t>(height * width),
                                    .heads = 1,
                                    .channels = 1,
                                    .queries = locations.size() / 2,
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

TEST(MsDeformAttn, RoundsOncePerFusedOperation) {
  // 0.7 * 3 - 0.5 and the sums after it, with and without the roundings in between, differ.
  const auto problem =
      one_level<float>(3, 3, {0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F, 0.9F}, {0.7F, 0.6F});
  const float y = std::fma(0.6F, 3.0F, -0.5F);
  const float x = std::fma(0.7F, 3.0F, -0.5F);
  const float ly = y - 1;
  const float lx = x - 1;
  const float hy = 1 - ly;
  const float hx = 1 - lx;
  float sum = (hy * lx) * 0.6F;
  sum = std::fma(hy * hx, 0.5F, sum);
  sum = std::fma(ly * hx, 0.8F, sum);
  sum = std::fma(ly * lx, 0.9F, sum);
  EXPECT_EQ(forward(problem), std::vector<float>{sum});
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
