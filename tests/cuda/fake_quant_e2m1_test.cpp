// The nvfp4 and mxfp4 slots on CUDA, bit for bit with the oracle.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/reference/fake_quant_mxfp4.hpp"
#include "kernels/reference/fake_quant_nvfp4_dynamic.hpp"
#include "kernels/reference/fake_quant_nvfp4_weight.hpp"
#include "tests/cuda/elements.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

using Floats = std::vector<float>;
using Sizes = std::vector<std::size_t>;
using slots::ScalarDivision;

struct BlockCase {
  std::size_t rows = 0;
  std::size_t columns = 0;
  Floats x{};
  Floats grad_output{};
  std::size_t shift = 0;
};

BlockCase block_case(std::size_t rows, std::size_t columns, unsigned seed) {
  return {.rows = rows,
          .columns = columns,
          .x = awkward_floats(rows * columns, seed),
          .grad_output = awkward_floats(rows * columns, seed + 1)};
}

struct Outputs {
  Floats output{};
  Floats gradient{};
};

// Both directions of one family with blocks of `width`; `tensor_amax` is null for mxfp4.
Outputs run_blocks(SoftDevice& device,
                   const BlockCase& given,
                   const std::string& family,
                   std::size_t width,
                   const float* tensor_amax) {
  const std::size_t count = given.x.size();
  cuda::E2m1Blocks call{.x = device.put(given.x, given.shift),
                        .grad_output = device.put(given.grad_output, given.shift),
                        .output = device.allocate<float>(count, given.shift),
                        .tensor_amax = tensor_amax,
                        .shape = cuda::grouped_rows(given.rows, given.columns, width)};
  const auto grid = cuda::quads_grid(call.shape.rows * call.shape.quads_per_row.value, 2);
  const std::string name = "lyk_fake_quant_" + family;
  device.run(name + "_forward_f32", grid, call);
  Outputs outputs{.output = device.get<float>(call.output, count)};
  call.output = device.allocate<float>(count, given.shift);
  device.run(name + "_backward_f32", grid, call);
  outputs.gradient = device.get<float>(call.output, count);
  return outputs;
}

void expect_equal(const Outputs& actual, const Outputs& expected) {
  expect_same(actual.output, expected.output);
  expect_same(actual.gradient, expected.gradient);
}

// ---- nvfp4 ------------------------------------------------------------------------------------

void expect_nvfp4_weight(const BlockCase& given, float tensor_amax) {
  const slots::FakeQuantNvfp4Weight call{.weight = given.x,
                                         .rows = given.rows,
                                         .columns = given.columns,
                                         .tensor_amax = tensor_amax,
                                         .scalar_division = ScalarDivision::reciprocal};
  Outputs expected{Floats(given.x.size()), Floats(given.x.size())};
  reference::fake_quant_nvfp4_weight(call, expected.output);
  reference::fake_quant_nvfp4_weight_backward(call, given.grad_output, expected.gradient);
  for (const std::uint64_t order : thread_orders) {
    SoftDevice device{order};
    const float* const amax = device.put(Floats{tensor_amax});
    expect_equal(run_blocks(device, given, "nvfp4", 16, amax), expected);
  }
}

TEST(FakeQuantNvfp4OnCuda, EqualsTheOracleForEveryShapeAndAlignment) {
  for (const std::size_t columns : Sizes{1, 16, 20, 40, 48, 100, 300})
    for (const std::size_t shift : Sizes{0, 1}) {
      BlockCase given = block_case(5, columns, 3);
      given.shift = shift;
      expect_nvfp4_weight(given, 4.7F);
    }
}

TEST(FakeQuantNvfp4OnCuda, EqualsTheOracleForEveryTensorAmax) {
  for (const float tensor_amax : {0.0F, 1e-13F, 1e-3F, 1.3F, 30.0F, 1e6F, 3e38F, infinity, nan})
    expect_nvfp4_weight(block_case(3, 160, 4), tensor_amax);
}

// Block scales at and beside every midpoint of E4M3, from where they are zero to where they clip.
TEST(FakeQuantNvfp4OnCuda, EqualsTheOracleForEveryBlockScale) {
  constexpr float tensor_amax = 2688;  // the scale of the tensor is 1
  BlockCase given{.rows = 1};
  for (int exponent = -12; exponent < 10; ++exponent)
    for (int eighth = 16; eighth < 32; ++eighth)
      for (const float ratio : around(std::ldexp(static_cast<float>(eighth), exponent - 4)))
        for (int i = 0; i < 16; ++i)
          given.x.push_back(i == 7 ? 6 * ratio : ratio * static_cast<float>(i) / 3);
  given.columns = given.x.size();
  given.grad_output = normal_floats(given.x.size(), 5);
  expect_nvfp4_weight(given, tensor_amax);
}

// The same about a few midpoints where the scale of the tensor is no power of two, so that the
// divisor and the quotient are rounded.
TEST(FakeQuantNvfp4OnCuda, EqualsTheOracleForEveryRoundingOfABlockScale) {
  for (const float tensor_amax : {4.7F, 0.31F, 77.7F, 1.3F, 900.1F}) {
    const float tensor_scale = tensor_amax / 2688;
    BlockCase given{.rows = 1};
    for (int sixteenth = 17; sixteenth < 32; ++sixteenth)
      for (const float greatest : around(static_cast<float>(sixteenth) / 16 * (6 * tensor_scale)))
        for (int i = 0; i < 16; ++i)
          given.x.push_back(greatest / static_cast<float>(1 + i));
    given.columns = given.x.size();
    given.grad_output = normal_floats(given.x.size(), 10);
    expect_nvfp4_weight(given, tensor_amax);
  }
}

