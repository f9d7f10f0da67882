// fake_quant_int_grouped on CUDA, bit for bit with the oracle.
#include "kernels/reference/fake_quant_int_grouped.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/cuda/elements.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

using Floats = std::vector<float>;
using Sizes = std::vector<std::size_t>;

struct GroupedCase {
  std::size_t rows = 0;
  std::size_t columns = 0;
  unsigned bits = 4;
  std::uint32_t group_size = 128;
  Floats scale{};  // empty: from the weight
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t group_stride = 0;
  std::size_t shift = 0;
};

Floats on_cuda(const GroupedCase& given, const Floats& weight, std::uint64_t order) {
  SoftDevice device{order};
  cuda::IntGrouped call{.weight = device.put(weight, given.shift),
                        .output = device.allocate<float>(weight.size(), given.shift),
                        .scale = given.scale.empty() ? nullptr : device.put(given.scale),
                        .scale_row_stride = given.row_stride,
                        .scale_group_stride = given.group_stride,
                        .group_size = given.group_size,
                        .highest_code = static_cast<float>((1 << (given.bits - 1)) - 1)};
  cuda::set_shape(call, given.rows, given.columns);
  if (cuda::is_group_of_quads(given.group_size)) {
    device.run("lyk_fake_quant_int_grouped_forward_f32",
               cuda::quads_grid(call.shape.rows * call.shape.quads_per_row.value, 2), call);
  } else {
    const std::uint64_t groups = given.rows * cuda::quotient_up(given.columns, given.group_size);
    device.run("lyk_fake_quant_int_grouped_forward_any_f32", cuda::groups_grid(groups, 2), call);
  }
  return device.get<float>(call.output, weight.size());
}

void expect_grouped(const GroupedCase& given) {
  const Floats weight =
      awkward_floats(given.rows * given.columns, static_cast<unsigned>(given.columns));
  Floats expected(weight.size());
  reference::fake_quant_int_grouped(
      {.weight = weight,
       .rows = given.rows,
       .columns = given.columns,
       .bits = given.bits,
       .group_size = given.group_size,
       .scale = {.data = given.scale.empty() ? nullptr : given.scale.data(),
                 .row_stride = given.row_stride,
                 .group_stride = given.group_stride},
       .scalar_division = slots::ScalarDivision::reciprocal},
      expected);
  for (const std::uint64_t order : thread_orders)
    expect_same(on_cuda(given, weight, order), expected);
}

TEST(FakeQuantIntGroupedOnCuda, EqualsTheOracleWithAScaleFromTheWeight) {
  for (const std::size_t columns : Sizes{1, 20, 64, 100, 128, 257, 384})
    for (const unsigned bits : {2U, 4U})
      for (const std::size_t shift : Sizes{0, 1})
        expect_grouped({.rows = 3,
                        .columns = columns,
                        .bits = bits,
                        .group_size = bits == 4 ? 128U : 64U,
                        .shift = shift});
}

TEST(FakeQuantIntGroupedOnCuda, EqualsTheOracleForGroupsOfEverySize) {
  for (const std::uint32_t group_size : {1U, 3U, 4U, 8U, 16U, 32U, 40U, 129U, 256U})
    for (const unsigned bits : {3U, 8U})
      expect_grouped({.rows = 2, .columns = 300, .bits = bits, .group_size = group_size});
}

TEST(FakeQuantIntGroupedOnCuda, EqualsTheOracleWithAGivenScaleOfEveryStride) {
  const Floats scales{0.3F, 1e-13F, 0.02F, 0, infinity, nan, 0.07F, 3e38F, -1, 0.5F, 0.25F, 2};
  for (const std::size_t columns : Sizes{100, 256})
    for (const std::uint32_t group_size : {64U, 50U})
      for (const auto& [row_stride, group_stride] :
           std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>>{
               {0, 0},
               {0, 1},
               {1, 0},
               {1, 2},
               {static_cast<std::ptrdiff_t>(cuda::quotient_up(columns, group_size)), 1}})
        expect_grouped({.rows = 2,
                        .columns = columns,
                        .group_size = group_size,
                        .scale = scales,
                        .row_stride = row_stride,
                        .group_stride = group_stride});
}

// Half-way between two codes, and just beside it; beyond the lowest and the highest one as well.
TEST(FakeQuantIntGroupedOnCuda, EqualsTheOracleAtTies) {
  GroupedCase given{.rows = 1, .group_size = 16, .scale = {0.3F}};
  Floats weight{};
  for (int code = -11; code < 11; ++code)
    for (const float value : around((static_cast<float>(code) + 0.5F) * 0.3F))
      weight.push_back(value);
  given.columns = weight.size();
  Floats expected(weight.size());
  reference::fake_quant_int_grouped({.weight = weight,
                                     .rows = 1,
                                     .columns = weight.size(),
                                     .group_size = 16,
                                     .scale = {.data = given.scale.data()}},
                                    expected);
  expect_same(on_cuda(given, weight, 0), expected);
}

}  // namespace
}  // namespace lyk::test
