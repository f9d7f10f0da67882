#include "kernels/reference/e2m1.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>

#include "tests/reference/bits.hpp"

namespace lyk::reference::test {
namespace {

using lyk::test::bits_of;
using lyk::test::infinity;
using lyk::test::nan;

constexpr std::array<float, 8> levels{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};

TEST(E2m1, ATieGoesToTheLevelNearerToZero) {
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    const float middle = (levels[i] + levels[i + 1]) / 2;
    EXPECT_EQ(round_to_e2m1(middle), levels[i]) << middle;
    EXPECT_EQ(round_to_e2m1(-middle), -levels[i]) << -middle;
    EXPECT_EQ(round_to_e2m1(std::nextafter(middle, 10.0F)), levels[i + 1]) << middle;
    EXPECT_EQ(round_to_e2m1(std::nextafter(middle, 0.0F)), levels[i]) << middle;
  }
}

TEST(E2m1, GivesNoNegativeZero) {
  EXPECT_EQ(bits_of(round_to_e2m1(-0.0F)), bits_of(0.0F));
  EXPECT_EQ(bits_of(round_to_e2m1(-0.2F)), bits_of(0.0F));
}

TEST(E2m1, SaturationLosesItsBitsInTheTwoAdditions) {
  struct Row {
    float scaled;
    float result;
  };
  for (const Row& row :
       {Row{6.5F, 6}, Row{12, 6}, Row{1000, 6}, Row{0x1p25F, 6}, Row{0x1p25F + 4, 6},
        Row{0x1p25F + 8, 8}, Row{0x1p25F + 12, 4}, Row{0x1p26F, 8}, Row{0x1p27F, 8},
        Row{0x1.000002p27F, 0}, Row{0x1p100F, 0}}) {
    EXPECT_EQ(round_to_e2m1(row.scaled), row.result) << row.scaled;
    EXPECT_EQ(round_to_e2m1(-row.scaled), -row.result) << row.scaled;
  }
}

TEST(E2m1, InfinitiesAndNanBecomeNan) {
  EXPECT_TRUE(std::isnan(round_to_e2m1(infinity)));
  EXPECT_TRUE(std::isnan(round_to_e2m1(-infinity)));
  EXPECT_TRUE(std::isnan(round_to_e2m1(nan)));
}

TEST(E2m1, CodesAreSignAndLevel) {
  for (std::uint8_t code = 0; code < 8; ++code) {
    EXPECT_EQ(bits_of(e2m1_value(code)), bits_of(levels[code])) << int{code};
    EXPECT_EQ(bits_of(e2m1_value(static_cast<std::uint8_t>(code + 8))), bits_of(-levels[code]))
        << int{code};
  }
}

}  // namespace
}  // namespace lyk::reference::test
