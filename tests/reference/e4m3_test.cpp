#include "kernels/reference/e4m3.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/bits.hpp"

namespace lyk::reference::test {
namespace {

using lyk::test::bits_of;
using lyk::test::nan;

constexpr std::uint8_t greatest_code = 0x7E;

TEST(E4m3, CodesHaveTheValuesOfTheFormat) {
  EXPECT_EQ(bits_of(e4m3_value(0x00)), bits_of(0.0F));
  EXPECT_EQ(bits_of(e4m3_value(0x80)), bits_of(-0.0F));
  EXPECT_EQ(e4m3_value(0x01), 0x1p-9F);
  EXPECT_EQ(e4m3_value(0x07), 7 * 0x1p-9F);
  EXPECT_EQ(e4m3_value(0x08), 0x1p-6F);
  EXPECT_EQ(e4m3_value(0x38), 1);
  EXPECT_EQ(e4m3_value(0x70), 128);
  EXPECT_EQ(e4m3_value(0x7E), 448);
  EXPECT_EQ(e4m3_value(0xFE), -448);
  EXPECT_TRUE(std::isnan(e4m3_value(0x7F)));
  EXPECT_TRUE(std::isnan(e4m3_value(0xFF)));
}

TEST(E4m3, RoundsAValueOfTheFormatToItself) {
  for (unsigned code = 0; code < 256; ++code) {
    const float value = e4m3_value(static_cast<std::uint8_t>(code));
    EXPECT_TRUE(lyk::test::is_same(round_to_e4m3(value), value)) << code;
  }
}

TEST(E4m3, RoundsToTheNearestAndATieToTheEvenCode) {
  for (std::uint8_t code = 0; code < greatest_code; ++code) {
    const auto next = static_cast<std::uint8_t>(code + 1);
    const float low = e4m3_value(code);
    const float high = e4m3_value(next);
    const float middle = (low + high) / 2;  // exact: four bits more than the format has
    const float even = code % 2 == 0 ? low : high;
    EXPECT_EQ(round_to_e4m3(middle), even) << int{code};
    EXPECT_EQ(round_to_e4m3(-middle), -even) << int{code};
    EXPECT_EQ(round_to_e4m3(std::nextafter(middle, 0.0F)), low) << int{code};
    EXPECT_EQ(round_to_e4m3(std::nextafter(middle, 1000.0F)), high) << int{code};
  }
}

TEST(E4m3, RoundsWhatIsTooSmallToAZeroOfItsSign) {
  EXPECT_EQ(bits_of(round_to_e4m3(0x1p-10F)), bits_of(0.0F));
  EXPECT_EQ(bits_of(round_to_e4m3(-0x1p-149F)), bits_of(-0.0F));
  EXPECT_EQ(round_to_e4m3(std::nextafter(0x1p-10F, 1.0F)), 0x1p-9F);
}

TEST(E4m3, KeepsNan) {
  EXPECT_TRUE(std::isnan(round_to_e4m3(nan)));
}

}  // namespace
}  // namespace lyk::reference::test
