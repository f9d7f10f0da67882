#include "kernels/cpu/unpack.hpp"

#include <gtest/gtest.h>

#include "kernels/reference/unpack_int_grouped.hpp"
#include "kernels/reference/unpack_nvfp4.hpp"
#include "tests/cpu/shapes.hpp"
#include "tests/cpu/values.hpp"
#include "tests/cpu/ways.hpp"

namespace lyk::cpu::test {
namespace {

using slots::UnpackIntGrouped;
using slots::UnpackNvfp4;
using Bytes = std::vector<std::uint8_t>;

Bytes bytes(std::size_t count, std::uint32_t seed) {
  Generator generator{seed};
  Bytes made(count);
  for (std::uint8_t& byte : made)
    byte = static_cast<std::uint8_t>(generator.next());
  return made;
}

// With a few that are no scales: zero, negative, not finite.
Floats odd_scales(std::size_t count) {
  Floats scales = wild_values(count, 41, 0.1F);
  for (std::size_t i = 1; i < count; i += 2)
    scales[i] = std::fabs(scales[i]) + 0.01F;
  return scales;
}

std::vector<Matrix> all_shapes() {
  std::vector<Matrix> shapes = linear_weights();
  for (const Matrix& odd : odd_shapes())
    shapes.push_back(odd);
  return shapes;
}

void expect_oracle(Pools& pools, const UnpackIntGrouped& call) {
  Floats expected(call.rows * call.columns);
  reference::unpack_int_grouped(call, expected);
  pools.for_each_set([&](const Execution& execution) {
    Floats output(expected.size());
    unpack_int_grouped(call, output, execution);
    expect_same(output, expected);
  });
}

void expect_oracle(Pools& pools, const UnpackNvfp4& call) {
  Floats expected(call.rows * call.columns);
  reference::unpack_nvfp4(call, expected);
  pools.for_each_set([&](const Execution& execution) {
    Floats output(expected.size());
    unpack_nvfp4(call, output, execution);
    expect_same(output, expected);
  });
}

struct Recipe {
  unsigned bits;
  std::size_t group_size;
};

TEST(UnpackIntGrouped, HasTheOraclesBitsOnEveryShape) {
  Pools pools;
  for (const Recipe& recipe : {Recipe{4, 128}, {2, 64}, {4, 10}, {2, 4}})
    for (const auto& [rows, columns] : all_shapes()) {
      const std::size_t groups = slots::groups_in(columns, recipe.group_size);
      const std::size_t row_bytes = groups * recipe.group_size * recipe.bits / 8;
      const Bytes payload = bytes(rows * row_bytes, static_cast<std::uint32_t>(columns));
      const Floats scale = odd_scales(rows * groups);
      expect_oracle(pools,
                    UnpackIntGrouped{.payload = payload,
                                     .rows = rows,
                                     .row_bytes = row_bytes,
                                     .columns = columns,
                                     .bits = recipe.bits,
                                     .group_size = recipe.group_size,
                                     .scale = {.data = scale.data(),
                                               .row_stride = static_cast<std::ptrdiff_t>(groups),
                                               .group_stride = 1}});
    }
}

// Groups that begin within a byte.
TEST(UnpackIntGrouped, GroupsOfOddSizesHaveTheOraclesBits) {
  Pools pools;
  const Bytes payload = bytes(600, 42);
  const Floats scale = odd_scales(200);
  for (const Recipe& recipe : {Recipe{4, 3}, {4, 1}, {4, 40}, {2, 3}, {2, 5}, {2, 80}})
    for (const std::size_t columns : {1U, 50U, 119U, 120U})
      expect_oracle(pools, UnpackIntGrouped{.payload = payload,
                                            .rows = 10,
                                            .row_bytes = 60,
                                            .columns = columns,
                                            .bits = recipe.bits,
                                            .group_size = recipe.group_size,
                                            .scale = {.data = scale.data(), .group_stride = 1}});
}

TEST(UnpackNvfp4, HasTheOraclesBitsOnEveryShape) {
  Pools pools;
  for (const auto& [rows, columns] : all_shapes()) {
    const std::size_t blocks = slots::groups_in(columns, slots::nvfp4_block);
    const Bytes payload = bytes(rows * blocks * 8, static_cast<std::uint32_t>(columns));
    const Bytes scale = bytes(rows * blocks, 43);
    expect_oracle(pools, UnpackNvfp4{.payload = payload,
                                     .rows = rows,
                                     .blocks = blocks,
                                     .columns = columns,
                                     .block_scale_e4m3 = scale,
                                     .tensor_amax = 1.3F});
  }
}

TEST(UnpackNvfp4, AllCodesUnderAllScalesHaveTheOraclesBits) {
  Pools pools;
  const std::size_t blocks = 256;
  Bytes payload(blocks * 8);
  Bytes scale(blocks);
  Floats float_scale = odd_scales(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    scale[i] = static_cast<std::uint8_t>(i);
    for (std::size_t j = 0; j < 8; ++j)
      payload[i * 8 + j] = static_cast<std::uint8_t>(j * 0x22 + 0x10);
  }
  for (const float amax : {0.0F, 1.3F, 1e-20F, 1e35F, infinity, nan}) {
    UnpackNvfp4 call{.payload = payload,
                     .rows = 1,
                     .blocks = blocks,
                     .columns = blocks * 16,
                     .block_scale_e4m3 = scale,
                     .tensor_amax = amax};
    expect_oracle(pools, call);
    call.block_scale_e4m3 = {};
    call.block_scale = float_scale;
    expect_oracle(pools, call);
  }
}

// More columns are stored than are asked for, by more than a block.
TEST(UnpackNvfp4, StoredPaddingIsLeftOut) {
  Pools pools;
  const Bytes payload = bytes(2800, 44);
  const Bytes scale(350, 0x38);
  for (const std::size_t columns : {1U, 16U, 17U, 1040U})
    expect_oracle(pools, UnpackNvfp4{.payload = payload,
                                     .rows = 5,
                                     .blocks = 70,
                                     .columns = columns,
                                     .block_scale_e4m3 = scale,
                                     .tensor_amax = 2});
}

TEST(Unpack, ResultsDoNotDependOnThreads) {
  Pools pools;
  const Bytes payload = bytes(153600, 45);
  const Floats scale = odd_scales(2400);
  const UnpackIntGrouped call{.payload = payload,
                              .rows = 300,
                              .row_bytes = 512,
                              .columns = 1000,
                              .scale = {.data = scale.data(), .row_stride = 8, .group_stride = 1}};
  Floats expected(300000);
  reference::unpack_int_grouped(call, expected);
  pools.for_each_way([&](const Execution& execution) {
    Floats output(expected.size());
    unpack_int_grouped(call, output, execution);
    expect_same(output, expected);
  });
}

TEST(Unpack, NothingIsDoneToEmptyTensors) {
  Pools pools;
  unpack_int_grouped({.rows = 3}, {}, pools.best());
  unpack_nvfp4({.rows = 3}, {}, pools.best());
}

}  // namespace
}  // namespace lyk::cpu::test
