#include "parity/random.hpp"

#include <gtest/gtest.h>

namespace lyk::parity {
namespace {

TEST(Random, IsSeededByTheCrcThatZlibHas) {
  EXPECT_EQ(crc32(""), 0U);
  EXPECT_EQ(crc32("123456789"), 0xcbf43926U);
  EXPECT_EQ(crc32("6789", crc32("12345")), 0xcbf43926U);
}

TEST(Random, IsTheSameForALabelEverywhere) {
  Random random{"ms_deform_attn:rf-detr"};
  const double first = random.uniform(0, 1);
  EXPECT_EQ(first, Random{"ms_deform_attn:rf-detr"}.uniform(0, 1));
  EXPECT_NE(first, Random{"ms_deform_attn:rf-dets"}.uniform(0, 1));
}

TEST(Random, UniformNumbersStayInTheirRange) {
  Random random{"uniform"};
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double drawn = random.uniform(-2, 6);
    EXPECT_GE(drawn, -2);
    EXPECT_LT(drawn, 6);
    sum += drawn;
  }
  EXPECT_NEAR(sum / 10'000, 2, 0.1);
}

TEST(Random, NormalNumbersHaveMeanZeroAndDeviationOne) {
  Random random{"normal"};
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double drawn = random.normal();
    sum += drawn;
    squares += drawn * drawn;
  }
  EXPECT_NEAR(sum / 10'000, 0, 0.05);
  EXPECT_NEAR(squares / 10'000, 1, 0.05);
}

}  // namespace
}  // namespace lyk::parity
