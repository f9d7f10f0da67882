// The unpack slots on CUDA, bit for bit with the oracle.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/reference/unpack_int_grouped.hpp"
#include "kernels/reference/unpack_nvfp4.hpp"
#include "tests/cuda/elements.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Floats = std::vector<float>;
using Sizes = std::vector<std::size_t>;

Bytes some_bytes(std::size_t count, unsigned seed) {
  std::mt19937 generator{seed};
  Bytes bytes(count);
  for (auto& byte : bytes)
    byte = static_cast<std::uint8_t>(generator());
  return bytes;
}

struct IntGroupedCase {
  std::size_t rows = 3;
  std::size_t columns = 0;
  unsigned bits = 4;
  std::size_t group_size = 128;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t group_stride = 0;
  std::size_t shift = 0;
  Floats scale{};  // empty: made up
};

void expect_int_grouped(const IntGroupedCase& given) {
  const std::size_t groups = slots::groups_in(given.columns, given.group_size);
  const std::size_t row_bytes = groups * given.group_size * given.bits / 8;
  const Bytes payload = some_bytes(given.rows * row_bytes, 3);
  const Floats scale = given.scale.empty() ? awkward_floats(given.rows * groups, 1) : given.scale;
  Floats expected(given.rows * given.columns);
  reference::unpack_int_grouped({.payload = payload,
                                 .rows = given.rows,
                                 .row_bytes = row_bytes,
                                 .columns = given.columns,
                                 .bits = given.bits,
                                 .group_size = given.group_size,
                                 .scale = {.data = scale.data(),
                                           .row_stride = given.row_stride,
                                           .group_stride = given.group_stride}},
                                expected);
  for (const std::uint64_t order : thread_orders) {
    SoftDevice device{order};
    const cuda::UnpackIntGrouped call{
        .payload = device.put(payload, 1),
        .output = device.allocate<float>(expected.size(), given.shift),
        .scale = device.put(scale),
        .scale_row_stride = given.row_stride,
        .scale_group_stride = given.group_stride,
        .rows = given.rows,
        .columns = given.columns,
        .row_bytes = row_bytes,
        .quads_per_row = cuda::divisor_of(cuda::quotient_up(given.columns, cuda::quad_size)),
        .group_size = cuda::divisor_of(given.group_size),
        .bits = given.bits};
    device.run("lyk_unpack_int_grouped_forward_f32",
               cuda::quads_grid(given.rows * call.quads_per_row.value, 2), call);
    expect_same(device.get<float>(call.output, expected.size()), expected);
  }
}

TEST(UnpackIntGroupedOnCuda, EqualsTheOracleForEveryShapeAndStride) {
  for (const std::size_t columns : Sizes{1, 30, 128, 257, 384})
    for (const unsigned bits : {2U, 4U})
      for (const std::size_t group_size : Sizes{8, 12, 64, 128})
        for (const std::size_t shift : Sizes{0, 1}) {
          const auto groups = static_cast<std::ptrdiff_t>(slots::groups_in(columns, group_size));
          expect_int_grouped({.columns = columns,
                              .bits = bits,
                              .group_size = group_size,
                              .row_stride = shift == 0 ? groups : 0,
                              .group_stride = 1,
                              .shift = shift});
        }
}

TEST(UnpackIntGroupedOnCuda, EqualsTheOracleWhereAGroupEndsWithinAQuad) {
  for (const std::size_t group_size : Sizes{2, 6, 10})
    expect_int_grouped({.columns = 30,
                        .group_size = group_size,
                        .row_stride = static_cast<std::ptrdiff_t>(slots::groups_in(30, group_size)),
                        .group_stride = 1});
}

TEST(UnpackIntGroupedOnCuda, EqualsTheOracleForEveryScale) {
  const Floats scales{0.0F, 1e-13F, 0.02F, infinity, nan, 1e-39F, 3e38F, -0.25F};
  for (const unsigned bits : {2U, 4U})
    expect_int_grouped({.rows = 1,
                        .columns = 8 * scales.size(),
                        .bits = bits,
                        .group_size = 8,
                        .group_stride = 1,
                        .scale = scales});
}

enum class ScaleForm : std::uint8_t { e4m3, floats };

struct Nvfp4Case {
  std::size_t rows = 3;
  std::size_t columns = 0;
  ScaleForm form = ScaleForm::e4m3;
  float tensor_amax = 1.3F;
  std::size_t shift = 0;
};

void expect_nvfp4(const Nvfp4Case& given) {
  const std::size_t blocks = slots::groups_in(given.columns, 16);
  const Bytes payload = some_bytes(given.rows * blocks * 8, 4);
  const bool is_e4m3 = given.form == ScaleForm::e4m3;
  const Bytes codes = is_e4m3 ? some_bytes(given.rows * blocks, 5) : Bytes{};
  const Floats floats = is_e4m3 ? Floats{} : awkward_floats(given.rows * blocks, 2);
  Floats expected(given.rows * given.columns);
  reference::unpack_nvfp4({.payload = payload,
                           .rows = given.rows,
                           .blocks = blocks,
                           .columns = given.columns,
                           .block_scale_e4m3 = codes,
                           .block_scale = floats,
                           .tensor_amax = given.tensor_amax,
                           .scalar_division = slots::ScalarDivision::reciprocal},
                          expected);
  for (const std::uint64_t order : thread_orders) {
    SoftDevice device{order};
    const cuda::UnpackNvfp4 call{
        .payload = device.put(payload, 1),
        .output = device.allocate<float>(expected.size(), given.shift),
        .block_scale_e4m3 = is_e4m3 ? device.put(codes) : nullptr,
        .block_scale = is_e4m3 ? nullptr : device.put(floats),
        .tensor_amax = device.put(Floats{given.tensor_amax}),
        .rows = given.rows,
        .columns = given.columns,
        .blocks = blocks,
        .quads_per_row = cuda::divisor_of(cuda::quotient_up(given.columns, cuda::quad_size))};
    device.run("lyk_unpack_nvfp4_forward_f32",
               cuda::quads_grid(given.rows * call.quads_per_row.value, 2), call);
    expect_same(device.get<float>(call.output, expected.size()), expected);
  }
}

TEST(UnpackNvfp4OnCuda, EqualsTheOracleForEveryShapeAndFormOfScale) {
  for (const std::size_t columns : Sizes{1, 16, 30, 100, 384})
    for (const ScaleForm form : {ScaleForm::e4m3, ScaleForm::floats})
      for (const std::size_t shift : Sizes{0, 1})
        expect_nvfp4({.columns = columns, .form = form, .shift = shift});
}

// 384 blocks of a row have every code of E4M3 as their scale.
TEST(UnpackNvfp4OnCuda, EqualsTheOracleForEveryTensorAmax) {
  for (const float tensor_amax : {0.0F, 1e-9F, 1.7F, 1e30F, infinity, nan})
    expect_nvfp4({.rows = 1, .columns = 16 * 384, .tensor_amax = tensor_amax});
}

}  // namespace
}  // namespace lyk::test
