#include "kernels/reference/fake_quant_int_grouped.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/reference/bits.hpp"

namespace lyk::reference::test {
namespace {

using lyk::test::expect_same;
using lyk::test::from_bits;
using lyk::test::infinity;
using lyk::test::nan;
using lyk::test::normal_floats;
using slots::FakeQuantIntGrouped;
using slots::ScalarDivision;
using Floats = std::vector<float>;

Floats forward(const FakeQuantIntGrouped& call) {
  Floats output(call.weight.size());
  fake_quant_int_grouped(call, output);
  return output;
}

TEST(FakeQuantIntGrouped, ATieGoesByTheRuleOfTheDivision) {
  const Floats weight{0.9F, 0.45F};
  FakeQuantIntGrouped call{.weight = weight, .rows = 1, .columns = 2};
  const float ieee_scale = from_bits(0x3E03A83A);
  expect_same(forward(call), Floats{from_bits(0x3F666666), 4 * ieee_scale});
  call.scalar_division = ScalarDivision::reciprocal;
  const float reciprocal_scale = from_bits(0x3E03A83B);
  expect_same(forward(call), Floats{from_bits(0x3F666667), 3 * reciprocal_scale});
}

TEST(FakeQuantIntGrouped, TwoBitsHaveFourLevels) {
  const Floats weight{2, 0.9F, 1.1F, -1.1F, -2, 0.1F};
  expect_same(forward({.weight = weight, .rows = 1, .columns = 6, .bits = 2, .group_size = 64}),
              Floats{2, 0, 2, -2, -2, 0});
  const Floats scale{1};
  expect_same(forward({.weight = weight,
                       .rows = 1,
                       .columns = 6,
                       .bits = 2,
                       .group_size = 64,
                       .scale = {.data = scale.data()}}),
              Floats{1, 1, 1, -1, -2, 0});
}

TEST(FakeQuantIntGrouped, TheLastGroupOfARowMayBeShorter) {
  // Groups of two in rows of three: each has its own scale, and no group goes on in the next row.
  const Floats weight{7, 1.2F, 0.7F, 14, 3, 70};
  expect_same(forward({.weight = weight, .rows = 2, .columns = 3, .group_size = 2}),
              Floats{7, 1, 0.7F, 14, 4, 70});
}

TEST(FakeQuantIntGrouped, AScaleMayBeBroadcast) {
  const Floats weight = normal_floats(static_cast<std::size_t>(3) * 5, 4);
  FakeQuantIntGrouped call{.weight = weight, .rows = 3, .columns = 5, .group_size = 2};
  const Floats per_row{0.1F, 0.2F, 0.3F};
  const Floats full{0.1F, 0.1F, 0.1F, 0.2F, 0.2F, 0.2F, 0.3F, 0.3F, 0.3F};
  call.scale = {.data = per_row.data(), .row_stride = 1};
  const Floats broadcast = forward(call);
  call.scale = {.data = full.data(), .row_stride = 3, .group_stride = 1};
  expect_same(broadcast, forward(call));
}

TEST(FakeQuantIntGrouped, WhatIsNotFiniteBecomesNanAndZeroPositive) {
  const Floats weight{infinity, 1, nan, 1, -0.0F, 7};
  const Floats output = forward({.weight = weight, .rows = 1, .columns = 6, .group_size = 2});
  expect_same(output, Floats{nan, nan, nan, nan, 0, 7});
  const Floats scale{1};
  expect_same(forward({.weight = weight,
                       .rows = 1,
                       .columns = 6,
                       .group_size = 6,
                       .scale = {.data = scale.data()}}),
              Floats{nan, 1, nan, 1, 0, 7});
}

TEST(FakeQuantIntGrouped, AGroupOfZerosAndATinyScaleAreLifted) {
  const Floats weight{0, 0, 3e-12F, 0};
  const Floats scale{1e-20F, 1e-20F};
  expect_same(forward({.weight = weight,
                       .rows = 1,
                       .columns = 4,
                       .group_size = 2,
                       .scale = {.data = scale.data(), .group_stride = 1}}),
              Floats{0, 0, 3e-12F, 0});
  const Floats zeros{0, 0};
  expect_same(forward({.weight = zeros, .rows = 1, .columns = 2, .group_size = 2}), Floats{0, 0});
}

TEST(FakeQuantIntGrouped, TheGradientPassesUnchanged) {
  const Floats weight{100, 1, nan};
  const Floats grad_output{-0.0F, 0.3F, nan};
  Floats gradient(3);
  fake_quant_int_grouped_backward({.weight = weight, .rows = 1, .columns = 3}, grad_output,
                                  gradient);
  expect_same(gradient, grad_output);
}

}  // namespace
}  // namespace lyk::reference::test
