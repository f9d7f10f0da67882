#include "kernels/reference/fake_quant_mxfp4.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/reference/bits.hpp"

namespace lyk::reference::test {
namespace {

using lyk::test::expect_same;
using lyk::test::infinity;
using lyk::test::nan;
using slots::Log2Rule;
using Floats = std::vector<float>;

Floats forward_row(const Floats& row, Log2Rule rule = Log2Rule::rounded) {
  Floats output(row.size());
  fake_quant_mxfp4({.x = row, .rows = 1, .columns = row.size(), .log2 = rule}, output);
  return output;
}

TEST(FakeQuantMxfp4, ABlockHasThePowerOfTwoOfItsGreatestMagnitude) {
  struct Row {
    float greatest;
    float scale;
  };
  for (const auto rule : {Log2Rule::rounded, Log2Rule::exponent}) {
    for (const Row& row : {Row{0, 0x1p-102F}, Row{1e-30F, 0x1p-102F}, Row{1, 0x1p-2F},
                           Row{0.99999994F, 0x1p-3F}, Row{6, 1}, Row{7.9F, 1}, Row{8, 2}}) {
      EXPECT_EQ(mxfp4_effective_scale(row.greatest, rule), row.scale) << row.greatest;
    }
    EXPECT_TRUE(std::isnan(mxfp4_effective_scale(nan, rule)));
  }
}

TEST(FakeQuantMxfp4, TheRoundedLogarithmReachesAPowerOfTwoEarly) {
  // How many floats just below 2^k have a logarithm that rounds to k.
  struct Row {
    int first;
    int last;
    int floats;
  };
  for (const Row& row : {Row{-99, -64, 44}, Row{-63, -32, 22}, Row{-31, -16, 11}, Row{-15, -8, 5},
                         Row{-7, -4, 2}, Row{-3, -2, 1}, Row{-1, 2, 0}, Row{3, 4, 1}, Row{5, 8, 2},
                         Row{9, 16, 5}, Row{17, 32, 11}, Row{33, 64, 22}, Row{65, 127, 44}}) {
    for (int k = row.first; k <= row.last; ++k) {
      float below = std::scalbn(1.0F, k);
      for (int n = 1; n <= 60; ++n) {
        below = std::nextafter(below, 0.0F);
        const int exponent = n <= row.floats ? k : k - 1;
        EXPECT_EQ(mxfp4_effective_scale(below, Log2Rule::rounded), std::scalbn(1.0F, exponent - 2))
            << n << " floats below 2^" << k;
        EXPECT_EQ(mxfp4_effective_scale(below, Log2Rule::exponent), std::scalbn(1.0F, k - 3));
      }
    }
  }
}

TEST(FakeQuantMxfp4, TheEndOfTheRangeGoesByTheRule) {
  const float greatest = std::nextafter(infinity, 0.0F);
  EXPECT_EQ(mxfp4_effective_scale(greatest, Log2Rule::rounded), 0x1p126F);
  EXPECT_EQ(mxfp4_effective_scale(greatest, Log2Rule::exponent), 0x1p125F);
  EXPECT_EQ(mxfp4_effective_scale(infinity, Log2Rule::rounded), 0x1p127F);
  EXPECT_EQ(mxfp4_effective_scale(infinity, Log2Rule::exponent), 0x1p126F);
  expect_same(forward_row({greatest}), Floats{infinity});
  expect_same(forward_row({infinity, 0x1p127F, 1}), Floats{nan, 0x1p127F, 0});
}

TEST(FakeQuantMxfp4, ClipsWhatIsBetweenTheGreatestLevelAndTheNextPower) {
  expect_same(forward_row({7.9F, -7.9F, 5, 0.25F, -0.0F}), Floats{6, -6, 4, 0, 0});
  expect_same(forward_row({0.99999994F}), Floats{0.75F});
}

TEST(FakeQuantMxfp4, BlocksAreOf32AndEndWithTheirRow) {
  Floats row(40, 1);
  row[35] = 100;
  const Floats output = forward_row(row);
  EXPECT_EQ(output[31], 1);
  EXPECT_EQ(output[32], 0);  // in the block of the hundred
  EXPECT_EQ(output[35], 96);
  Floats two_rows(40, 1);
  two_rows[19] = 100;
  Floats both(40);
  fake_quant_mxfp4({.x = two_rows, .rows = 2, .columns = 20}, both);
  EXPECT_EQ(both[0], 0);
  EXPECT_EQ(both[20], 1);
}

TEST(FakeQuantMxfp4, TheGradientIsMultipliedAndDivided) {
  const Floats huge{0x1p127F, 1};
  const Floats zeros{0, 0};
  Floats gradient(2);
  fake_quant_mxfp4_backward({.x = huge, .rows = 1, .columns = 2}, Floats{8, 0.5F}, gradient);
  expect_same(gradient, Floats{infinity, 0.5F});  // 8 * 2^125 is beyond the range
  fake_quant_mxfp4_backward({.x = zeros, .rows = 1, .columns = 2}, Floats{0x1p-48F, 0.3F},
                            gradient);
  expect_same(gradient, Floats{0, 0.3F});  // 2^-48 * 2^-102 is below it
}

}  // namespace
}  // namespace lyk::reference::test
