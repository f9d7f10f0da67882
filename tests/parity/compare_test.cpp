#include "parity/compare.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace lyk::parity {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr Gate gate{.relative = 0.1, .absolute = 0.5};

Difference of_one(double expected, double got, const Gate& within) {
  return compare(std::array{expected}, std::array{got}, within);
}

TEST(Compare, LetsThroughWhatTheGateAllows) {
  EXPECT_TRUE(of_one(10, 11.5, gate).passed());
  EXPECT_FALSE(of_one(10, 11.6, gate).passed());
  EXPECT_TRUE(of_one(-10, -8.5, gate).passed());
  EXPECT_DOUBLE_EQ(of_one(10, 10.75, gate).share, 0.5);
}

TEST(Compare, WithoutAToleranceEverythingMustBeEqual) {
  EXPECT_TRUE(of_one(1.5, 1.5, {}).passed());
  EXPECT_TRUE(of_one(0, -0.0, {}).passed());
  EXPECT_TRUE(of_one(nan, nan, {}).passed());
  const Difference differs = of_one(1, 1 + std::numeric_limits<double>::epsilon(), {});
  EXPECT_FALSE(differs.passed());
  EXPECT_EQ(differs.share, infinity);
}

TEST(Compare, BitForBitAZeroOfTheOtherSignIsAnotherNumber) {
  const Difference differs = of_one(0, -0.0, bit_for_bit);
  EXPECT_FALSE(differs.passed());
  EXPECT_EQ(differs.greatest_error, 0);
  EXPECT_EQ(differs.share, infinity);
  EXPECT_TRUE(of_one(-0.0, -0.0, bit_for_bit).passed());
  EXPECT_TRUE(of_one(nan, -nan, bit_for_bit).passed());
}

TEST(Compare, WhatIsNoNumberIsNearToNothingElse) {
  struct Row {
    double expected;
    double got;
    bool passed;
  };
  constexpr std::array<Row, 6> rows{{{infinity, infinity, true},
                                     {infinity, -infinity, false},
                                     {infinity, 1, false},
                                     {1, infinity, false},
                                     {nan, 1, false},
                                     {1, -nan, false}}};
  for (const Row& row : rows) {
    const Difference difference = of_one(row.expected, row.got, gate);
    EXPECT_EQ(difference.passed(), row.passed) << row.expected << ' ' << row.got;
    EXPECT_EQ(difference.greatest_error, row.passed ? 0 : infinity);
    EXPECT_FALSE(std::isnan(difference.got) && std::signbit(difference.got));
  }
}

TEST(Compare, NamesTheElementThatUsesMostOfItsTolerance) {
  constexpr std::array expected{100.0, 1.0, 0.0, 5.0};
  constexpr std::array got{104.0, 1.5, 0.6, 5.0};
  const Difference difference = compare(expected, got, gate);
  EXPECT_EQ(difference.elements, 4U);
  EXPECT_EQ(difference.wrong, 1U);
  EXPECT_EQ(difference.worst, 2U);
  EXPECT_EQ(difference.got, 0.6);
  EXPECT_EQ(difference.greatest_error, 4);
}

TEST(Compare, OfNothingAllIsEqual) {
  EXPECT_TRUE(compare({}, {}, {}).passed());
}

}  // namespace
}  // namespace lyk::parity
