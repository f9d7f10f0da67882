// fake_quant_int8_affine and fake_quant_int8_per_channel on CUDA, bit for bit with the oracle.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/reference/fake_quant_int8_affine.hpp"
#include "kernels/reference/fake_quant_int8_per_channel.hpp"
#include "tests/cuda/elements.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

using Floats = std::vector<float>;
using Sizes = std::vector<std::size_t>;
using slots::ScalarDivision;

struct Outputs {
  Floats output{};
  Floats gradient{};
};

void expect_equal(ElementType type, const Outputs& actual, const Outputs& expected) {
  expect_same(actual.output, rounded_to(type, expected.output));
  expect_same(actual.gradient, rounded_to(type, expected.gradient));
}

// ---- affine -----------------------------------------------------------------------------------

struct AffineCase {
  ElementType type = ElementType::f32;
  Floats x{};
  Floats grad_output{};
  float lo = 0;
  float hi = 0;
  std::size_t shift = 0;  // of x and the output
  std::size_t gradient_shift = 0;
};

Outputs affine_on_cuda(const AffineCase& given, std::uint64_t order) {
  SoftDevice device{order};
  const std::size_t count = given.x.size();
  const cuda::Grid grid = cuda::run_grid(count, 2);
  cuda::Int8Affine call{
      .x = put_as(device, given.type, given.x, given.shift),
      .grad_output = put_as(device, given.type, given.grad_output, given.gradient_shift),
      .output = allocate_as(device, given.type, count, given.shift),
      .lo = device.put(Floats{given.lo}),
      .hi = device.put(Floats{given.hi}),
      .elements = count};
  device.run("lyk_fake_quant_int8_affine_forward" + suffix(given.type), grid, call);
  Outputs outputs{.output = get_as(device, given.type, call.output, count)};
  call.output = allocate_as(device, given.type, count, given.shift);
  device.run("lyk_fake_quant_int8_affine_backward" + suffix(given.type), grid, call);
  outputs.gradient = get_as(device, given.type, call.output, count);
  return outputs;
}

void expect_affine(const AffineCase& given) {
  const slots::FakeQuantInt8Affine call{.x = given.x,
                                        .lo = given.lo,
                                        .hi = given.hi,
                                        .scalar_division = ScalarDivision::reciprocal,
                                        .nan_as_integer = slots::NanAsInteger::zero};
  Outputs expected{Floats(given.x.size()), Floats(given.x.size())};
  reference::fake_quant_int8_affine(call, expected.output);
  reference::fake_quant_int8_affine_backward(call, given.grad_output, expected.gradient);
  for (const std::uint64_t order : thread_orders)
    expect_equal(given.type, affine_on_cuda(given, order), expected);
}

TEST(FakeQuantInt8AffineOnCuda, EqualsTheOracleForEveryTypeSizeAndAlignment) {
  for (const ElementType type : element_types)
    for (const std::size_t count : Sizes{0, 1, 2, 5, 260, 4099})
      for (const std::size_t shift : Sizes{0, 1, 3})
        expect_affine({.type = type,
                       .x = rounded_to(type, awkward_floats(count, 5)),
                       .grad_output = rounded_to(type, awkward_floats(count, 6)),
                       .lo = -2.5F,
                       .hi = 3.25F,
                       .shift = shift,
                       .gradient_shift = count % 2 == 0 ? shift : 2});
}

TEST(FakeQuantInt8AffineOnCuda, EqualsTheOracleForAwkwardRanges) {
  const std::vector<std::pair<float, float>> ranges{
      {0, 0},        {1, 2},          {-3, -1},          {-1e-13F, 1e-14F},     {-1.7F, 1e30F},
      {nan, 1},      {-1, nan},       {-infinity, 1},    {-infinity, infinity}, {0, infinity},
      {-0.0F, 0.5F}, {-3e38F, 3e38F}, {-127.5F, 127.5F}, {-0.3F, 0.1F}};
  for (const auto& [lo, hi] : ranges)
    expect_affine(
        {.x = awkward_floats(301, 7), .grad_output = awkward_floats(301, 8), .lo = lo, .hi = hi});
}

// Half-way between two codes, and just beside it.
TEST(FakeQuantInt8AffineOnCuda, EqualsTheOracleAtTies) {
  Floats x{};
  for (int code = -130; code < 130; ++code)
    for (const float value : around(0.5F * static_cast<float>(code) + 0.25F))
      x.push_back(value);
  // Range 127.5, so that the scale is 0.5 but for the rounding of the reciprocal.
  expect_affine({.x = x, .grad_output = normal_floats(x.size(), 9), .lo = -64, .hi = 63.5F});
}

