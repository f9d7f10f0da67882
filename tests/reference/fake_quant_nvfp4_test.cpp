// Both nvfp4 slots and what they share with unpack_nvfp4.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/reference/fake_quant_nvfp4_dynamic.hpp"
#include "kernels/reference/fake_quant_nvfp4_weight.hpp"
#include "kernels/reference/nvfp4.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::reference::test {
namespace {

using lyk::test::bits_of;
using lyk::test::expect_same;
using lyk::test::from_bits;
using lyk::test::infinity;
using lyk::test::nan;
using lyk::test::normal_floats;
using slots::FakeQuantNvfp4Weight;
using slots::ScalarDivision;
using Floats = std::vector<float>;

Floats forward(const FakeQuantNvfp4Weight& call) {
  Floats output(call.weight.size());
  fake_quant_nvfp4_weight(call, output);
  return output;
}

Floats forward_row(const Floats& row, float tensor_amax) {
  return forward({.weight = row, .rows = 1, .columns = row.size(), .tensor_amax = tensor_amax});
}

TEST(FakeQuantNvfp4Weight, GivesTheBitsOfTheWorkedExample) {
  struct Row {
    ScalarDivision rule;
    std::uint32_t tensor_scale;
    std::uint32_t effective_scale;
    std::uint32_t output;
  };
  const Floats weight{0.37F};
  for (const Row& row : {Row{ScalarDivision::ieee, 0x39FD8FD8, 0x3D7D8FD8, 0x3EBE2BE2},
                         Row{ScalarDivision::reciprocal, 0x39FD8FD9, 0x3D7D8FD9, 0x3EBE2BE3}}) {
    const float tensor_scale = nvfp4_tensor_scale(1.3F, row.rule);
    EXPECT_EQ(bits_of(tensor_scale), row.tensor_scale);
    EXPECT_EQ(bits_of(nvfp4_effective_scale(128, tensor_scale)), row.effective_scale);
    expect_same(forward({.weight = weight,
                         .rows = 1,
                         .columns = 1,
                         .tensor_amax = 1.3F,
                         .scalar_division = row.rule}),
                Floats{from_bits(row.output)});
  }
}

TEST(FakeQuantNvfp4Weight, ASmallBlockHasTheSmallestScaleAndSaturates) {
  const auto scale_of = [](float greatest) {
    const Floats block{greatest};
    return nvfp4_blocks(block, 1, nvfp4_tensor_scale(1.3F, ScalarDivision::ieee))
        .effective_scale(block);
  };
  EXPECT_EQ(scale_of(3e-6F), 0x1p-9F * from_bits(0x39FD8FD8));
  EXPECT_EQ(bits_of(scale_of(2e-6F)), 0x2B8CBCCCU);
  EXPECT_EQ(bits_of(scale_of(0)), 0x2B8CBCCCU);
  expect_same(forward_row({2e-6F}, 1.3F), Floats{from_bits(0x2CD31B32)});
  expect_same(forward_row({0, -0.0F}, 1.3F), Floats{0, 0});
}

TEST(FakeQuantNvfp4Weight, TheScaleOfABlockIsDividedByOneRoundedProduct) {
  // Blocks that have another E4M3 scale if their greatest magnitude is divided by 6 and then by ts.
  struct Row {
    std::uint32_t tensor_amax;
    std::uint32_t greatest;
    std::uint32_t output;
  };
  for (const Row& row :
       {Row{0x40DCA1C3, 0x3EF44560, 0x3EEC642C}, Row{0x40814222, 0x3FE6D186, 0x3FF00D1A},
        Row{0x40A97085, 0x3C7E28C8, 0x3C85218E}})
    expect_same(forward_row({from_bits(row.greatest)}, from_bits(row.tensor_amax)),
                Floats{from_bits(row.output)});
}

TEST(FakeQuantNvfp4Weight, AStaleTensorAmaxClipsWhatExceedsIt) {
  // The scale of the block saturates at 448, so that 6 * 448 * ts is the end; ts is exact here.
  expect_same(forward_row({10}, 2.625F), Floats{2.625F});
}

TEST(FakeQuantNvfp4Weight, BlocksDoNotGoOnInTheNextRow) {
  Floats weight = normal_floats(static_cast<std::size_t>(2) * 20, 5);
  weight[19] = 50;
  const Floats output = forward({.weight = weight, .rows = 2, .columns = 20, .tensor_amax = 50});
  const auto middle = static_cast<std::ptrdiff_t>(20);
  const Floats first{weight.begin(), weight.begin() + middle};
  const Floats second{weight.begin() + middle, weight.end()};
  Floats apart = forward_row(first, 50);
  const Floats rest = forward_row(second, 50);
  apart.insert(apart.end(), rest.begin(), rest.end());
  expect_same(output, apart);
}

TEST(FakeQuantNvfp4Weight, NanStaysInItsBlockUnlessItIsTheTensorAmax) {
  Floats weight(32, 1);
  weight[3] = nan;
  const Floats output = forward_row(weight, 6);
  for (std::size_t i = 0; i < weight.size(); ++i)
    EXPECT_EQ(std::isnan(output[i]), i < 16) << i;
  expect_same(forward_row({1, 2}, nan), Floats{nan, nan});
  const Floats with_infinity = forward_row({infinity, 1}, 2688);
  EXPECT_TRUE(std::isnan(with_infinity[0]));
  EXPECT_EQ(with_infinity[1], 0);  // the scale is 448: 1 is next to nothing
}

TEST(FakeQuantNvfp4Weight, TheGradientIsMultipliedAndDivided) {
  const Floats weight = normal_floats(48, 6);
  const Floats grad_output = normal_floats(48, 7);
  const FakeQuantNvfp4Weight call{.weight = weight, .rows = 1, .columns = 48, .tensor_amax = 3.1F};
  Floats gradient(48);
  fake_quant_nvfp4_weight_backward(call, grad_output, gradient);
  int differing = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float ulp =
        std::nextafter(std::fabs(grad_output[i]), infinity) - std::fabs(grad_output[i]);
    EXPECT_LE(std::fabs(gradient[i] - grad_output[i]), ulp);
    differing += gradient[i] != grad_output[i] ? 1 : 0;
  }
  EXPECT_GT(differing, 0);
}

TEST(FakeQuantNvfp4Dynamic, TakesTheGreatestMagnitudeOfTheWholeTensor) {
  Floats x = normal_floats(static_cast<std::size_t>(3) * 20, 8);
  x[45] = -9;
  Floats output(x.size());
  fake_quant_nvfp4_dynamic({.x = x, .rows = 3, .columns = 20}, output);
  expect_same(output, forward({.weight = x, .rows = 3, .columns = 20, .tensor_amax = 9}));
  const Floats grad_output = normal_floats(x.size(), 9);
  Floats gradient(x.size());
  fake_quant_nvfp4_dynamic_backward({.x = x, .rows = 3, .columns = 20}, grad_output, gradient);
  Floats fixed(x.size());
  fake_quant_nvfp4_weight_backward({.weight = x, .rows = 3, .columns = 20, .tensor_amax = 9},
                                   grad_output, fixed);
  expect_same(gradient, fixed);
}

TEST(FakeQuantNvfp4Dynamic, OneNanReachesEveryOutput) {
  Floats x(40, 1);
  x[39] = nan;
  Floats output(x.size());
  fake_quant_nvfp4_dynamic({.x = x, .rows = 1, .columns = 40}, output);
  expect_same(output, Floats(40, nan));
}

}  // namespace
}  // namespace lyk::reference::test
