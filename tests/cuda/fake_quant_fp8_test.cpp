// fake_quant_fp8 on CUDA, bit for bit with the oracle.
#include "kernels/reference/fake_quant_fp8.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/reference/e4m3.hpp"
#include "tests/cuda/elements.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

using Floats = std::vector<float>;
using Sizes = std::vector<std::size_t>;

struct Fp8Case {
  slots::ChannelAxis axis{};
  Floats x{};
  Floats scale{};
  std::size_t shift = 0;
  std::size_t output_shift = 0;
  int sm = 75;
};

Floats on_cuda(const Fp8Case& given, std::uint64_t order) {
  SoftDevice device{order, given.sm};
  const cuda::Fp8 call{.x = device.put(given.x, given.shift),
                       .output = device.allocate<float>(given.x.size(), given.output_shift),
                       .scale = device.put(given.scale),
                       .elements = given.x.size(),
                       .inner = cuda::divisor_of(given.axis.inner),
                       .channels = cuda::divisor_of(given.axis.channels)};
  device.run("lyk_fake_quant_fp8_forward_f32", cuda::run_grid(call.elements, 2), call);
  return device.get<float>(call.output, given.x.size());
}

void expect_fp8(const Fp8Case& given) {
  Floats expected(given.x.size());
  reference::fake_quant_fp8({.x = given.x, .axis = given.axis, .scale = given.scale}, expected);
  for (const std::uint64_t order : thread_orders)
    expect_same(on_cuda(given, order), expected);
}

TEST(FakeQuantFp8OnCuda, EqualsTheOracleForEverySizeAndAlignment) {
  for (const std::size_t count : Sizes{0, 1, 3, 7, 260, 4098})
    for (const std::size_t shift : Sizes{0, 1, 2})
      for (const std::size_t output_shift : Sizes{shift, 3})
        expect_fp8({.axis = {1, 1, count},
                    .x = awkward_floats(count, 3),
                    .scale = {0.0031F},
                    .shift = shift,
                    .output_shift = output_shift});
}

TEST(FakeQuantFp8OnCuda, EqualsTheOracleForEveryChannelAxis) {
  const Floats scales{0.0F, 1e-13F, 0.02F, 0.5F, infinity, nan, 1e-39F, 3e38F, -0.25F};
  const std::vector<slots::ChannelAxis> axes{{1, 9, 1}, {4, 9, 1}, {2, 9, 3}, {1, 9, 40}};
  for (const auto& axis : axes)
    expect_fp8({.axis = axis, .x = awkward_floats(axis.elements(), 4), .scale = scales});
}

// Every value of the format, every midpoint between two, and the floats beside them, times the
// scale: a quotient that is rounded to a midpoint is not always one. The same PTX compiled for an
// architecture with an instruction for the conversion and for one without.
TEST(FakeQuantFp8OnCuda, RoundsToE4m3AsTheOracleAtEveryMidpoint) {
  Floats x{};
  for (std::uint8_t code = 0; code < 0x7E; ++code) {
    const float low = reference::e4m3_value(code);
    const float high = reference::e4m3_value(static_cast<std::uint8_t>(code + 1));
    for (const float value : {low, (low + high) / 2, high})
      for (const float near : around(value)) {
        x.push_back(near);
        x.push_back(-near);
      }
  }
  for (const int sm : {75, 90})
    for (const float scale : {1.0F, 0.037F}) {
      Floats scaled = x;
      for (float& value : scaled)
        value *= scale;
      expect_fp8({.axis = {1, 1, x.size()}, .x = scaled, .scale = {scale}, .sm = sm});
    }
}

}  // namespace
}  // namespace lyk::test
