#include "kernels/reference/fake_quant_fp8.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/reference/bits.hpp"

namespace lyk::reference::test {
namespace {

using lyk::test::expect_same;
using lyk::test::from_bits;
using lyk::test::infinity;
using lyk::test::nan;
using slots::FakeQuantFp8;
using Floats = std::vector<float>;

Floats forward(const FakeQuantFp8& call) {
  Floats output(call.x.size());
  fake_quant_fp8(call, output);
  return output;
}

TEST(FakeQuantFp8, GivesTheBitsOfTheWorkedExample) {
  struct Row {
    std::uint32_t scale;  // 1.7 / 448 as a CPU and as CUDA divides
    std::uint32_t output;
  };
  const Floats x{-0.3F};
  for (const Row& row : {Row{0x3B78AF8B, 0xBE9B6DB7}, Row{0x3B78AF8C, 0xBE9B6DB8}}) {
    const Floats scale{from_bits(row.scale)};
    expect_same(forward({.x = x, .axis = {.channels = 1, .inner = 1}, .scale = scale}),
                Floats{from_bits(row.output)});
  }
}

TEST(FakeQuantFp8, SaturationBeyondTwiceTheGreatestLevelLeavesTheGrid) {
  const Floats x{-100};
  const Floats scale{from_bits(0x3B78AF8B)};
  // The grid has 0xBFD9999A there; the two additions of the estimator make this of it.
  expect_same(forward({.x = x, .axis = {.channels = 1, .inner = 1}, .scale = scale}),
              Floats{from_bits(0xBFD99980)});
}

TEST(FakeQuantFp8, APowerOfTwoSaturatesExactly) {
  const Floats x{1e6F, -1e6F, 449, 447};
  const Floats scale{1};
  expect_same(forward({.x = x, .axis = {.channels = 1, .inner = 4}, .scale = scale}),
              Floats{448, -448, 448, 448});
}

TEST(FakeQuantFp8, ScalesGoWithTheirChannels) {
  const Floats x{1, 300, 1, 300};
  const Floats scale{1, 0.5F};
  expect_same(forward({.x = x, .axis = {.channels = 2, .inner = 2}, .scale = scale}),
              Floats{1, 288, 1, 224});
  expect_same(forward({.x = x, .axis = {.outer = 2, .channels = 2, .inner = 1}, .scale = scale}),
              Floats{1, 224, 1, 224});
}

TEST(FakeQuantFp8, WhatIsNotFiniteBecomesNanAndZeroPositive) {
  const Floats x{infinity, -infinity, nan, -0.0F};
  const Floats scale{1};
  expect_same(forward({.x = x, .axis = {.channels = 1, .inner = 4}, .scale = scale}),
              Floats{nan, nan, nan, 0});
}

TEST(FakeQuantFp8, ASmallScaleIsLiftedAndNanIsPassedOn) {
  const Floats x{3e-12F, 3e-12F};
  const Floats scale{-1, nan};
  expect_same(forward({.x = x, .axis = {.channels = 2, .inner = 1}, .scale = scale}),
              Floats{3e-12F, nan});
}

TEST(FakeQuantFp8, TheGradientPassesUnchanged) {
  const Floats x{1e6F, 0.1F, nan};
  const Floats scale{1};
  const Floats grad_output{-0.0F, 0.3F, nan};
  Floats gradient(3);
  fake_quant_fp8_backward({.x = x, .axis = {.channels = 1, .inner = 3}, .scale = scale},
                          grad_output, gradient);
  expect_same(gradient, grad_output);
}

}  // namespace
}  // namespace lyk::reference::test
