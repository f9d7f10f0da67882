#include <gtest/gtest.h>

#include "kernels/cpu/fake_quant_int8_affine.hpp"
#include "kernels/cpu/fake_quant_int8_per_channel.hpp"
#include "kernels/reference/fake_quant_int8_affine.hpp"
#include "kernels/reference/fake_quant_int8_per_channel.hpp"
#include "tests/cpu/shapes.hpp"
#include "tests/cpu/values.hpp"
#include "tests/cpu/ways.hpp"

namespace lyk::cpu::test {
namespace {

using slots::ChannelAxis;
using slots::FakeQuantInt8Affine;
using slots::FakeQuantInt8PerChannel;

// ---- affine

Floats oracle(const FakeQuantInt8Affine& call) {
  Floats output(call.x.size());
  reference::fake_quant_int8_affine(call, output);
  return output;
}

void expect_oracle(Pools& pools, const FakeQuantInt8Affine& call) {
  const Floats expected = oracle(call);
  pools.for_each_set([&](const Execution& execution) {
    Floats output(call.x.size());
    fake_quant_int8_affine(call, output, execution);
    expect_same(output, expected);
  });
}

void expect_gradient_of_oracle(Pools& pools,
                               const FakeQuantInt8Affine& call,
                               const Floats& grad_output) {
  Floats expected(call.x.size());
  reference::fake_quant_int8_affine_backward(call, grad_output, expected);
  pools.for_each_set([&](const Execution& execution) {
    Floats gradient(call.x.size());
    fake_quant_int8_affine_backward(call, grad_output, gradient, execution);
    expect_same(gradient, expected);
  });
}

TEST(Int8Affine, HasTheOraclesBitsOnEveryShape) {
  Pools pools;
  std::vector<Matrix> shapes = linear_activations();
  for (const Matrix& odd : odd_shapes())
    shapes.push_back(odd);
  shapes.push_back({64, 25600});
  shapes.push_back({512, 400});
  for (const Matrix& shape : shapes) {
    const Floats x = values(shape.elements(), static_cast<std::uint32_t>(shape.columns), 4);
    expect_oracle(pools, {.x = x, .lo = -2.5F, .hi = 3.25F});
  }
}

TEST(Int8Affine, BatchesOfEightAreEightTimesTheOraclesBits) {
  Pools pools;
  for (const Matrix& shape : largest_activations()) {
    const Floats x = values(shape.elements(), static_cast<std::uint32_t>(shape.columns), 4);
    const Floats batch = eight_times(x);
    Floats output(batch.size());
    fake_quant_int8_affine({.x = batch, .lo = -2.5F, .hi = 3.25F}, output, pools.best());
    expect_same(output, eight_times(oracle({.x = x, .lo = -2.5F, .hi = 3.25F})));
  }
}

TEST(Int8Affine, SpecialValuesAndRangesGiveTheOraclesBits) {
  Pools pools;
  const Floats x = wild_values(3001, 1, 4);
  const Floats grad_output = wild_values(3001, 2);
  struct Range {
    float lo;
    float hi;
  };
  for (const Range& range : {Range{-2.5F, 3.25F},
                             {0, 0},
                             {1, 2},
                             {-3, -1},
                             {-1e-30F, 1e-30F},
                             {-1e30F, 3e38F},
                             {-infinity, 1},
                             {-1, infinity},
                             {nan, 1},
                             {-1, nan}}) {
    const FakeQuantInt8Affine call{.x = x, .lo = range.lo, .hi = range.hi};
    expect_oracle(pools, call);
    expect_gradient_of_oracle(pools, call, grad_output);
  }
}

TEST(Int8Affine, ResultsDoNotDependOnThreads) {
  Pools pools;
  const Floats x = wild_values(300007, 3);
  const FakeQuantInt8Affine call{.x = x, .lo = -0.5F, .hi = 0.25F};
  const Floats expected = oracle(call);
  Floats expected_gradient(x.size());
  reference::fake_quant_int8_affine_backward(call, x, expected_gradient);
  pools.for_each_way([&](const Execution& execution) {
    Floats output(x.size());
    fake_quant_int8_affine(call, output, execution);
    expect_same(output, expected);
    fake_quant_int8_affine_backward(call, x, output, execution);
    expect_same(output, expected_gradient);
  });
}

// ---- per channel

void expect_oracle(Pools& pools, const FakeQuantInt8PerChannel& call) {
  Floats expected(call.weight.size());
  reference::fake_quant_int8_per_channel(call, expected);
  pools.for_each_set([&](const Execution& execution) {
    Floats output(call.weight.size());
    fake_quant_int8_per_channel(call, output, execution);
    expect_same(output, expected);
  });
}

void expect_gradient_of_oracle(Pools& pools,
                               const FakeQuantInt8PerChannel& call,
                               const Floats& grad_output) {
  Floats expected(call.weight.size());
  reference::fake_quant_int8_per_channel_backward(call, grad_output, expected);
  pools.for_each_set([&](const Execution& execution) {
    Floats gradient(call.weight.size());
    fake_quant_int8_per_channel_backward(call, grad_output, gradient, execution);
    expect_same(gradient, expected);
  });
}

// Some of them too small, so that values are clipped.
Floats frozen_scales(std::size_t channels) {
  Floats scales = values(channels, 11, 0.001F);
  for (float& scale : scales)
    scale = std::fabs(scale) + 0.004F;
  return scales;
}

TEST(Int8PerChannel, HasTheOraclesBitsOnEveryShapeAndAxis) {
  Pools pools;
  std::vector<ChannelAxis> axes;
  for (const Matrix& shape : linear_weights())
    axes.push_back({.channels = shape.rows, .inner = shape.columns});
  for (const Matrix& shape : odd_shapes()) {
    axes.push_back({.channels = shape.rows, .inner = shape.columns});
    axes.push_back({.outer = shape.rows, .channels = shape.columns, .inner = 1});
    axes.push_back({.outer = 3, .channels = shape.rows, .inner = shape.columns});
  }
  axes.push_back({.channels = 64, .inner = 288});
  axes.push_back({.channels = 512, .inner = 256});
  axes.push_back({.outer = 4, .channels = 256, .inner = 9});
  axes.push_back({.outer = 2, .channels = 3, .inner = 40000});
  axes.push_back({.outer = 9, .channels = 512, .inner = 64});
  for (const ChannelAxis& axis : axes) {
    const Floats weight = values(axis.elements(), static_cast<std::uint32_t>(axis.inner));
    const Floats scale = frozen_scales(axis.channels);
    expect_oracle(pools, {.weight = weight, .axis = axis});
    expect_oracle(pools, {.weight = weight, .axis = axis, .scale = scale});
  }
}

TEST(Int8PerChannel, SpecialValuesGiveTheOraclesBits) {
  Pools pools;
  Floats scale = frozen_scales(50);
  const std::array odd_scales{0.0F, -0.0F, -0.01F, 1e-38F, 0x1p-149F, 1e30F, infinity, nan};
  std::ranges::copy(odd_scales, scale.begin());
  for (const ChannelAxis& axis : {ChannelAxis{.channels = 50, .inner = 100},
                                  ChannelAxis{.outer = 100, .channels = 50, .inner = 1},
                                  ChannelAxis{.outer = 7, .channels = 50, .inner = 5}}) {
    const Floats weight = wild_values(axis.elements(), 4);
    const Floats grad_output = wild_values(axis.elements(), 5);
    for (const std::span<const float> scales :
         {std::span<const float>{}, std::span<const float>{scale}}) {
      const FakeQuantInt8PerChannel call{.weight = weight, .axis = axis, .scale = scales};
      expect_oracle(pools, call);
      expect_gradient_of_oracle(pools, call, grad_output);
    }
  }
}

TEST(Int8PerChannel, ResultsDoNotDependOnThreads) {
  Pools pools;
  for (const ChannelAxis& axis : {ChannelAxis{.channels = 300, .inner = 1001},
                                  ChannelAxis{.outer = 300, .channels = 1001, .inner = 1},
                                  ChannelAxis{.outer = 70000, .channels = 1, .inner = 3},
                                  ChannelAxis{.outer = 30, .channels = 100, .inner = 100}}) {
    const Floats weight = values(axis.elements(), 6);
    const FakeQuantInt8PerChannel call{.weight = weight, .axis = axis};
    Floats expected(weight.size());
    reference::fake_quant_int8_per_channel(call, expected);
    pools.for_each_way([&](const Execution& execution) {
      Floats output(weight.size());
      fake_quant_int8_per_channel(call, output, execution);
      expect_same(output, expected);
    });
  }
}

TEST(Int8PerChannel, AnOutputMayBeItsInput) {
  Pools pools;
  Floats weight = values(6400, 7);
  const FakeQuantInt8PerChannel call{.weight = weight, .axis = {.channels = 64, .inner = 100}};
  Floats expected(weight.size());
  reference::fake_quant_int8_per_channel(call, expected);
  fake_quant_int8_per_channel(call, weight, pools.best());
  expect_same(weight, expected);
}

TEST(Int8, NothingIsDoneToEmptyTensors) {
  Pools pools;
  fake_quant_int8_affine({.lo = -1, .hi = 1}, {}, pools.best());
  fake_quant_int8_per_channel({.axis = {.channels = 3, .inner = 0}}, {}, pools.best());
  fake_quant_int8_per_channel({.axis = {.channels = 0, .inner = 3}}, {}, pools.best());
}

}  // namespace
}  // namespace lyk::cpu::test