TEST(FakeQuantNvfp4OnCuda, FindsTheAmaxOfTheTensorItself) {
  for (const std::size_t columns : Sizes{1, 7, 160, 1031})
    for (const bool has_nan : {false, true}) {
      BlockCase given{.rows = 3, .columns = columns, .shift = columns % 4};
      given.x = normal_floats(given.rows * columns, 6);
      given.grad_output = normal_floats(given.rows * columns, 7);
      if (has_nan)
        given.x[columns] = nan;
      const slots::FakeQuantNvfp4Dynamic call{.x = given.x,
                                              .rows = given.rows,
                                              .columns = columns,
                                              .scalar_division = ScalarDivision::reciprocal};
      Outputs expected{Floats(given.x.size()), Floats(given.x.size())};
      reference::fake_quant_nvfp4_dynamic(call, expected.output);
      reference::fake_quant_nvfp4_dynamic_backward(call, given.grad_output, expected.gradient);
      for (const std::uint64_t order : thread_orders) {
        SoftDevice device{order};
        std::uint32_t* const amax = device.put(std::vector<std::uint32_t>(1));
        const cuda::Amax amax_call{
            .x = device.put(given.x, given.shift), .amax = amax, .elements = given.x.size()};
        device.run("lyk_fake_quant_nvfp4_dynamic_amax_f32", cuda::run_grid(given.x.size(), 2),
                   amax_call);
        const auto* tensor_amax = reinterpret_cast<const float*>(amax);
        expect_equal(run_blocks(device, given, "nvfp4", 16, tensor_amax), expected);
      }
    }
}

// ---- mxfp4 ------------------------------------------------------------------------------------

void expect_mxfp4(const BlockCase& given) {
  const slots::FakeQuantMxfp4 call{.x = given.x, .rows = given.rows, .columns = given.columns};
  Outputs expected{Floats(given.x.size()), Floats(given.x.size())};
  reference::fake_quant_mxfp4(call, expected.output);
  reference::fake_quant_mxfp4_backward(call, given.grad_output, expected.gradient);
  for (const std::uint64_t order : thread_orders) {
    SoftDevice device{order};
    expect_equal(run_blocks(device, given, "mxfp4", 32, nullptr), expected);
  }
}

TEST(FakeQuantMxfp4OnCuda, EqualsTheOracleForEveryShapeAndAlignment) {
  for (const std::size_t columns : Sizes{1, 20, 32, 48, 100, 320})
    for (const std::size_t shift : Sizes{0, 1}) {
      BlockCase given = block_case(5, columns, static_cast<unsigned>(columns));
      given.shift = shift;
      expect_mxfp4(given);
    }
}

// A block whose greatest is 6 has a scale of 1: every level, every midpoint, and what is beside it.
TEST(FakeQuantMxfp4OnCuda, RoundsToE2m1AsTheOracleAtEveryTie) {
  BlockCase given{.rows = 1};
  for (const float value : {0.0F, 0.25F, 0.5F, 0.75F, 1.0F, 1.25F, 1.5F, 1.75F, 2.0F, 2.5F, 3.0F,
                            3.5F, 4.0F, 5.0F, 6.0F, 7.0F})
    for (const float near : around(value))
      for (const float x : {near, -near, 6.0F, 1e-40F}) {
        given.x.resize((given.x.size() + 31) / 32 * 32, 0.0F);
        given.x.push_back(x);
        given.x.push_back(5.9F);
      }
  given.columns = given.x.size();
  given.grad_output = awkward_floats(given.x.size(), 8);
  expect_mxfp4(given);
}

// The floats just below powers of two, whose logarithm is rounded up to an integer.
TEST(FakeQuantMxfp4OnCuda, RoundsTheLogarithmAsTheOracle) {
  BlockCase given{.columns = 1};
  for (int exponent = -101; exponent <= 128; ++exponent)
    for (const int below : {0, 1, 2, 3, 5, 6, 11, 12, 22, 23, 44, 45, 46}) {
      const double power = std::ldexp(1.0, exponent);
      const auto x = static_cast<float>(power - below * std::ldexp(1.0, exponent - 24));
      if (std::isinf(x) && exponent < 128)
        continue;
      given.x.push_back(x);
    }
  given.rows = given.x.size();
  given.grad_output = normal_floats(given.x.size(), 9);
  expect_mxfp4(given);
}

// The scale of a block with an infinity is 2^127, of which what is finite can be a part.
TEST(FakeQuantMxfp4OnCuda, EqualsTheOracleBesideAnInfinity) {
  BlockCase given{.rows = 1, .columns = 32, .x = Floats(32, 3e38F)};
  for (std::size_t i = 0; i < 20; ++i)
    given.x[i] = (i % 2 == 0 ? 1.7e37F : -1.7e37F) * static_cast<float>(i);
  given.x[20] = infinity;
  given.grad_output = normal_floats(given.x.size(), 11);
  expect_mxfp4(given);
}

}  // namespace
}  // namespace lyk::test
