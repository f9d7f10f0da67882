// Both unpack slots.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/reference/unpack_int_grouped.hpp"
#include "kernels/reference/unpack_nvfp4.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::reference::test {
namespace {

using lyk::test::expect_same;
using lyk::test::from_bits;
using lyk::test::nan;
using slots::ScalarDivision;
using Floats = std::vector<float>;
using Codes = std::vector<std::uint8_t>;

Floats unpack(const slots::UnpackIntGrouped& call) {
  Floats output(call.rows * call.columns);
  unpack_int_grouped(call, output);
  return output;
}

Floats unpack(const slots::UnpackNvfp4& call) {
  Floats output(call.rows * call.columns);
  unpack_nvfp4(call, output);
  return output;
}

TEST(UnpackIntGrouped, FourBitCodesBeginWithTheLowHalf) {
  const Codes payload{0xF0, 0x18, 0x88};
  const Floats scale{1, 0.5F};
  expect_same(unpack(slots::UnpackIntGrouped{.payload = payload,
                                             .rows = 1,
                                             .row_bytes = 3,
                                             .columns = 5,
                                             .group_size = 2,
                                             .scale = {.data = scale.data(), .group_stride = 0}}),
              Floats{-8, 7, 0, -7, 0});
  expect_same(unpack(slots::UnpackIntGrouped{.payload = payload,
                                             .rows = 1,
                                             .row_bytes = 3,
                                             .columns = 4,
                                             .group_size = 4,
                                             .scale = {.data = scale.data() + 1}}),
              Floats{-4, 3.5F, 0, -3.5F});
}

TEST(UnpackIntGrouped, TwoBitCodesBeginWithTheLowestBits) {
  const Codes payload{0xE4, 0xAA};
  const Floats scale{1, 3};
  expect_same(unpack(slots::UnpackIntGrouped{.payload = payload,
                                             .rows = 2,
                                             .row_bytes = 1,
                                             .columns = 4,
                                             .bits = 2,
                                             .group_size = 4,
                                             .scale = {.data = scale.data(), .row_stride = 1}}),
              Floats{-2, -1, 0, 1, 0, 0, 0, 0});
}

TEST(UnpackIntGrouped, ASmallScaleIsLiftedAndNanIsPassedOn) {
  const Codes payload{0x99};
  const Floats scale{0, nan};
  expect_same(unpack(slots::UnpackIntGrouped{.payload = payload,
                                             .rows = 1,
                                             .row_bytes = 1,
                                             .columns = 2,
                                             .group_size = 1,
                                             .scale = {.data = scale.data(), .group_stride = 1}}),
              Floats{1e-12F, nan});
}

TEST(UnpackNvfp4, CodesAreSignAndLevelTimesTheScales) {
  const Codes payload{0x80, 0x91, 0xA2, 0xB3, 0xC4, 0xD5, 0xE6, 0xF7};
  const Codes scale{0x38};  // 1
  const float tensor_amax = 2688;
  expect_same(unpack(slots::UnpackNvfp4{.payload = payload,
                                        .rows = 1,
                                        .blocks = 1,
                                        .columns = 16,
                                        .block_scale_e4m3 = scale,
                                        .tensor_amax = tensor_amax}),
              Floats{0, -0.0F, 0.5F, -0.5F, 1, -1, 1.5F, -1.5F, 2, -2, 3, -3, 4, -4, 6, -6});
}

TEST(UnpackNvfp4, BlockScalesMayBeFloats) {
  const Codes payload(16, 0x22);
  const Floats scales{2, -1};
  const Floats output = unpack(slots::UnpackNvfp4{.payload = payload,
                                                  .rows = 2,
                                                  .blocks = 1,
                                                  .columns = 3,
                                                  .block_scale = scales,
                                                  .tensor_amax = 2688});
  expect_same(output, Floats{2, 2, 2, 1e-12F, 1e-12F, 1e-12F});
}

TEST(UnpackNvfp4, TheTensorScaleGoesByTheRuleOfTheDivision) {
  const Codes payload(8, 0x22);
  const Codes scale{0x70};  // 128
  for (const auto& [rule, bits] :
       {std::pair{ScalarDivision::ieee, 0x3D7D8FD8U}, {ScalarDivision::reciprocal, 0x3D7D8FD9U}})
    expect_same(unpack(slots::UnpackNvfp4{.payload = payload,
                                          .rows = 1,
                                          .blocks = 1,
                                          .columns = 1,
                                          .block_scale_e4m3 = scale,
                                          .tensor_amax = 1.3F,
                                          .scalar_division = rule}),
                Floats{from_bits(bits)});
}

TEST(UnpackNvfp4, NanAsAScaleReachesItsBlock) {
  const Codes payload(16, 0x22);
  const Codes scale{0x7F, 0x38};
  const Floats output = unpack(slots::UnpackNvfp4{.payload = payload,
                                                  .rows = 1,
                                                  .blocks = 2,
                                                  .columns = 17,
                                                  .block_scale_e4m3 = scale,
                                                  .tensor_amax = 2688});
  Floats expected(17, nan);
  expected[16] = 1;
  expect_same(output, expected);
}

}  // namespace
}  // namespace lyk::reference::test
