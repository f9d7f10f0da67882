// ms_deform_attn on CUDA: forward bit for bit with the oracle, gradients within a tolerance of the
// oracle in double, and the deterministic ones bit for bit with themselves in every order.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/cuda/deform_case.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

// Scaled down from the shapes of the models, and one of each kind of channel count.
std::vector<DeformCase> cases() {
  std::vector<DeformCase> out{
      {.name = "two levels", .shapes = {4, 6, 2, 3}, .batch = 2, .heads = 2},
      {.name = "RF-DETR", .shapes = {6, 6}, .heads = 4, .channels = 16, .queries = 9},
      {.name = "encoder",
       .shapes = {8, 8, 4, 4, 2, 2, 1, 1},
       .batch = 2,
       .heads = 2,
       .channels = 32,
       .queries = 5,
       .points = 4},
      {.name = "one cell", .shapes = {1, 1}, .queries = 40},
      {.name = "an empty level", .shapes = {2, 3, 0, 5, 3, 2}}};
  for (const std::size_t channels : std::vector<std::size_t>{1, 2, 3, 30, 64, 71, 128})
    out.push_back({.name = std::to_string(channels) + " channels",
                   .shapes = {6, 4, 3, 2},
                   .heads = 2,
                   .channels = channels,
                   .queries = 2});
  for (const std::size_t channels : std::vector<std::size_t>{1025, 2048})
    out.push_back({.name = std::to_string(channels) + " channels",
                   .shapes = {2, 2},
                   .channels = channels,
                   .queries = 1});
  return out;
}

// Every case in a layout, a type or an alignment of its own as well.
std::vector<DeformCase> variants() {
  std::vector<DeformCase> out = cases();
  for (DeformCase given : cases()) {
    given.name += ", permuted value";
    given.layout = ValueLayout::permuted;
    if (given.channels < 100)
      out.push_back(given);
  }
  for (const std::size_t channels : std::vector<std::size_t>{4, 24, 32}) {
    DeformCase given{
        .name = "unaligned", .shapes = {4, 6, 2, 3}, .heads = 2, .channels = channels, .shift = 1};
    out.push_back(given);
  }
  for (const ElementType value : element_types)
    for (const ElementType locations : element_types)
      for (const ElementType weights : element_types)
        out.push_back({.name = "mixed" + suffix(value) + suffix(locations) + suffix(weights),
                       .shapes = {4, 6, 2, 3},
                       .heads = 2,
                       .channels = value == locations ? std::size_t{16} : std::size_t{12},
                       .value_type = value,
                       .locations_type = locations,
                       .weights_type = weights});
  return out;
}

TEST(MsDeformAttnOnCuda, ForwardGivesTheBitsOfTheOracle) {
  for (const DeformCase& given : variants()) {
    SCOPED_TRACE(given.name);
    const DeformTensors tensors = tensors_of(given, 3);
    const auto expected = rounded_to(given.value_type, forward_of_oracle(tensors));
    for (const std::uint64_t order : thread_orders)
      expect_same(forward_on_cuda(given, tensors, {.order = order}), expected);
  }
}

// Two numbers of a type as good as equal: within one step of a 16-bit type, or the tolerance that
// LibreYOLO's own tests have, tenfold tightened; a sum over many channels may be that much off
// more.
struct Tolerance {
  ElementType type = ElementType::f32;
  std::size_t terms = 1;
};

void expect_near(const Tolerance& tolerance,
                 const std::vector<float>& actual,
                 const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  float step = 1e-4F;
  if (tolerance.type != ElementType::f32)
    step = tolerance.type == ElementType::f16 ? 0x1p-10F : 0x1p-7F;
  const float least = 1e-5F + 1e-6F * static_cast<float>(tolerance.terms);
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], least + step * std::fabs(expected[i])) << "element " << i;
}

void expect_near(const DeformCase& given,
                 const DeformGradients& actual,
                 const DeformGradients& expected) {
  expect_near({.type = given.value_type}, actual.value, expected.value);
  expect_near({given.locations_type, given.channels}, actual.locations, expected.locations);
  expect_near({given.weights_type, given.channels}, actual.weights, expected.weights);
}

void expect_same_bits(const DeformGradients& actual, const DeformGradients& expected) {
  expect_same(actual.value, expected.value);
  expect_same(actual.locations, expected.locations);
  expect_same(actual.weights, expected.weights);
}

// Those of a centre: a coordinate that is one only after rounding has its gradient on either side.
DeformTensors without_centres(DeformTensors tensors) {
  for (float& location : tensors.locations)
    if (location == 0.5F || location == 0.125F)
      location = 0.28125F;  // of every type, and on no centre
  return tensors;
}

