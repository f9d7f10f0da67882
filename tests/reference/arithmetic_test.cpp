#include "kernels/reference/arithmetic.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/reference/bits.hpp"

namespace lyk::reference::test {
namespace {

using lyk::test::bits_of;
using lyk::test::from_bits;
using lyk::test::infinity;
using lyk::test::nan;
using slots::ScalarDivision;

TEST(Arithmetic, BoundsPassNanOn) {
  EXPECT_TRUE(std::isnan(at_least(nan, 1)));
  EXPECT_TRUE(std::isnan(at_most(nan, 1)));
  EXPECT_EQ(at_least(-infinity, smallest_scale), smallest_scale);
  EXPECT_EQ(at_most(infinity, 448), 448);
  EXPECT_EQ(at_least(2, 1), 2);
  EXPECT_EQ(at_most(0.5F, 1), 0.5F);
}

TEST(Arithmetic, TheGreatestMagnitudeIsNanOnceThereIsOne) {
  EXPECT_EQ(greatest_magnitude({}), 0);
  EXPECT_EQ(greatest_magnitude(std::vector<float>{1, -3, 2}), 3);
  EXPECT_EQ(greatest_magnitude(std::vector<float>{1, -infinity, 2}), infinity);
  EXPECT_TRUE(std::isnan(greatest_magnitude(std::vector<float>{1, nan, 5})));
  EXPECT_TRUE(std::isnan(greatest_magnitude(std::vector<float>{nan, infinity})));
}

TEST(Arithmetic, TheSmallestScaleIsTheFloatNearestToItsNumber) {
  EXPECT_EQ(bits_of(smallest_scale), 0x2B8CBCCCU);
}

TEST(Arithmetic, TheReciprocalRuleMultipliesByTheRoundedReciprocal) {
  struct Row {
    float constant;
    std::uint32_t reciprocal;
  };
  for (const Row& row : {Row{127, 0x3C010204}, Row{255, 0x3B808081}, Row{448, 0x3B124925},
                         Row{2688, 0x39C30C31}, Row{7, 0x3E124925}, Row{1, 0x3F800000}}) {
    EXPECT_EQ(bits_of(divide_by_constant(1, row.constant, ScalarDivision::reciprocal)),
              row.reciprocal)
        << row.constant;
    EXPECT_EQ(divide_by_constant(3.3F, row.constant, ScalarDivision::reciprocal),
              3.3F * from_bits(row.reciprocal));
    EXPECT_EQ(divide_by_constant(3.3F, row.constant, ScalarDivision::ieee), 3.3F / row.constant);
  }
}

TEST(Arithmetic, TheTwoRulesDifferAsOftenAsTheyAreKnownTo) {
  struct Row {
    float constant;
    double share;  // of random floats, measured over many
  };
  const std::vector<float> values = lyk::test::normal_floats(100'000, 1);
  for (const Row& row :
       {Row{127, 0.045}, Row{255, 0.715}, Row{448, 0.544}, Row{2688, 0.223}, Row{7, 0.544}}) {
    int differing = 0;
    for (const float value : values)
      if (divide_by_constant(value, row.constant, ScalarDivision::ieee) !=
          divide_by_constant(value, row.constant, ScalarDivision::reciprocal))
        ++differing;
    EXPECT_NEAR(differing / static_cast<double>(values.size()), row.share, 0.02) << row.constant;
  }
}

TEST(Arithmetic, TheStraightThroughEstimatorIsTwoAdditions) {
  // Within a factor of two the difference is exact and what comes back is the quantised value.
  EXPECT_EQ(straight_through(0.3F, 0.4F), 0.3F);
  EXPECT_EQ(straight_through(6, 11.9F), 6);
  // Beyond, the difference is rounded: 16777227 - 6 cannot be told from 16777220.
  EXPECT_EQ(straight_through(5, 16'777'226), 6);
  EXPECT_EQ(straight_through(6, 0x1p28F), 0);
  EXPECT_EQ(bits_of(straight_through(-0.0F, -0.0F)), bits_of(0.0F));
  EXPECT_TRUE(std::isnan(straight_through(6, infinity)));
  EXPECT_TRUE(std::isnan(straight_through(0, nan)));
}

}  // namespace
}  // namespace lyk::reference::test