// Ranges whose zero point, -128 - lo / scale, is at a tie after two roundings and is not before:
// one way in the first four, for another rounding of the quotient, and of the difference in the
// others. Around every tie of x in them, the reciprocal and the product decide likewise.
TEST(FakeQuantInt8AffineOnCuda, EqualsTheOracleWhereEachRoundingDecides) {
  const std::vector<std::pair<float, float>> ranges{
      {-0x1.42f13ap+2F, 0x1.687664p+2F}, {-0x1.7fe30ep+2F, 0x1.62301p+1F},
      {-0x1.10fed8p+2F, 0x1.9ae68p+1F},  {-0x1.52438ap+1F, 0x1.673f7ap-1F},
      {-0x1.d73986p-1F, 0x1.b190b8p+2F}, {-0x1.8de556p-2F, 0x1.0e155cp+2F},
      {-0x1.1dc58p+0F, 0x1.e91bdap+2F},  {-0x1.90aee8p-2F, 0x1.9e57ccp+1F}};
  for (const auto& [lo, hi] : ranges) {
    Floats x{};
    for (int code = -200; code < 200; ++code)
      for (const float value : around((static_cast<float>(code) + 0.5F) * ((hi - lo) / 255)))
        x.push_back(value);
    expect_affine({.x = x, .grad_output = normal_floats(x.size(), 10), .lo = lo, .hi = hi});
  }
}

// ---- per channel ------------------------------------------------------------------------------

struct ChannelCase {
  ElementType type = ElementType::f32;
  slots::ChannelAxis axis{};
  Floats weight{};
  Floats grad_output{};
  Floats scale{};  // empty: from the weight, which is fp32 then
  std::size_t shift = 0;
};

// Launches one direction as launch.hpp says, which client/ asks as well.
void launch(SoftDevice& device,
            const ChannelCase& given,
            const std::string& direction,
            cuda::Int8PerChannel call) {
  const std::string name = "lyk_fake_quant_int8_per_channel_";
  const auto& [outer, channels, inner] = given.axis;
  const cuda::ChannelScales scales = cuda::channel_scales(call.scale, outer);
  if (scales == cuda::ChannelScales::of_rows) {
    device.run(name + direction + "_rows_f32", cuda::rows_grid(channels, inner, 4), call);
    return;
  }
  std::uint32_t* const amax = device.put(std::vector<std::uint32_t>(channels));
  if (scales == cuda::ChannelScales::scattered) {
    const cuda::Amax amax_call{.x = static_cast<const float*>(call.weight),
                               .amax = amax,
                               .elements = call.elements,
                               .inner = call.inner,
                               .channels = call.channels};
    device.run(name + "amax_f32", cuda::channels_grid(outer, channels * inner, 6), amax_call);
  }
  call.amax = amax;
  device.run(name + direction + suffix(given.type), cuda::run_grid(call.elements, 2), call);
}

Outputs channels_on_cuda(const ChannelCase& given, std::uint64_t order) {
  SoftDevice device{order};
  const std::size_t count = given.weight.size();
  cuda::Int8PerChannel call{
      .weight = put_as(device, given.type, given.weight, given.shift),
      .grad_output = put_as(device, given.type, given.grad_output, given.shift),
      .output = allocate_as(device, given.type, count, given.shift),
      .scale = given.scale.empty() ? nullptr : device.put(given.scale),
      .elements = count,
      .inner = cuda::divisor_of(given.axis.inner),
      .channels = cuda::divisor_of(given.axis.channels)};
  launch(device, given, "forward", call);
  Outputs outputs{.output = get_as(device, given.type, call.output, count)};
  call.output = allocate_as(device, given.type, count, given.shift);
  launch(device, given, "backward", call);
  outputs.gradient = get_as(device, given.type, call.output, count);
  return outputs;
}

