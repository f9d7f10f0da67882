#include <gtest/gtest.h>

#include "kernels/cpu/fake_quant_fp4.hpp"
#include "kernels/reference/fake_quant_mxfp4.hpp"
#include "kernels/reference/fake_quant_nvfp4_dynamic.hpp"
#include "kernels/reference/fake_quant_nvfp4_weight.hpp"
#include "tests/cpu/shapes.hpp"
#include "tests/cpu/values.hpp"
#include "tests/cpu/ways.hpp"

namespace lyk::cpu::test {
namespace {

using slots::FakeQuantMxfp4;
using slots::FakeQuantNvfp4Dynamic;
using slots::FakeQuantNvfp4Weight;

struct Nvfp4Weight {
  FakeQuantNvfp4Weight call;

  Floats oracle() const {
    Floats output(call.weight.size());
    reference::fake_quant_nvfp4_weight(call, output);
    return output;
  }
  Floats oracle(const Floats& grad_output) const {
    Floats gradient(call.weight.size());
    reference::fake_quant_nvfp4_weight_backward(call, grad_output, gradient);
    return gradient;
  }
  Floats ours(const Execution& execution) const {
    Floats output(call.weight.size());
    fake_quant_nvfp4_weight(call, output, execution);
    return output;
  }
  Floats ours(const Floats& grad_output, const Execution& execution) const {
    Floats gradient(call.weight.size());
    fake_quant_nvfp4_weight_backward(call, grad_output, gradient, execution);
    return gradient;
  }
};

struct Nvfp4Dynamic {
  FakeQuantNvfp4Dynamic call;

  Floats oracle() const {
    Floats output(call.x.size());
    reference::fake_quant_nvfp4_dynamic(call, output);
    return output;
  }
  Floats oracle(const Floats& grad_output) const {
    Floats gradient(call.x.size());
    reference::fake_quant_nvfp4_dynamic_backward(call, grad_output, gradient);
    return gradient;
  }
  Floats ours(const Execution& execution) const {
    Floats output(call.x.size());
    fake_quant_nvfp4_dynamic(call, output, execution);
    return output;
  }
  Floats ours(const Floats& grad_output, const Execution& execution) const {
    Floats gradient(call.x.size());
    fake_quant_nvfp4_dynamic_backward(call, grad_output, gradient, execution);
    return gradient;
  }
};

struct Mxfp4 {
  FakeQuantMxfp4 call;

