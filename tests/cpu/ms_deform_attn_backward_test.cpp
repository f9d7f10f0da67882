#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/ms_deform_attn.hpp"
#include "tests/cpu/deform_scene.hpp"
#include "tests/cpu/ways.hpp"

namespace lyk::cpu::test {
namespace {

// Sums over channels, in another order than the oracle's: near in proportion to the greatest
// gradient of the call.
void expect_near(const Floats& actual, const Floats& expected, float tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  float greatest = 0;
  for (const float each : expected)
    greatest = std::max(greatest, std::fabs(each));
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (!(std::fabs(actual[i] - expected[i]) <= tolerance * (greatest + std::fabs(expected[i])))) {
      ADD_FAILURE() << "element " << i << " is " << actual[i] << ", not " << expected[i];
      return;
    }
}

void expect_near(const DeformGradients<float>& actual,
                 const DeformGradients<float>& expected,
                 float tolerance) {
  expect_same(actual.value, expected.value);
  expect_near(actual.locations, expected.locations, tolerance);
  expect_near(actual.weights, expected.weights, tolerance);
}

void expect_identical(const DeformGradients<float>& actual,
                      const DeformGradients<float>& expected) {
  expect_same(actual.value, expected.value);
  expect_same(actual.locations, expected.locations);
  expect_same(actual.weights, expected.weights);
}

constexpr float fp32_tolerance = 1e-5F;

void expect_oracle(Pools& pools, const std::vector<DeformScene>& scenes) {
  for (const DeformScene& scene : scenes) {
    const DeformGradients<float> expected = scene.oracle_backward<float>();
    pools.for_each_set([&](const Execution& execution) {
      expect_near(scene.ours_backward(execution), expected, fp32_tolerance);
    });
  }
}

TEST(MsDeformAttnBackward, IsTheOraclesOnTheShapesOfModels) {
  Pools pools;
  expect_oracle(pools, model_scenes());
}

TEST(MsDeformAttnBackward, IsTheOraclesForAnyNumberOfChannels) {
  Pools pools;
  expect_oracle(pools, channel_scenes());
}

TEST(MsDeformAttnBackward, IsTheOraclesAtEdgesAndBeyond) {
  Pools pools;
  expect_oracle(pools, edge_scenes());
}

TEST(MsDeformAttnBackward, SamplesThatDoNotCountHaveZeroGradients) {
  Pools pools;
  DeformScene scene{{.batch = 1, .heads = 1, .channels = 16, .queries = 20, .points = 2}, {3, 3}};
  std::ranges::fill(scene.locations, nan);
  std::ranges::fill(scene.weights, infinity);
  const DeformGradients<float> gradients = scene.ours_backward(pools.best());
  expect_same(gradients.value, Floats(scene.value.size(), 0));
  expect_same(gradients.locations, Floats(scene.locations.size(), 0));
  expect_same(gradients.weights, Floats(scene.weights.size(), 0));
}

TEST(MsDeformAttnBackward, ALevelWithoutCellsHasZeroGradientsWhateverItsWeight) {
  Pools pools;
  DeformScene scene{{.batch = 1, .heads = 2, .channels = 16, .queries = 9, .points = 1},
                    {0, 5, 3, 3}};
  for (std::size_t i = 0; i < scene.weights.size(); i += 2)
    scene.weights[i] = i % 4 == 0 ? infinity : nan;
  expect_oracle(pools, {scene});
  const DeformGradients<float> gradients = scene.ours_backward(pools.best());
  for (std::size_t i = 0; i < scene.weights.size(); i += 2)
    EXPECT_TRUE(gradients.weights[i] == 0 && gradients.locations[2 * i] == 0 &&
                gradients.locations[2 * i + 1] == 0);
}

bool has_numbers_only(const Floats& gradient) {
  return std::ranges::all_of(gradient, [](float each) { return std::isfinite(each); });
}

bool has_no_number(const Floats& gradient) {
  return std::ranges::none_of(gradient, [](float each) { return std::isfinite(each); });
}

// All samples are between cells that differ little.
DeformScene inner_scene() {
  DeformScene scene{{.batch = 1, .heads = 1, .channels = 16, .queries = 20, .points = 2}, {3, 3}};
  scene.locations = values(scene.locations.size(), 57, 0.3F);
  for (float& location : scene.locations)
    location += 0.5F;
  scene.value = values(scene.value.size(), 58, 1e-3F);
  for (float& value : scene.value)
    value += 1;
  return scene;
}

TEST(MsDeformAttnBackward, ProductsThatOverflowSpoilLocationsAndWeightsButNotInDouble) {
  Pools pools;
  DeformScene scene = inner_scene();
  for (float& value : scene.value)
    value *= 3e38F;
  for (std::size_t i = 0; i < scene.grad_output.size(); ++i)
    scene.grad_output[i] = i % 2 == 0 ? 10.0F : -10.0F;
  const DeformGradients<float> oracles = scene.oracle_backward<float>();
  EXPECT_TRUE(has_numbers_only(oracles.locations));
  const DeformGradients<double> exact = scene.oracle_backward<double>();
  const DeformGradients<float> expected{rounded(exact.value), rounded(exact.locations),
                                        rounded(exact.weights)};
  pools.for_each_set([&](const Execution& execution) {
    const DeformGradients<float> gradients = scene.ours_backward(execution);
    expect_same(gradients.value, oracles.value);
    EXPECT_TRUE(has_no_number(gradients.locations));
    EXPECT_TRUE(has_no_number(gradients.weights));
    expect_near(scene.ours_backward(execution, Accumulation::fp64), expected, 1e-7F);
  });
}

TEST(MsDeformAttnBackward, AnInfiniteWeightGivesItsLocationNoNumberAsInTheOracle) {
  Pools pools;
  DeformScene scene = inner_scene();
  std::ranges::fill(scene.weights, infinity);
  const DeformGradients<float> oracles = scene.oracle_backward<float>();
  EXPECT_TRUE(has_no_number(oracles.locations));
  pools.for_each_set([&](const Execution& execution) {
    for (const Accumulation accumulation : {Accumulation::fp32, Accumulation::fp64}) {
      const DeformGradients<float> gradients = scene.ours_backward(execution, accumulation);
      expect_same(gradients.value, oracles.value);
      EXPECT_TRUE(has_no_number(gradients.locations));
      expect_near(gradients.weights, oracles.weights, fp32_tolerance);
    }
  });
}

TEST(MsDeformAttnBackward, PermutedValuesAndGradientsAreTheOracles) {
  Pools pools;
  for (const std::vector<DeformScene>& scenes : {model_scenes(), edge_scenes()})
    for (const DeformScene& scene : scenes) {
      const DeformScene permuted = scene.permuted();
      const DeformGradients<float> expected = permuted.oracle_backward<float>();
      pools.for_each_set([&](const Execution& execution) {
        expect_near(permuted.ours_backward(execution), expected, fp32_tolerance);
      });
    }
}

TEST(MsDeformAttnBackward, InDoubleItIsTheDoubleOracleRoundedOnce) {
  Pools pools;
  for (const std::vector<DeformScene>& scenes : {model_scenes(), channel_scenes(), edge_scenes()})
    for (const DeformScene& scene : scenes) {
      const DeformGradients<double> exact = scene.oracle_backward<double>();
      const DeformGradients<float> expected{rounded(exact.value), rounded(exact.locations),
                                            rounded(exact.weights)};
      pools.for_each_set([&](const Execution& execution) {
        expect_near(scene.ours_backward(execution, Accumulation::fp64), expected, 1e-7F);
      });
    }
}

// The derivative of the double oracle along one direction, by central differences, against the
// product of the gradient with that direction.
TEST(MsDeformAttnBackward, AgreesWithFiniteDifferencesOfTheDoubleOracle) {
  Pools pools;
  const DeformScene scene{{.batch = 1, .heads = 2, .channels = 32, .queries = 6, .points = 2},
                          {6, 4, 3, 2}};
  const DeformGradients<float> gradients = scene.ours_backward(pools.best(), Accumulation::fp64);
  const auto expect_derivative = [&](Floats DeformScene::*input, const Floats& gradient) {
    const Floats direction = values(gradient.size(), 56);
    constexpr float step = 0x1p-12F;
    const auto moved = [&](float by) {
      DeformScene other = scene;
      for (std::size_t i = 0; i < direction.size(); ++i)
        (other.*input)[i] += by * direction[i];
      const std::vector<double> output = other.oracle<double>();
      double product = 0;
      for (std::size_t i = 0; i < output.size(); ++i)
        product += output[i] * double{scene.grad_output[i]};
      return product;
    };
    double expected = 0;
    for (std::size_t i = 0; i < direction.size(); ++i)
      expected += double{gradient[i]} * double{direction[i]};
    const double derivative = (moved(step) - moved(-step)) / (2 * double{step});
    EXPECT_NEAR(derivative, expected, 2e-3 * std::fabs(expected) + 1e-3);
  };
  expect_derivative(&DeformScene::value, gradients.value);
  expect_derivative(&DeformScene::locations, gradients.locations);
  expect_derivative(&DeformScene::weights, gradients.weights);
}

// From run to run, and whatever the threads: within an instruction set every bit is the same.
TEST(MsDeformAttnBackward, IsDeterministicForAnyNumberOfThreads) {
  Pools pools;
  for (const std::size_t queries : {60U, 600U}) {
    const DeformScene scene{
        {.batch = 2, .heads = 4, .channels = 32, .queries = queries, .points = 4}, {20, 30, 10, 9}};
    for (const InstructionSet set : available_instruction_sets()) {
      const DeformGradients<float> expected =
          scene.ours_backward({.workers = pools.workers[0], .instructions = set});
      for (Workers& workers : pools.workers)
        expect_identical(scene.ours_backward({.workers = workers, .instructions = set}), expected);
    }
  }
}

// A workspace for each of as many threads could not be had.
TEST(MsDeformAttnBackward, NeedsNoMoreWorkspacesThanTasksWhateverTheThreads) {
  Workers workers{std::numeric_limits<std::size_t>::max()};
  for (const std::size_t queries : {3U, 600U}) {
    const DeformScene scene{
        {.batch = 1, .heads = 2, .channels = 32, .queries = queries, .points = 2}, {4, 6}};
    expect_near(scene.ours_backward({.workers = workers}), scene.oracle_backward<float>(),
                fp32_tolerance);
  }
}

TEST(MsDeformAttnBackward, WithoutSamplesTheGradientOfValueIsZero) {
  Pools pools;
  const DeformScene no_points{{.batch = 1, .heads = 2, .channels = 3, .queries = 4}, {2, 2}};
  expect_same(no_points.ours_backward(pools.best()).value, Floats(24, 0));
  const DeformScene no_queries{{.batch = 1, .heads = 2, .channels = 3, .points = 1}, {2, 2}};
  expect_same(no_queries.ours_backward(pools.best()).value, Floats(24, 0));
}

TEST(MsDeformAttnBackward, WithoutCellsGradientsAreZero) {
  Pools pools;
  const DeformScene scene{{.batch = 1, .heads = 8, .channels = 32, .queries = 300, .points = 4},
                          {0, 0, 0, 7}};
  const DeformGradients<float> gradients = scene.ours_backward(pools.best());
  expect_same(gradients.locations, Floats(scene.locations.size(), 0));
  expect_same(gradients.weights, Floats(scene.weights.size(), 0));
}

}  // namespace
}  // namespace lyk::cpu::test
