// ms_deform_attn on CUDA where numbers are infinite, too large for a float, or of no effect.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tests/cuda/deform_case.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

constexpr std::array both_ways{Backward::atomic, Backward::deterministic};

// Values that grow from cell to cell and gradients of 1, so that nothing cancels.
DeformTensors growing(const DeformCase& given, float location, float weight) {
  DeformTensors tensors = tensors_of(given, 3);
  for (std::size_t i = 0; i < tensors.value.size(); ++i) {
    const std::size_t cell_and_head = i / given.channels;
    tensors.value[i] = static_cast<float>(1 + cell_and_head);
  }
  tensors.grad_output.assign(tensors.grad_output.size(), 1.0F);
  tensors.locations.assign(tensors.locations.size(), location);
  tensors.weights.assign(tensors.weights.size(), weight);
  return tensors;
}

// As many channels as a lane has, fewer, some more, and several lanes.
TEST(MsDeformAttnOnCuda, GivesTheOraclesGradientsOfAnInfiniteWeight) {
  for (const std::size_t channels : std::vector<std::size_t>{3, 4, 12, 32})
    for (const ElementType type : element_types) {
      SCOPED_TRACE(std::to_string(channels) + " channels" + suffix(type));
      const DeformCase given{.name = "",
                             .shapes = {3, 3},
                             .channels = channels,
                             .queries = 1,
                             .points = 1,
                             .value_type = type,
                             .weights_type = type};
      const DeformTensors tensors = growing(given, 0.40625F, infinity);
      const DeformGradients expected = backward_of_oracle(tensors);
      ASSERT_TRUE(std::isinf(expected.locations[0]) && std::isinf(expected.locations[1]));
      for (const Backward backward : both_ways) {
        const DeformGradients actual = backward_on_cuda(given, tensors, backward, {});
        expect_same(actual.locations, expected.locations);
        expect_same(actual.value, expected.value);
        EXPECT_NEAR(actual.weights[0], expected.weights[0], 1e-6F * expected.weights[0]);
      }
    }
}

// One product is too large for a float. The unit of the others is that of the greatest of them,
// 2^92: 2^49, below half of which a term is lost.
TEST(MsDeformAttnOnCuda, DeterministicBackwardTakesItsUnitFromTheFiniteProducts) {
  for (const float weight : {4.0F, -4.0F}) {
    const DeformCase given{.name = "", .shapes = {1, 1}, .channels = 4, .queries = 1, .points = 1};
    DeformTensors tensors = growing(given, 0.5F, weight);
    tensors.grad_output = {3e38F, 1, 1e20F, 0x1p90F};
    const float kept = std::ldexp(std::nearbyint(std::ldexp(1e20F * weight, -49)), 49);
    expect_same(backward_on_cuda(given, tensors, Backward::deterministic, {}).value,
                std::vector<float>{weight * infinity, 0, kept, 0x1p90F * weight});
  }
}

// The weight of a sample in it is never looked at.
TEST(MsDeformAttnOnCuda, ALevelWithoutCellsAddsNothingWhateverItsWeight) {
  for (const ElementType type : element_types)
    for (const float weight : {infinity, nan}) {
      const DeformCase given{
          .name = "", .shapes = {0, 5, 2, 2, 3, 0}, .queries = 1, .points = 1, .value_type = type};
      DeformTensors tensors = growing(given, 0.40625F, 0.5F);
      tensors.weights = {weight, 0.5F, weight};
      expect_same(forward_on_cuda(given, tensors, {}),
                  rounded_to(type, forward_of_oracle(tensors)));
      const DeformGradients expected = backward_of_oracle(tensors);
      for (const Backward backward : both_ways) {
        const DeformGradients actual = backward_on_cuda(given, tensors, backward, {});
        expect_same(actual.value, rounded_to(type, expected.value));
        expect_same(actual.locations, expected.locations);
        expect_same(actual.weights, expected.weights);
      }
    }
}

// A whole cell outside, on each side: nearer by a float, it would reach one, and have gradients.
TEST(MsDeformAttnOnCuda, APointOneCellOutsideDoesNotCount) {
  const DeformCase given{.name = "", .shapes = {4, 4}, .queries = 1, .points = 1};
  for (const std::size_t axis : std::vector<std::size_t>{0, 1})
    for (const float edge : {-0.125F, 1.125F}) {
      DeformTensors tensors = growing(given, 0.40625F, 0.5F);
      tensors.locations[axis] = edge;
      const std::vector<float> zeros(tensors.value.size());
      expect_same(forward_on_cuda(given, tensors, {}), std::vector<float>(given.channels));
      for (const Backward backward : both_ways) {
        const DeformGradients actual = backward_on_cuda(given, tensors, backward, {});
        expect_same(actual.value, zeros);
        expect_same(actual.locations, std::vector<float>(2));
        expect_same(actual.weights, std::vector<float>(1));
      }
    }
}

}  // namespace
}  // namespace lyk::test