TEST(MsDeformAttnOnCuda, AtomicBackwardIsNearTheOracle) {
  for (const DeformCase& given : variants()) {
    SCOPED_TRACE(given.name);
    const DeformTensors tensors = without_centres(tensors_of(given, 4));
    const DeformGradients expected = backward_of_oracle(tensors);
    for (const std::uint64_t order : thread_orders)
      expect_near(given, backward_on_cuda(given, tensors, Backward::atomic, {.order = order}),
                  expected);
  }
}

TEST(MsDeformAttnOnCuda, DeterministicBackwardIsNearTheOracleAndTheSameInEveryOrder) {
  for (const DeformCase& given : variants()) {
    SCOPED_TRACE(given.name);
    const DeformTensors tensors = without_centres(tensors_of(given, 5));
    const DeformGradients first = backward_on_cuda(given, tensors, Backward::deterministic, {});
    expect_near(given, first, backward_of_oracle(tensors));
    for (const std::uint64_t order : {thread_orders[1], thread_orders[2]})
      expect_same_bits(backward_on_cuda(given, tensors, Backward::deterministic, {.order = order}),
                       first);
  }
}

// As many points as there can be around one cell, with gradients that cancel: a sum of floats would
// show its order.
TEST(MsDeformAttnOnCuda, DeterministicBackwardSumsUpExactly) {
  const DeformCase given{.name = "", .shapes = {1, 1}, .channels = 4, .queries = 50, .points = 4};
  DeformTensors tensors = tensors_of(given, 6);
  for (float& location : tensors.locations)
    location = 0.5F;
  tensors.weights.assign(tensors.weights.size(), 1.0F);
  for (std::size_t i = 0; i < tensors.grad_output.size(); ++i)
    tensors.grad_output[i] = i / 4 % 2 == 0 ? 1e6F : -1e6F;
  tensors.grad_output[0] += 0.25F;
  for (const std::uint64_t order : thread_orders)
    expect_same(backward_on_cuda(given, tensors, Backward::deterministic, {.order = order}).value,
                std::vector<float>{1, 0, 0, 0});
}

TEST(MsDeformAttnOnCuda, DeterministicBackwardKeepsInfinitiesAndNaNInTheirChannel) {
  const DeformCase given{.name = "", .shapes = {1, 1}, .channels = 4, .queries = 2, .points = 1};
  DeformTensors tensors = tensors_of(given, 7);
  tensors.locations.assign(tensors.locations.size(), 0.5F);
  tensors.weights.assign(tensors.weights.size(), 1.0F);
  tensors.grad_output = {infinity, nan, 3, infinity, 1, 1, 0.25F, -infinity};
  for (const std::uint64_t order : thread_orders)
    expect_same(backward_on_cuda(given, tensors, Backward::deterministic, {.order = order}).value,
                std::vector<float>{infinity, nan, 3.25F, nan});
}

// Products and a sum that are too large for a float, beside one that is not.
TEST(MsDeformAttnOnCuda, DeterministicBackwardOverflowsInItsChannelAlone) {
  const DeformCase given{.name = "", .shapes = {1, 1}, .channels = 4, .queries = 2, .points = 1};
  DeformTensors tensors = tensors_of(given, 7);
  tensors.locations.assign(tensors.locations.size(), 0.5F);
  tensors.weights.assign(tensors.weights.size(), 4.0F);
  tensors.grad_output = {1e38F, -1e38F, 5e37F, 0x1p100F, 1, 1, 5e37F, 0x1p100F};
  for (const std::uint64_t order : thread_orders)
    expect_same(backward_on_cuda(given, tensors, Backward::deterministic, {.order = order}).value,
                std::vector<float>{infinity, -infinity, infinity, 0x1p103F});
}

TEST(MsDeformAttnOnCuda, DeterministicBackwardKeepsTheSmallestGradients) {
  const DeformCase given{.name = "", .shapes = {1, 1}, .channels = 4, .queries = 3, .points = 1};
  DeformTensors tensors = tensors_of(given, 8);
  tensors.locations.assign(tensors.locations.size(), 0.5F);
  tensors.weights.assign(tensors.weights.size(), 1.0F);
  constexpr float smallest = std::numeric_limits<float>::denorm_min();
  tensors.grad_output.assign(tensors.grad_output.size(), smallest);
  const auto value = backward_on_cuda(given, tensors, Backward::deterministic, {}).value;
  expect_same(value, std::vector<float>(4, 3 * smallest));
}

