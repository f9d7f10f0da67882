#include <gtest/gtest.h>

#include "kernels/cpu/channels.hpp"
#include "kernels/cpu/fake_quant_fp8.hpp"
#include "kernels/cpu/fake_quant_int_grouped.hpp"
#include "kernels/reference/fake_quant_fp8.hpp"
#include "kernels/reference/fake_quant_int_grouped.hpp"
#include "tests/cpu/shapes.hpp"
#include "tests/cpu/values.hpp"
#include "tests/cpu/ways.hpp"

namespace lyk::cpu::test {
namespace {

using slots::ChannelAxis;
using slots::FakeQuantFp8;
using slots::FakeQuantIntGrouped;

// ---- FP8

Floats oracle(const FakeQuantFp8& call) {
  Floats output(call.x.size());
  reference::fake_quant_fp8(call, output);
  return output;
}

void expect_oracle(Pools& pools, const FakeQuantFp8& call) {
  const Floats expected = oracle(call);
  pools.for_each_set([&](const Execution& execution) {
    Floats output(call.x.size());
    fake_quant_fp8(call, output, execution);
    expect_same(output, expected);
  });
}

Floats positive_scales(std::size_t count) {
  Floats scales = values(count, 21, 0.01F);
  for (float& scale : scales)
    scale = std::fabs(scale) + 1e-4F;
  return scales;
}

TEST(Fp8, WeightsHaveTheOraclesBitsOnEveryShape) {
  Pools pools;
  std::vector<Matrix> shapes = linear_weights();
  for (const Matrix& odd : odd_shapes())
    shapes.push_back(odd);
  shapes.push_back({64, 288});
  shapes.push_back({512, 2304});
  for (const Matrix& shape : shapes) {
    const Floats x = values(shape.elements(), static_cast<std::uint32_t>(shape.columns));
    const Floats scale = positive_scales(shape.rows);
    expect_oracle(
        pools, {.x = x, .axis = {.channels = shape.rows, .inner = shape.columns}, .scale = scale});
  }
}

TEST(Fp8, ActivationsHaveTheOraclesBitsOnEveryShape) {
  Pools pools;
  const Floats scale{0.0031F};
  for (const Matrix& shape : linear_activations()) {
    const Floats x = values(shape.elements(), static_cast<std::uint32_t>(shape.columns), 4);
    expect_oracle(pools, {.x = x, .axis = {.inner = x.size()}, .scale = scale});
  }
}

TEST(Fp8, BatchesOfEightAreEightTimesTheOraclesBits) {
  Pools pools;
  const Floats scale{0.0031F};
  for (const Matrix& shape : largest_activations()) {
    const Floats x = values(shape.elements(), static_cast<std::uint32_t>(shape.columns), 4);
    const FakeQuantFp8 call{.x = x, .axis = {.inner = x.size()}, .scale = scale};
    const Floats batch = eight_times(x);
    Floats output(batch.size());
    fake_quant_fp8({.x = batch, .axis = {.inner = batch.size()}, .scale = scale}, output,
                   pools.best());
    expect_same(output, eight_times(oracle(call)));
  }
}

TEST(Fp8, ChannelsAnywhereHaveTheOraclesBits) {
  Pools pools;
  for (const ChannelAxis& axis : {ChannelAxis{.outer = 5000, .channels = 3, .inner = 1},
                                  ChannelAxis{.outer = 5000, .channels = 1, .inner = 3},
                                  ChannelAxis{.outer = 2, .channels = 100, .inner = 63},
                                  ChannelAxis{.outer = 2, .channels = 100, .inner = 64},
                                  ChannelAxis{.outer = 100, .channels = 2000, .inner = 1}}) {
    const Floats x = values(axis.elements(), 22);
    const Floats scale = positive_scales(axis.channels);
    expect_oracle(pools, {.x = x, .axis = axis, .scale = scale});
  }
}

TEST(Fp8, AnOnlyChannelIsOneStretchWhereverItsAxisStands) {
  Workers workers{1};
  const Floats scale{1};
  int stretches = 0;
  for_each_stretch(slots::joined({.outer = 1000, .channels = 1, .inner = 9}), scale, workers,
                   [&](const Stretch& stretch) {
                     ++stretches;
                     EXPECT_EQ(stretch.count, 9000U);
                   });
  EXPECT_EQ(stretches, 1);
}

TEST(Fp8, SpecialValuesAndScalesGiveTheOraclesBits) {
  Pools pools;
  Floats scale = positive_scales(50);
  const std::array odd_scales{0.0F,  -1.0F, 1e-12F, 1e-38F,   1.0F,
                              0.25F, 1e30F, 3e38F,  infinity, nan};
  std::ranges::copy(odd_scales, scale.begin());
  for (const ChannelAxis& axis : {ChannelAxis{.channels = 50, .inner = 1000},
                                  ChannelAxis{.outer = 1000, .channels = 50, .inner = 1}}) {
    const Floats x = wild_values(axis.elements(), 23, 4);
    expect_oracle(pools, {.x = x, .axis = axis, .scale = scale});
  }
}

// Every tie and every neighbour of one, of all codes.
TEST(Fp8, RoundingIsTheOraclesAroundEveryCode) {
  Pools pools;
  Floats x;
  for (int exponent = -12; exponent <= 8; ++exponent)
    for (int sixteenths = 0; sixteenths < 16; ++sixteenths) {
      const float tie = std::ldexp(1 + static_cast<float>(sixteenths) / 16, exponent);
      for (const float value : {tie, std::nextafter(tie, 0.0F), std::nextafter(tie, 1e3F)})
        x.insert(x.end(), {value, -value});
    }
  const Floats scale{1};
  expect_oracle(pools, {.x = x, .axis = {.inner = x.size()}, .scale = scale});
}

TEST(Fp8, TheGradientPassesUnchanged) {
  Pools pools;
  const Floats grad_output = wild_values(100003, 24);
  const Floats scale{1};
  pools.for_each_way([&](const Execution& execution) {
    Floats gradient(grad_output.size());
    fake_quant_fp8_backward(
        {.x = grad_output, .axis = {.inner = grad_output.size()}, .scale = scale}, grad_output,
        gradient, execution);
    expect_same(gradient, grad_output);
  });
}

TEST(Fp8, ResultsDoNotDependOnThreads) {
  Pools pools;
  const Floats x = wild_values(300000, 25);
  const Floats scale = positive_scales(300);
  for (const ChannelAxis& axis : {ChannelAxis{.channels = 300, .inner = 1000},
                                  ChannelAxis{.outer = 1000, .channels = 300, .inner = 1}}) {
    const FakeQuantFp8 call{.x = x, .axis = axis, .scale = scale};
    const Floats expected = oracle(call);
    pools.for_each_way([&](const Execution& execution) {
      Floats output(x.size());
      fake_quant_fp8(call, output, execution);
      expect_same(output, expected);
    });
  }
}

// ---- grouped integers

void expect_oracle(Pools& pools, const FakeQuantIntGrouped& call) {
  Floats expected(call.weight.size());
  reference::fake_quant_int_grouped(call, expected);
  pools.for_each_set([&](const Execution& execution) {
    Floats output(call.weight.size());
    fake_quant_int_grouped(call, output, execution);
    expect_same(output, expected);
  });
}

struct Recipe {
  unsigned bits;
  std::size_t group_size;
};

TEST(IntGrouped, HasTheOraclesBitsOnEveryShape) {
  Pools pools;
  std::vector<Matrix> shapes = linear_weights();
  for (const Matrix& odd : odd_shapes())
    shapes.push_back(odd);
  for (const Recipe& recipe : {Recipe{4, 128}, {2, 64}, {3, 7}, {8, 1}, {5, 1000000}})
    for (const Matrix& shape : shapes) {
      const Floats weight = values(shape.elements(), static_cast<std::uint32_t>(shape.columns));
      expect_oracle(pools, {.weight = weight,
                            .rows = shape.rows,
                            .columns = shape.columns,
                            .bits = recipe.bits,
                            .group_size = recipe.group_size});
    }
}

TEST(IntGrouped, SpecialValuesAndScalesGiveTheOraclesBits) {
  Pools pools;
  const Matrix shape{60, 300};
  const Floats weight = wild_values(shape.elements(), 31);
  Floats scale = positive_scales(3 * shape.rows);
  const std::array odd_scales{0.0F,  -1.0F, 1e-12F, 1e-38F,   1.0F,
                              0.25F, 1e30F, 3e38F,  infinity, nan};
  std::ranges::copy(odd_scales, scale.begin());
  for (const slots::GroupScale& given :
       {slots::GroupScale{}, slots::GroupScale{scale.data(), 3, 1},
        slots::GroupScale{scale.data(), 1, 0}, slots::GroupScale{scale.data(), 0, 1}})
    for (const unsigned bits : {2U, 4U, 8U})
      expect_oracle(pools, {.weight = weight,
                            .rows = shape.rows,
                            .columns = shape.columns,
                            .bits = bits,
                            .group_size = 128,
                            .scale = given});
}

TEST(IntGrouped, ResultsDoNotDependOnThreads) {
  Pools pools;
  const Matrix shape{300, 1111};
  const Floats weight = values(shape.elements(), 32);
  const FakeQuantIntGrouped call{.weight = weight, .rows = shape.rows, .columns = shape.columns};
  Floats expected(weight.size());
  reference::fake_quant_int_grouped(call, expected);
  pools.for_each_way([&](const Execution& execution) {
    Floats output(weight.size());
    fake_quant_int_grouped(call, output, execution);
    expect_same(output, expected);
    fake_quant_int_grouped_backward(call, weight, output, execution);
    expect_same(output, weight);
  });
}

TEST(Scaled, NothingIsDoneToEmptyTensors) {
  Pools pools;
  fake_quant_fp8({.axis = {.channels = 0, .inner = 4}}, {}, pools.best());
  fake_quant_int_grouped({.rows = 3}, {}, pools.best());
  fake_quant_int_grouped({.columns = 3}, {}, pools.best());
}

}  // namespace
}  // namespace lyk::cpu::test