  Floats oracle() const {
    Floats output(call.x.size());
    reference::fake_quant_mxfp4(call, output);
    return output;
  }
  Floats oracle(const Floats& grad_output) const {
    Floats gradient(call.x.size());
    reference::fake_quant_mxfp4_backward(call, grad_output, gradient);
    return gradient;
  }
  Floats ours(const Execution& execution) const {
    Floats output(call.x.size());
    fake_quant_mxfp4(call, output, execution);
    return output;
  }
  Floats ours(const Floats& grad_output, const Execution& execution) const {
    Floats gradient(call.x.size());
    fake_quant_mxfp4_backward(call, grad_output, gradient, execution);
    return gradient;
  }
};

template <typename Slot>
void expect_oracle(Pools& pools, const Slot& slot) {
  const Floats expected = slot.oracle();
  pools.for_each_set(
      [&](const Execution& execution) { expect_same(slot.ours(execution), expected); });
}

template <typename Slot>
void expect_gradient_of_oracle(Pools& pools, const Slot& slot, const Floats& grad_output) {
  const Floats expected = slot.oracle(grad_output);
  pools.for_each_set([&](const Execution& execution) {
    expect_same(slot.ours(grad_output, execution), expected);
  });
}

TEST(Fp4, Nvfp4WeightHasTheOraclesBitsOnEveryShape) {
  Pools pools;
  std::vector<Matrix> shapes = linear_weights();
  for (const Matrix& odd : odd_shapes())
    shapes.push_back(odd);
  for (const auto& [rows, columns] : shapes) {
    const Floats weight = values(rows * columns, static_cast<std::uint32_t>(columns), 0.1F);
    // A stale amax: some blocks saturate.
    expect_oracle(
        pools,
        Nvfp4Weight{{.weight = weight, .rows = rows, .columns = columns, .tensor_amax = 0.07F}});
  }
}

TEST(Fp4, DynamicSlotsHaveTheOraclesBitsOnEveryShape) {
  Pools pools;
  std::vector<Matrix> shapes = linear_activations();
  for (const Matrix& odd : odd_shapes())
    shapes.push_back(odd);
  for (const auto& [rows, columns] : shapes) {
    const Floats x = values(rows * columns, static_cast<std::uint32_t>(columns), 3);
    expect_oracle(pools, Nvfp4Dynamic{{.x = x, .rows = rows, .columns = columns}});
    expect_oracle(pools, Mxfp4{{.x = x, .rows = rows, .columns = columns}});
  }
}

// Eight times the same image has eight times the same output: the oracle would take seconds.
TEST(Fp4, BatchesOfEightAreEightTimesTheOraclesBits) {
  Pools pools;
  for (const auto& [rows, columns] : largest_activations()) {
    const Floats x = values(rows * columns, static_cast<std::uint32_t>(columns), 3);
    const Floats batch = eight_times(x);
    expect_same(Nvfp4Dynamic{{.x = batch, .rows = 8 * rows, .columns = columns}}.ours(pools.best()),
                eight_times(Nvfp4Dynamic{{.x = x, .rows = rows, .columns = columns}}.oracle()));
    expect_same(Mxfp4{{.x = batch, .rows = 8 * rows, .columns = columns}}.ours(pools.best()),
                eight_times(Mxfp4{{.x = x, .rows = rows, .columns = columns}}.oracle()));
  }
}

// Special values are at every place of a block, and whole blocks of one kind too.
Floats wild_blocks(std::size_t count) {
  Floats x = wild_values(count, 7, 2);
  for (std::size_t begin = 0; begin + 64 <= count; begin += 192) {
    const float filling = special_values[begin / 192 % special_values.size()];
    std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(begin), 64, filling);
  }
  return x;
}

TEST(Fp4, SpecialValuesGiveTheOraclesBits) {
  Pools pools;
  for (const Matrix& shape : {Matrix{1, 20000}, Matrix{400, 50}}) {
    const Floats x = wild_blocks(shape.elements());
    const Floats grad_output = wild_values(shape.elements(), 8, 5);
    for (const float amax : {0.0F, 1e-9F, 1.7F, 1e30F, infinity, nan}) {
      const Nvfp4Weight slot{
          {.weight = x, .rows = shape.rows, .columns = shape.columns, .tensor_amax = amax}};
      expect_oracle(pools, slot);
      expect_gradient_of_oracle(pools, slot, grad_output);
    }
    const Mxfp4 slot{{.x = x, .rows = shape.rows, .columns = shape.columns}};
    expect_oracle(pools, slot);
    expect_gradient_of_oracle(pools, slot, grad_output);
  }
}

TEST(Fp4, OneNanMakesADynamicTensorNanInBothDirections) {
  Pools pools;
  Floats x = values(5000, 3);
  x[4321] = -nan;
  const Nvfp4Dynamic slot{{.x = x, .rows = 50, .columns = 100}};
  expect_oracle(pools, slot);
  expect_gradient_of_oracle(pools, slot, values(5000, 4));
  EXPECT_TRUE(std::isnan(slot.ours(pools.best())[0]));
}

// The floats around every power of two, where rounded and exact logarithms part.
TEST(Fp4, Mxfp4ScalesAreTheOraclesAroundEveryPowerOfTwo) {
  Pools pools;
  Floats x;
  for (int exponent = -149; exponent <= 127; ++exponent)
    for (int step = -48; step <= 3; ++step) {
      const auto bits = std::bit_cast<std::int32_t>(std::ldexp(1.0F, exponent)) + step;
      if (bits <= 0)
        continue;
      const auto greatest = std::bit_cast<float>(bits);
      x.insert(x.end(), {greatest, greatest / 3});
    }
  // Each pair is a block of its own.
  expect_oracle(pools, Mxfp4{{.x = x, .rows = x.size() / 2, .columns = 2}});
}

// Every element of E2M1's range, in steps that are finer than any tie.
TEST(Fp4, RoundingToE2m1IsTheOraclesOnAFineGrid) {
  Pools pools;
  Floats x;
  for (int i = -14000; i <= 14000; ++i)
    for (const float nudge : {-0x1p-20F, 0.0F, 0x1p-20F})
      x.push_back(static_cast<float>(i) * 0x1p-11F + nudge);
  // A first element of 6 keeps the scale at 1.
  Floats blocks;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % 31 == 0)
      blocks.push_back(6);
    blocks.push_back(x[i]);
  }
  expect_oracle(pools, Mxfp4{{.x = blocks, .rows = 1, .columns = blocks.size()}});
}

TEST(Fp4, GradientsAreTheOraclesForManyThreads) {
  Pools pools;
  const Matrix shape{300, 1100};
  const Floats x = values(shape.elements(), 5, 3);
  const Floats grad_output = values(shape.elements(), 6, 1e-3F);
  expect_gradient_of_oracle(
      pools, Nvfp4Dynamic{{.x = x, .rows = shape.rows, .columns = shape.columns}}, grad_output);
  expect_gradient_of_oracle(
      pools,
      Nvfp4Weight{{.weight = x, .rows = shape.rows, .columns = shape.columns, .tensor_amax = 3}},
      grad_output);
  expect_gradient_of_oracle(pools, Mxfp4{{.x = x, .rows = shape.rows, .columns = shape.columns}},
                            grad_output);
}

TEST(Fp4, ResultsDoNotDependOnThreads) {
  Pools pools;
  const Matrix shape{1, 1000001};
  const Floats x = wild_values(shape.elements(), 9);
  const Mxfp4 slot{{.x = x, .rows = shape.rows, .columns = shape.columns}};
  const Floats expected = slot.ours(pools.best());
  pools.for_each_way(
      [&](const Execution& execution) { expect_same(slot.ours(execution), expected); });
}

TEST(Fp4, AnOutputMayBeItsInput) {
  Pools pools;
  Floats x = values(1000, 10, 3);
  const Mxfp4 slot{{.x = x, .rows = 10, .columns = 100}};
  const Floats expected = slot.oracle();
  fake_quant_mxfp4(slot.call, x, pools.best());
  expect_same(x, expected);
}

TEST(Fp4, NothingIsDoneToEmptyTensors) {
  Pools pools;
  fake_quant_mxfp4({.rows = 3}, {}, pools.best());
  fake_quant_nvfp4_dynamic({.columns = 7}, {}, pools.best());
  fake_quant_nvfp4_weight({}, {}, pools.best());
}

}  // namespace
}  // namespace lyk::cpu::test
