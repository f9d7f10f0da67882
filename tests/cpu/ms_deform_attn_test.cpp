#include "kernels/cpu/ms_deform_attn.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/cpu/deform_scene.hpp"
#include "tests/cpu/ways.hpp"

namespace lyk::cpu::test {
namespace {

void expect_oracle(Pools& pools, const std::vector<DeformScene>& scenes) {
  for (const DeformScene& scene : scenes) {
    const Floats expected = scene.oracle<float>();
    pools.for_each_set(
        [&](const Execution& execution) { expect_same(scene.ours(execution), expected); });
  }
}

TEST(MsDeformAttn, HasTheOraclesBitsOnTheShapesOfModels) {
  Pools pools;
  expect_oracle(pools, model_scenes());
}

TEST(MsDeformAttn, HasTheOraclesBitsForAnyNumberOfChannels) {
  Pools pools;
  expect_oracle(pools, channel_scenes());
}

TEST(MsDeformAttn, HasTheOraclesBitsAtEdgesAndBeyond) {
  Pools pools;
  expect_oracle(pools, edge_scenes());
}

TEST(MsDeformAttn, HasTheOraclesBitsOnALargeBatch) {
  Pools pools;
  const DeformScene scene{{.batch = 8, .heads = 8, .channels = 32, .queries = 100, .points = 4},
                          {64, 64, 32, 32, 16, 16, 8, 8}};
  expect_same(scene.ours(pools.best()), scene.oracle<float>());
}

// What is not finite in a cell next to an outer one, or in a weight of a sample that does not
// count, must not come in.
TEST(MsDeformAttn, CellsOutsideAndSamplesBeyondAddNothing) {
  Pools pools;
  DeformScene scene{{.batch = 1, .heads = 1, .channels = 16, .queries = 50, .points = 2},
                    {3, 3, 2, 2}};
  for (std::size_t i = 0; i < scene.value.size(); i += 7)
    scene.value[i] = nan;
  for (std::size_t i = 0; i < scene.weights.size(); i += 5) {
    scene.weights[i] = nan;
    scene.locations[2 * i] = 1.6F;
  }
  expect_oracle(pools, {scene});
}

TEST(MsDeformAttn, ALevelWithoutCellsAddsNothingWhateverItsWeight) {
  Pools pools;
  DeformScene scene{{.batch = 1, .heads = 2, .channels = 16, .queries = 9, .points = 1},
                    {0, 5, 3, 3}};
  for (std::size_t i = 0; i < scene.weights.size(); i += 2)
    scene.weights[i] = i % 4 == 0 ? infinity : nan;
  expect_oracle(pools, {scene});
  ASSERT_TRUE(std::ranges::none_of(scene.oracle<float>(), [](float x) { return std::isnan(x); }));
}

TEST(MsDeformAttn, APermutedValueGivesTheSameBits) {
  Pools pools;
  for (const std::vector<DeformScene>& scenes : {model_scenes(), edge_scenes()})
    for (const DeformScene& scene : scenes) {
      const Floats expected = scene.oracle<float>();
      const DeformScene permuted = scene.permuted();
      pools.for_each_set(
          [&](const Execution& execution) { expect_same(permuted.ours(execution), expected); });
    }
}

TEST(MsDeformAttn, InDoubleItIsTheDoubleOracleRoundedOnce) {
  Pools pools;
  for (const std::vector<DeformScene>& scenes : {model_scenes(), channel_scenes(), edge_scenes()})
    for (const DeformScene& scene : scenes) {
      const Floats expected = rounded(scene.oracle<double>());
      pools.for_each_set([&](const Execution& execution) {
        expect_same(scene.ours(execution, Accumulation::fp64), expected);
        expect_same(scene.permuted().ours(execution, Accumulation::fp64), expected);
      });
    }
}

// More samples than are done at a time: the first two and the last one count, and only in double is
// the second left. More channels than have sums at a time, as many, and fewer.
TEST(MsDeformAttn, InDoubleNothingIsRoundedBetweenTheSamplesOfAQuery) {
  Pools pools;
  for (const std::size_t channels : {1U, 256U, 523U}) {
    DeformScene scene{{.batch = 1, .heads = 2, .channels = channels, .queries = 2, .points = 300},
                      {1, 4}};
    std::ranges::fill(scene.weights, 0.0F);
    for (std::size_t row = 0; row < scene.weights.size(); row += 300) {
      const std::array<std::size_t, 3> counted{0, 1, 299};
      for (std::size_t cell = 0; cell < 3; ++cell) {
        const std::size_t sample = row + counted[cell];
        scene.weights[sample] = 1;
        scene.locations[2 * sample] = (static_cast<float>(cell) + 0.5F) / 4;
        scene.locations[2 * sample + 1] = 0.5F;
      }
    }
    for (std::size_t i = 0; i < scene.value.size(); ++i)
      scene.value[i] = std::array{1e9F, 1.0F, -1e9F, 0.0F}[i / (2 * channels)];
    pools.for_each_set([&](const Execution& execution) {
      const Floats expected(scene.grad_output.size(), 1);
      expect_same(scene.ours(execution, Accumulation::fp64), expected);
      expect_same(scene.permuted().ours(execution, Accumulation::fp64), expected);
    });
  }
}

TEST(MsDeformAttn, ResultsDoNotDependOnThreads) {
  Pools pools;
  // With and without a copy of the cells.
  for (const std::size_t queries : {60U, 600U}) {
    const DeformScene scene{
        {.batch = 2, .heads = 4, .channels = 32, .queries = queries, .points = 4}, {20, 30, 10, 9}};
    const Floats expected = scene.oracle<float>();
    pools.for_each_way(
        [&](const Execution& execution) { expect_same(scene.ours(execution), expected); });
  }
}

// A copy of the cells for each of as many threads could not be had.
TEST(MsDeformAttn, NeedsNoMoreCopiesThanTasksWhateverTheThreads) {
  Workers workers{std::numeric_limits<std::size_t>::max()};
  const DeformScene scene{{.batch = 1, .heads = 2, .channels = 32, .queries = 600, .points = 2},
                          {4, 6}};
  expect_same(scene.ours({.workers = workers}), scene.oracle<float>());
}

TEST(MsDeformAttn, WithoutSamplesTheOutputIsZero) {
  Pools pools;
  const DeformScene no_points{{.batch = 1, .heads = 2, .channels = 3, .queries = 4}, {2, 2}};
  expect_same(no_points.ours(pools.best()), Floats(24, 0));
  const DeformScene no_levels{{.batch = 1, .heads = 2, .channels = 3, .queries = 4, .points = 1},
                              {}};
  expect_same(no_levels.ours(pools.best()), Floats(24, 0));
  const DeformScene no_queries{{.batch = 1, .heads = 2, .channels = 3, .points = 1}, {2, 2}};
  EXPECT_TRUE(no_queries.ours(pools.best()).empty());
}

// As many queries as are worth a copy of the cells, of which there are none.
TEST(MsDeformAttn, WithoutCellsTheOutputIsZero) {
  Pools pools;
  const DeformScene scene{{.batch = 1, .heads = 8, .channels = 32, .queries = 300, .points = 4},
                          {0, 0, 0, 7}};
  pools.for_each_way([&](const Execution& execution) {
    expect_same(scene.ours(execution), Floats(scene.grad_output.size(), 0));
  });
}

}  // namespace
}  // namespace lyk::cpu::test
