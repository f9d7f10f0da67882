#include "kernels/reference/fake_quant_int8_affine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/reference/bits.hpp"

namespace lyk::reference::test {
namespace {

using lyk::test::expect_same;
using lyk::test::from_bits;
using lyk::test::infinity;
using lyk::test::nan;
using slots::FakeQuantInt8Affine;
using slots::ScalarDivision;
using Floats = std::vector<float>;

Floats forward(const FakeQuantInt8Affine& call) {
  Floats output(call.x.size());
  fake_quant_int8_affine(call, output);
  return output;
}

Floats backward(const FakeQuantInt8Affine& call, const Floats& grad_output) {
  Floats gradient(call.x.size());
  fake_quant_int8_affine_backward(call, grad_output, gradient);
  return gradient;
}

TEST(FakeQuantInt8Affine, GivesTheBitsOfTheWorkedExample) {
  const Floats x{-5, 6, 0.1F, 1.0F, -2.5F, 3.25F};
  for (const auto rule : {ScalarDivision::ieee, ScalarDivision::reciprocal}) {
    const FakeQuantInt8Affine call{.x = x, .lo = -2.5F, .hi = 3.25F, .scalar_division = rule};
    expect_same(forward(call),
                Floats{from_bits(0xC0203030), from_bits(0x404FCFD0), from_bits(0x3DB8B8B9),
                       from_bits(0x3F7DFDFE), from_bits(0xC0203030), from_bits(0x404FCFD0)});
    expect_same(backward(call, {1, -1, 1, 1, 1, 1}), Floats{0, -0.0F, 1, 1, 1, 1});
  }
}

TEST(FakeQuantInt8Affine, ZeroIsAlwaysInTheRange) {
  const Floats x{0, 1, 3};
  // A range above zero begins at zero: 255 steps up to 2.55.
  expect_same(forward({.x = x, .lo = 1, .hi = 2.55F}), forward({.x = x, .lo = 0, .hi = 2.55F}));
  expect_same(forward({.x = x, .lo = -2.55F, .hi = -1}), forward({.x = x, .lo = -2.55F, .hi = 0}));
  EXPECT_EQ(forward({.x = x, .lo = 1, .hi = 2.55F})[0], 0);
}

TEST(FakeQuantInt8Affine, AnEmptyRangeHasAlmostNoValues) {
  const Floats x{1, -1, 1e-12F, 0};
  expect_same(forward({.x = x}), Floats{255 * 1e-12F, 0, 1e-12F, 0});
}

TEST(FakeQuantInt8Affine, TheZeroPointIsRoundedOnceAfterTheSubtraction) {
  // -128 - -1.4999999 is -126.5 in fp32, a tie, which goes to -126; the scale is 1.
  const Floats x{-1000};
  expect_same(forward({.x = x, .lo = std::nextafter(-1.5F, 0.0F), .hi = 253.5F}), Floats{-2});
}

TEST(FakeQuantInt8Affine, TheZeroPointDividesByTheScale) {
  // Ranges whose zero point is another one if the reciprocal of the scale is multiplied with.
  struct Row {
    std::uint32_t lo;
    std::uint32_t hi;
    std::uint32_t greatest;  // the output of code 127
  };
  const Floats x{1e6F};
  for (const Row& row :
       {Row{0xC38A6454, 0x43131E8C, 0x4313F354}, Row{0xC385C59C, 0x42116428, 0x4213C657},
        Row{0xC3DC5857, 0x4155AB00, 0x41476C66}})
    expect_same(forward({.x = x, .lo = from_bits(row.lo), .hi = from_bits(row.hi)}),
                Floats{from_bits(row.greatest)});
}

TEST(FakeQuantInt8Affine, NanAndInfinitiesInXAreClipped) {
  const Floats x{nan, infinity, -infinity};
  const FakeQuantInt8Affine call{.x = x, .lo = -128, .hi = 127};
  expect_same(forward(call), Floats{-128, 127, -128});
  expect_same(backward(call, {1, 1, 1}), Floats{0, 0, 0});
}

TEST(FakeQuantInt8Affine, NanInTheRangeReachesEveryOutput) {
  const Floats x{0, 1, nan};
  expect_same(forward({.x = x, .lo = nan, .hi = 1}), Floats{nan, nan, nan});
  expect_same(forward({.x = x, .lo = -1, .hi = nan}), Floats{nan, nan, nan});
}

TEST(FakeQuantInt8Affine, AnInfiniteEndOfTheRangeIsWhatTheArithmeticMakesOfIt) {
  const Floats x{0, 1, infinity};
  expect_same(forward({.x = x, .lo = -infinity, .hi = 1}), Floats{infinity, infinity, infinity});
  expect_same(forward({.x = x, .lo = -1, .hi = infinity}), Floats{nan, nan, nan});
}

TEST(FakeQuantInt8Affine, AZeroPointOfNanIsTheIntegerOfTheRule) {
  const Floats x{0, -1e30F, infinity, nan};
  FakeQuantInt8Affine call{.x = x, .lo = -infinity, .hi = 1};
  expect_same(forward(call), Floats(4, infinity));
  expect_same(backward(call, {1, 1, 1, 1}), Floats(4, 0));
  call.nan_as_integer = slots::NanAsInteger::zero;
  expect_same(forward(call), Floats{nan, nan, -infinity, -infinity});
  expect_same(backward(call, {1, 1, 1, 1}), Floats{1, 1, 0, 0});
}

}  // namespace
}  // namespace lyk::reference::test