TEST(MsDeformAttnOnCuda, WhatOnePointAddsToTheGradientOfValueHasTheOraclesBits) {
  const DeformCase given{.name = "", .shapes = {3, 3}, .channels = 16, .queries = 1, .points = 1};
  DeformTensors tensors = tensors_of(given, 13);
  for (const float x : {0.17F, 0.181F, 0.23F, 0.3F}) {
    const float y = x + 0.0051F;
    tensors.locations = {x, y};
    const float lx = std::fma(x, 3.0F, -0.5F);
    const float ly = std::fma(y, 3.0F, -0.5F);
    const std::array<float, 4> taps{(1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx};
    constexpr std::array<std::size_t, 4> cells{0, 1, 3, 4};
    std::vector<float> expected(tensors.value.size());
    for (std::size_t tap = 0; tap < taps.size(); ++tap)
      for (std::size_t channel = 0; channel < given.channels; ++channel)
        expected[cells[tap] * given.channels + channel] =
            taps[tap] * (tensors.grad_output[channel] * tensors.weights[0]);
    for (const Backward backward : {Backward::atomic, Backward::deterministic})
      expect_same(backward_on_cuda(given, tensors, backward, {}).value, expected);
  }
}

TEST(MsDeformAttnOnCuda, DeterministicBackwardRoundsItsSumOnceToNearest) {
  const DeformCase given{.name = "", .shapes = {1, 1}, .channels = 4, .queries = 3, .points = 1};
  DeformTensors tensors = tensors_of(given, 14);
  tensors.locations.assign(tensors.locations.size(), 0.5F);
  tensors.weights.assign(tensors.weights.size(), 1.0F);
  tensors.grad_output = {1, 1, -1, 1, 0x1p-24F, 0x1p-24F, -0x1p-24F, 0, 0x1p-25F, 0, -0x1p-25F, 0};
  expect_same(backward_on_cuda(given, tensors, Backward::deterministic, {}).value,
              std::vector<float>{0x1.000002p0F, 1, -0x1.000002p0F, 1});
}

// A type of value that holds the numbers as well, another place of its elements: what is summed
// over channels is summed in one order.
TEST(MsDeformAttnOnCuda, GradientsDoNotDependOnTheTypeOrThePlaceOfValue) {
  for (const std::size_t channels :
       std::vector<std::size_t>{1, 4, 5, 12, 16, 20, 24, 30, 32, 71, 128, 200, 1025}) {
    SCOPED_TRACE(std::to_string(channels) + " channels");
    DeformCase given{
        .name = "", .shapes = {4, 6}, .channels = channels, .value_type = ElementType::f16};
    const DeformTensors tensors = tensors_of(given, 11);
    for (const Backward backward : {Backward::atomic, Backward::deterministic}) {
      given = {.name = "", .shapes = {4, 6}, .channels = channels};
      const DeformGradients expected = backward_on_cuda(given, tensors, backward, {});
      const auto expect_same_sums = [&] {
        const DeformGradients actual = backward_on_cuda(given, tensors, backward, {});
        expect_same(actual.locations, expected.locations);
        expect_same(actual.weights, expected.weights);
        if (backward == Backward::deterministic)
          expect_same(actual.value, rounded_to(given.value_type, expected.value));
      };
      given.value_type = ElementType::f16;
      expect_same_sums();
      given.layout = ValueLayout::permuted;
      expect_same_sums();
      given.value_type = ElementType::f32;
      expect_same_sums();
      given.layout = ValueLayout::dense;
      given.shift = 1;
      expect_same_sums();
    }
  }
}

// From sm_90 on, four channels are added at once.
TEST(MsDeformAttnOnCuda, ComputesTheSameFromThePtxOfNewerDevices) {
  for (const DeformCase& given : cases()) {
    SCOPED_TRACE(given.name);
    const DeformTensors tensors = without_centres(tensors_of(given, 9));
    expect_same(forward_on_cuda(given, tensors, {.sm = 90}), forward_of_oracle(tensors));
    expect_near(given, backward_on_cuda(given, tensors, Backward::atomic, {.sm = 90}),
                backward_of_oracle(tensors));
    expect_same_bits(backward_on_cuda(given, tensors, Backward::deterministic, {.sm = 90}),
                     backward_on_cuda(given, tensors, Backward::deterministic, {}));
  }
}

// The trap of a wrong device or of im2col_step: every output is 0.25.
TEST(MsDeformAttnOnCuda, GivesAQuarterAtTheCornerOfOnes) {
  const DeformCase given{.name = "",
                         .shapes = {8, 8, 4, 4},
                         .batch = 7,
                         .heads = 2,
                         .channels = 8,
                         .queries = 3,
                         .points = 4};
  DeformTensors tensors = tensors_of(given, 10);
  tensors.value.assign(tensors.value.size(), 1.0F);
  tensors.locations.assign(tensors.locations.size(), 1.0F);
  tensors.weights.assign(tensors.weights.size(), 0.125F);
  expect_same(forward_on_cuda(given, tensors, {}),
              std::vector<float>(tensors.grad_output.size(), 0.25F));
}

}  // namespace
}  // namespace lyk::test