void expect_channels(const ChannelCase& given) {
  const slots::FakeQuantInt8PerChannel call{.weight = given.weight,
                                            .axis = given.axis,
                                            .scale = given.scale,
                                            .scalar_division = ScalarDivision::reciprocal,
                                            .overflow = slots::CodeOverflow::saturate};
  Outputs expected{Floats(given.weight.size()), Floats(given.weight.size())};
  reference::fake_quant_int8_per_channel(call, expected.output);
  reference::fake_quant_int8_per_channel_backward(call, given.grad_output, expected.gradient);
  for (const std::uint64_t order : thread_orders)
    expect_equal(given.type, channels_on_cuda(given, order), expected);
}

ChannelCase channel_case(ElementType type, const slots::ChannelAxis& axis, unsigned seed) {
  return {.type = type,
          .axis = axis,
          .weight = rounded_to(type, awkward_floats(axis.elements(), seed)),
          .grad_output = rounded_to(type, awkward_floats(axis.elements(), seed + 1))};
}

TEST(FakeQuantInt8PerChannelOnCuda, EqualsTheOracleWithAScaleFromRows) {
  const std::vector<slots::ChannelAxis> axes{{1, 1, 1},  {1, 7, 1},   {1, 5, 3},   {1, 3, 64},
                                             {1, 4, 27}, {1, 3, 384}, {1, 2, 1025}};
  for (const auto& axis : axes)
    for (const std::size_t shift : Sizes{0, 1}) {
      ChannelCase given = channel_case(ElementType::f32, axis, static_cast<unsigned>(axis.inner));
      given.shift = shift;
      expect_channels(given);
    }
}

// One whose row is longer than what a block of 1024 threads keeps.
TEST(FakeQuantInt8PerChannelOnCuda, ReadsTheRestOfALongRowAgain) {
  ChannelCase given{.axis = {1, 1, 16384 + 4 * 700 + 3}};
  given.weight = normal_floats(given.axis.elements(), 11);
  given.weight.back() = 9;  // the greatest is in what was not kept
  given.grad_output = normal_floats(given.axis.elements(), 12);
  expect_channels(given);
}

TEST(FakeQuantInt8PerChannelOnCuda, EqualsTheOracleWithAScaleFromScatteredChannels) {
  const std::vector<slots::ChannelAxis> axes{{2, 3, 1}, {50, 6, 1}, {3, 4, 9}, {2, 5, 64}};
  for (const auto& axis : axes)
    expect_channels(channel_case(ElementType::f32, axis, static_cast<unsigned>(axis.outer)));
}

TEST(FakeQuantInt8PerChannelOnCuda, EqualsTheOracleWithAGivenScale) {
  const std::vector<slots::ChannelAxis> axes{
      {1, 1, 37}, {1, 9, 1}, {3, 9, 1}, {2, 9, 3}, {1, 9, 40}};
  const Floats scales{0.0F, 1e-13F, 0.02F, 0.5F, infinity, nan, 1e-39F, 3e38F, -0.25F};
  for (const ElementType type : element_types)
    for (const auto& axis : axes) {
      ChannelCase given = channel_case(type, axis, 31);
      given.scale.assign(scales.begin(),
                         scales.begin() + static_cast<std::ptrdiff_t>(axis.channels));
      if (axis.channels == 1)
        given.scale = {0.013F};
      expect_channels(given);
    }
}

// A gradient passes up to the ties at the ends of the codes, of which the upper one is beyond and
// the lower one is not. Products with a reciprocal are rounded onto them for some of the scales.
TEST(FakeQuantInt8PerChannelOnCuda, MasksTheGradientAtTheTiesOfTheEndsAsTheOracle) {
  Floats scales{1, 0.5F};
  for (const float deviation : normal_floats(30, 32))
    scales.push_back(0.02F + 0.01F * std::fabs(deviation));
  ChannelCase given{.axis = {1, scales.size(), 6}, .scale = scales};
  for (const float scale : scales)
    for (const float end : {127.5F, -128.5F})
      for (const float value : around(end * scale))
        given.weight.push_back(value);
  given.grad_output = normal_floats(given.axis.elements(), 33);
  expect_channels(given);
}

// Code 1 times these scales is half-way between two bfloat16, below an even one and below an odd
// one.
TEST(FakeQuantInt8PerChannelOnCuda, RoundsTiesOfBfloat16ToEven) {
  const Floats scales{from_bits(0x3F808000), from_bits(0x3F818000)};
  expect_channels({.type = ElementType::bf16,
                   .axis = {1, 2, 5},
                   .weight = Floats(10, 1.0F),
                   .grad_output = Floats(10, 1.0F),
                   .scale = scales});
}

}  // namespace
}  // namespace lyk::test
