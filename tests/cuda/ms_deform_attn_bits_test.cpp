// The deterministic backward of ms_deform_attn on CUDA, bit for bit with a model of its order on
// the host: what no tolerance would show.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cuda/deform_case.hpp"
#include "tests/cuda/deform_model.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

void expect_model(const DeformCase& given, const DeformTensors& tensors) {
  const DeformGradients expected = backward_of_model(tensors);
  const DeformGradients actual = backward_on_cuda(given, tensors, Backward::deterministic, {});
  expect_same(actual.value, rounded_to(given.value_type, expected.value));
  expect_same(actual.locations, rounded_to(given.locations_type, expected.locations));
  expect_same(actual.weights, rounded_to(given.weights_type, expected.weights));
}

// One lane, several, and channels in turns; as vectors and one by one; every type. Sides are no
// powers of two, by which everything is exact.
std::vector<DeformCase> cases() {
  std::vector<DeformCase> out;
  for (const std::size_t channels : std::vector<std::size_t>{3, 4, 30, 32, 200})
    for (const ElementType type : element_types)
      out.push_back({.name = std::to_string(channels) + " channels" + suffix(type),
                     .shapes = {5, 6, 3, 7},
                     .heads = 2,
                     .channels = channels,
                     .queries = 9,
                     .value_type = type,
                     .weights_type = type});
  // More than twice the threads of a block, which counts them up in turns.
  out.push_back({.name = "624 bins", .shapes = {23, 25}, .queries = 200});
  return out;
}

TEST(MsDeformAttnOnCuda, DeterministicBackwardGivesTheBitsOfItsModel) {
  for (const DeformCase& given : cases()) {
    SCOPED_TRACE(given.name);
    expect_model(given, tensors_of(given, 21));
  }
}

// Points on the one cell there is: the first two cancel, and what is left shows the unit to which
// terms are rounded.
DeformTensors cancelling(const DeformCase& given, float weight, float great) {
  DeformTensors tensors = tensors_of(given, 25);
  tensors.locations.assign(tensors.locations.size(), 0.5F);
  tensors.weights.assign(tensors.weights.size(), weight);
  for (std::size_t i = 0; i < given.channels; ++i) {
    tensors.grad_output[i] = great;
    tensors.grad_output[given.channels + i] = -great;
    tensors.grad_output[2 * given.channels + i] *= 0x1p-33F;
  }
  return tensors;
}

TEST(MsDeformAttnOnCuda, DeterministicBackwardRoundsTermsToItsUnit) {
  const DeformCase given{.name = "", .shapes = {1, 1}, .channels = 32, .points = 1};
  expect_model(given, cancelling(given, 0.7F, 1.3F));
}

// 1 / 43 is rounded down, and 43 times that up to 1: it is the rounded bound that gives the unit.
TEST(MsDeformAttnOnCuda, DeterministicBackwardTakesItsUnitFromTheRoundedBound) {
  const DeformCase given{.name = "", .shapes = {1, 1}, .channels = 32, .points = 1};
  constexpr float great = 43;
  constexpr float weight = 1 / great;
  static_assert(double{weight} * great < 1 && weight * great == 1);
  expect_model(given, cancelling(given, weight, great));
}

}  // namespace
}  // namespace lyk::test
