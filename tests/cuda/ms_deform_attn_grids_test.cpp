// ms_deform_attn on CUDA from grids of one block to more blocks than there is work: what a block
// comes round to again, and what it finds nothing to do of, changes no bit.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tests/cuda/deform_case.hpp"
#include "tests/cuda/deform_model.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

constexpr std::array<std::uint32_t, 4> grids{1, 2, 7, 64};

// One block has room for 128 of its 300 rows and 1180 cells of heads, 256 of its 1200 points, and
// for one of its four levels of heads.
DeformCase crowded() {
  return {.name = "", .shapes = {23, 25, 3, 5}, .heads = 2, .channels = 8, .queries = 150};
}

TEST(MsDeformAttnOnCuda, ForwardGivesTheBitsOfTheOracleFromEveryGrid) {
  const DeformTensors tensors = tensors_of(crowded(), 31);
  const std::vector<float> expected = forward_of_oracle(tensors);
  for (const std::uint32_t blocks : grids) {
    SCOPED_TRACE(std::to_string(blocks) + " blocks");
    expect_same(forward_on_cuda(crowded(), tensors, {.order = 1, .blocks = blocks}), expected);
  }
}

TEST(MsDeformAttnOnCuda, DeterministicBackwardGivesTheSameBitsFromEveryGrid) {
  const DeformTensors tensors = tensors_of(crowded(), 32);
  const DeformGradients expected = backward_of_model(tensors);
  for (const std::uint32_t blocks : grids) {
    SCOPED_TRACE(std::to_string(blocks) + " blocks");
    const DeformGradients actual = backward_on_cuda(crowded(), tensors, Backward::deterministic,
                                                    {.order = 1, .blocks = blocks});
    expect_same(actual.value, expected.value);
    expect_same(actual.locations, expected.locations);
    expect_same(actual.weights, expected.weights);
  }
}

// Only the sums of value have no order; of 16 bits, a last launch rounds them.
TEST(MsDeformAttnOnCuda, AtomicBackwardAddsUpTheSameFromEveryGrid) {
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    DeformCase given = crowded();
    given.value_type = type;
    const DeformTensors tensors = tensors_of(given, 33);
    const DeformGradients expected = backward_of_model(tensors);
    const float step = type == ElementType::f32 ? 1e-5F : 0x1p-10F;
    for (const std::uint32_t blocks : {grids.front(), grids.back()}) {
      SCOPED_TRACE(std::to_string(blocks) + " blocks" + suffix(type));
      const DeformGradients actual =
          backward_on_cuda(given, tensors, Backward::atomic, {.order = 1, .blocks = blocks});
      expect_same(actual.locations, expected.locations);
      expect_same(actual.weights, expected.weights);
      ASSERT_EQ(actual.value.size(), expected.value.size());
      for (std::size_t i = 0; i < expected.value.size(); ++i)
        EXPECT_NEAR(actual.value[i], expected.value[i], step * (1 + std::fabs(expected.value[i])))
            << "element " << i;
    }
  }
}

}  // namespace
}  // namespace lyk::test
