#include "kernels/cuda/launch.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/cuda/deform_launch.hpp"

namespace lyk::test {
namespace {

// The device's half of a Divisor.
std::uint64_t quotient(std::uint64_t dividend, const cuda::Divisor& divisor) {
  if (divisor.magic == 0)
    return dividend;
  __extension__ using Wide = unsigned __int128;
  const auto upper = static_cast<std::uint64_t>((Wide{dividend} * divisor.magic) >> 64);
  return upper >> divisor.shift;
}

TEST(Divisor, DividesEverythingBelowTwoToThe63) {
  constexpr std::uint64_t largest = (std::uint64_t{1} << 63) - 1;
  std::vector<std::uint64_t> divisors{1, 2, 3, 5, 7, 9, 16, 27, 384, 641, 65537, 0xFFFFFFFF};
  for (int shift = 31; shift < 63; ++shift)
    for (const std::uint64_t power = std::uint64_t{1} << shift;
         const std::uint64_t value : {power - 1, power, power + 1})
      divisors.push_back(value);
  for (const std::uint64_t value : divisors) {
    const cuda::Divisor divisor = cuda::divisor_of(value);
    const std::uint64_t last = largest / value * value;
    for (const std::uint64_t n :
         {std::uint64_t{0}, value - 1, value, value + 1, 3 * (value / 2), last - 1, last, largest})
      EXPECT_EQ(quotient(n, divisor), n / value) << n << " / " << value;
  }
}

TEST(CudaLaunch, TakesWholeGroupsOfAllRowsForOneRow) {
  const cuda::GroupedRows dense = cuda::grouped_rows(6, 32, 16);
  EXPECT_EQ(dense.rows, 1U);
  EXPECT_EQ(dense.columns, 192U);
  EXPECT_EQ(dense.quads_per_row.value, 48U);
  const cuda::GroupedRows ragged = cuda::grouped_rows(6, 33, 16);
  EXPECT_EQ(ragged.rows, 6U);
  EXPECT_EQ(ragged.columns, 33U);
  EXPECT_EQ(ragged.quads_per_row.value, 12U);
}

TEST(CudaLaunch, KeepsRowsApartWhereTheirScalesLieOtherwise) {
  const float scale = 1;
  cuda::IntGrouped call{.scale = &scale, .scale_row_stride = 1, .group_size = 64};
  cuda::set_shape(call, 4, 128);
  EXPECT_EQ(call.shape.rows, 4U);
  EXPECT_EQ(call.shape.quads_per_row.value, 32U);
  call.scale_row_stride = 2;
  call.scale_group_stride = 1;
  cuda::set_shape(call, 4, 128);
  EXPECT_EQ(call.shape.rows, 1U);
}

TEST(CudaLaunch, StartsWhatTheDeviceHoldsAFewTimesOver) {
  EXPECT_EQ(cuda::run_grid(0, 1000).x, 1U);
  EXPECT_EQ(cuda::run_grid(2049, 1000).x, 2U);
  EXPECT_EQ(cuda::run_grid(std::uint64_t{1} << 40, 1000).x, 8000U);
  EXPECT_EQ(cuda::run_grid(std::uint64_t{1} << 60, 0xFFFFFFFF).x, 0x7FFFFFFFU);
}

TEST(CudaLaunch, GivesARowABlockOfItsSize) {
  EXPECT_EQ(cuda::row_threads(1), 32U);
  EXPECT_EQ(cuda::row_threads(256), 32U);
  EXPECT_EQ(cuda::row_threads(257), 64U);
  EXPECT_EQ(cuda::row_threads(1 << 20), 1024U);
}

TEST(CudaLaunch, SharesRowsOutWhereColumnsAreFew) {
  const cuda::Grid grid = cuda::channels_grid(100, 512, 264);
  EXPECT_EQ(grid.x, 2U);
  EXPECT_EQ(grid.y, 100U);
  EXPECT_EQ(cuda::channels_grid(1000, 512, 264).y, 132U);
  EXPECT_EQ(cuda::channels_grid(0, 0, 0).y, 1U);
}

TEST(CudaLaunch, ReachesTheCellsPointsAndChannelsThatThirtyTwoBitsCount) {
  constexpr std::uint64_t most = 0x7FFFFFFF;
  using Sizes = cuda::DeformSizes;
  for (const Sizes& sizes :
       {Sizes{.heads = 1, .channels = most}, Sizes{.heads = most, .channels = 1},
        Sizes{.queries = most, .points = 1}, Sizes{.levels = 4, .points = most / 4},
        Sizes{.cells = (1U << 30U) - 1, .levels = 1}})
    EXPECT_TRUE(cuda::are_deform_sizes_in_reach(sizes));
  EXPECT_EQ(cuda::dense_strides({.heads = 1, .channels = most}).cell, 0x7FFFFFFF);
  for (const Sizes& sizes :
       {Sizes{.heads = 1, .channels = most + 1}, Sizes{.heads = most + 1, .channels = 1},
        Sizes{.heads = 1U << 16U, .channels = 1U << 15U}, Sizes{.heads = most, .channels = most},
        Sizes{.queries = 1U << 16U, .points = 1U << 15U}, Sizes{.levels = 4, .points = most / 2},
        Sizes{.cells = 1U << 30U, .levels = 1}})
    EXPECT_FALSE(cuda::are_deform_sizes_in_reach(sizes));
}

}  // namespace
}  // namespace lyk::test
