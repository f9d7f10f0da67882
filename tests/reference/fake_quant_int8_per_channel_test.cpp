#include "kernels/reference/fake_quant_int8_per_channel.hpp"

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
using slots::CodeOverflow;
using slots::FakeQuantInt8PerChannel;
using slots::ScalarDivision;
using Floats = std::vector<float>;

Floats forward(const FakeQuantInt8PerChannel& call) {
  Floats output(call.weight.size());
  fake_quant_int8_per_channel(call, output);
  return output;
}

Floats backward(const FakeQuantInt8PerChannel& call, const Floats& grad_output) {
  Floats gradient(call.weight.size());
  fake_quant_int8_per_channel_backward(call, grad_output, gradient);
  return gradient;
}

TEST(FakeQuantInt8PerChannel, GivesTheBitsOfTheWorkedExample) {
  const Floats weight{1.7F, 0.3F, 1.0F, -1.7F};
  for (const auto rule : {ScalarDivision::ieee, ScalarDivision::reciprocal}) {
    const FakeQuantInt8PerChannel call{
        .weight = weight, .axis = {.outer = 1, .channels = 1, .inner = 4}, .scalar_division = rule};
    expect_same(forward(call), Floats{from_bits(0x3FD9999A), from_bits(0x3E96C728),
                                      from_bits(0x3F808102), from_bits(0xBFD9999A)});
  }
}

TEST(FakeQuantInt8PerChannel, ChannelsHaveScalesOfTheirOwn) {
  const Floats weight{127, 1.4F, 12.7F, 0.14F};
  const FakeQuantInt8PerChannel rows{.weight = weight, .axis = {.channels = 2, .inner = 2}};
  expect_same(forward(rows), Floats{127, 1, 12.7F, from_bits(0x3DCCCCCD)});
  const FakeQuantInt8PerChannel columns{.weight = weight,
                                        .axis = {.outer = 2, .channels = 2, .inner = 1}};
  EXPECT_EQ(forward(columns)[2], 13);  // the scale of its column is 1
}

TEST(FakeQuantInt8PerChannel, AScaleFromTheWeightClipsNothing) {
  const Floats weight = normal_floats(3 * 5 * 7, 2);
  const FakeQuantInt8PerChannel call{.weight = weight,
                                     .axis = {.outer = 3, .channels = 5, .inner = 7}};
  const Floats grad_output = normal_floats(weight.size(), 3);
  expect_same(backward(call, grad_output), grad_output);
}

TEST(FakeQuantInt8PerChannel, AGivenScaleClipsAndMasksTheGradient) {
  const Floats weight{127.4F, 127.6F, -128.4F, -129, 200, 0};
  const Floats scale{1};
  const FakeQuantInt8PerChannel call{
      .weight = weight, .axis = {.channels = 1, .inner = 6}, .scale = scale};
  expect_same(forward(call), Floats{127, 127, -128, -128, 127, 0});
  // The mask is a factor: it leaves the sign of a zero and makes NaN of an infinity.
  expect_same(backward(call, {2, 2, -2, -2, infinity, nan}), Floats{2, 0, -2, -0.0F, nan, nan});
}

TEST(FakeQuantInt8PerChannel, TiesGoToTheEvenCode) {
  const Floats weight{0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F};
  const Floats scale{1};
  const FakeQuantInt8PerChannel call{
      .weight = weight, .axis = {.channels = 1, .inner = 6}, .scale = scale};
  expect_same(forward(call), Floats{0, 2, 2, 0, -2, -2});
}

TEST(FakeQuantInt8PerChannel, AZeroScaleGivesZerosAndNoGradient) {
  const Floats weight{1, -1, 0};
  const Floats scale{0};
  const FakeQuantInt8PerChannel call{
      .weight = weight, .axis = {.channels = 1, .inner = 3}, .scale = scale};
  expect_same(forward(call), Floats{-0.0F, -0.0F, -0.0F});
  expect_same(backward(call, {1, 1, 1}), Floats{0, 0, 0});
}

TEST(FakeQuantInt8PerChannel, WhatOverflowsHasTheCodeOfTheRule) {
  const Floats weight{infinity, -infinity, nan, 0x1p63F, 0x1.fffffep62F, -0x1p70F};
  const Floats scale{1};
  FakeQuantInt8PerChannel call{
      .weight = weight, .axis = {.channels = 1, .inner = 6}, .scale = scale};
  expect_same(forward(call), Floats{-128, -128, -128, -128, 127, -128});
  call.overflow = CodeOverflow::saturate;
  expect_same(forward(call), Floats{127, -128, -128, 127, 127, -128});
  for (const auto rule : {CodeOverflow::lowest, CodeOverflow::saturate}) {
    call.overflow = rule;
    expect_same(backward(call, Floats(6, 1)), Floats(6, 0));
  }
}

TEST(FakeQuantInt8PerChannel, AnEmptyChannelDividesBySomething) {
  const Floats weight{0, -0.0F};
  const FakeQuantInt8PerChannel call{.weight = weight, .axis = {.channels = 1, .inner = 2}};
  expect_same(forward(call), Floats{0, 0});
}

TEST(FakeQuantInt8PerChannel, NanMakesItsChannelNan) {
  const Floats weight{1, nan, 1, 2};
  const FakeQuantInt8PerChannel call{.weight = weight, .axis = {.channels = 2, .inner = 2}};
  const Floats output = forward(call);
  EXPECT_TRUE(std::isnan(output[0]) && std::isnan(output[1]));
  EXPECT_EQ(output[3], 2);
}

}  // namespace
}  // namespace lyk::reference::test
