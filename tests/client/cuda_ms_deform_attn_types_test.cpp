// `cuda` for ms_deform_attn: that a launch takes the kernels of the type of value, and reads and
// writes locations and weights as the types that they are of, by results that would be others; and
// that it needs no more workspace than it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "client/ms_deform_attn.hpp"
#include "tests/client/cuda_scene.hpp"
#include "tests/client/typed_tensors.hpp"

namespace lyk::test {
namespace {

struct DeformTypes {
  ElementType value;  // and output, and the gradients of both
  ElementType locations;
  ElementType weights;

  std::string name() const {
    return str("value ", name_of(value), ", locations ", name_of(locations), ", weights ",
               name_of(weights), ": ");
  }
};

// Each pair of types, of each two of the three.
std::vector<DeformTypes> mixtures() {
  std::vector<DeformTypes> out;
  for (std::size_t value = 0; value < 3; ++value)
    for (std::size_t locations = 0; locations < 3; ++locations)
      out.push_back(
          {element_types[value], element_types[locations], element_types[(value + locations) % 3]});
  return out;
}

const DeformShape& shape() {
  static const DeformShape two_levels{
      .batch = 2, .heads = 2, .channels = 12, .queries = 3, .points = 2, .levels = {4, 3, 2, 2}};
  return two_levels;
}

// What the types can hold of the same inputs.
DeformInputs inputs_of(const DeformTypes& types) {
  DeformInputs out = random_inputs(shape(), 1);
  out.value = rounded_to(types.value, out.value);
  out.grad_output = rounded_to(types.value, out.grad_output);
  out.locations = rounded_to(types.locations, out.locations);
  out.weights = rounded_to(types.weights, out.weights);
  return out;
}

// A call with its tensors on the GPU of a scene.
class TypedCall {
public:
  TypedCall(CudaScene& scene, const DeformTypes& types)
      : scene_(scene), types_(types), inputs_(inputs_of(types)), call_(shape()) {
    put(call_.value, types.value, inputs_.value);
    put(call_.grad_output, types.value, inputs_.grad_output);
    put(call_.sampling_locations, types.locations, inputs_.locations);
    put(call_.attention_weights, types.weights, inputs_.weights);
    for (TestTensor* tensor : {&call_.output, &call_.grad_value})
      put(*tensor, types.value, spoiled(*tensor));
    put(call_.grad_sampling_locations, types.locations, spoiled(call_.grad_sampling_locations));
    put(call_.grad_attention_weights, types.weights, spoiled(call_.grad_attention_weights));
    call_.spatial_shapes.tensor.data = pretend_address(scene.gpu().upload(call_.host_shapes));
    call_.level_start_index.tensor.data =
        pretend_address(scene.gpu().upload(std::vector<std::int64_t>{0, 12}));
  }

  void leave_out_level_starts() { call_.has_level_starts = false; }

  // What is wrong with the call or its results; empty: nothing.
  std::string forward(std::uint32_t flags) {
    const std::string done = run(LYK_FORWARD, flags);
    return done.empty() ? compare("output", call_.output, types_.value, reference().forward())
                        : done;
  }
  std::string backward(std::uint32_t flags) {
    const std::string done = run(LYK_BACKWARD, flags);
    if (!done.empty())
      return done;
    const DeformGradients expected = reference().backward();
    return compare("grad_value", call_.grad_value, types_.value, expected.value) +
           compare("grad_sampling_locations", call_.grad_sampling_locations, types_.locations,
                   expected.locations) +
           compare("grad_attention_weights", call_.grad_attention_weights, types_.weights,
                   expected.weights);
  }

private:
  DeformReference reference() const { return {shape(), inputs_}; }

  static std::vector<float> spoiled(const TestTensor& tensor) {
    return std::vector<float>(static_cast<std::size_t>(tensor.elements()), -7.5F);
  }

  void put(TestTensor& tensor, ElementType type, const std::vector<float>& values) {
    tensor.tensor.dtype = dtype_of(type);
    tensor.tensor.data = pretend_address(scene_.gpu().upload(bytes_as(type, values)));
  }

  // With exactly the workspace that is asked for, behind which there is nothing.
  std::string run(std::uint32_t operation, std::uint32_t flags) {
    call_.flags = flags;
    lyk_ms_deform_attn_call asked = call_.call();
    if (operation == LYK_FORWARD)
      asked.grad_value = nullptr;
    const auto needed = client::ms_deform_attn_workspace_bytes(asked, flags);
    if (!needed)
      return needed.error().message;
    call_.workspace = *needed == 0 ? nullptr : pretend_address(scene_.gpu().allocate(*needed));
    call_.workspace_bytes = *needed;
    const auto done = scene_.registry().call_ms_deform_attn(call_.arguments(operation));
    return done ? std::string{} : done.error().message;
  }

  // Relative to the greatest value, as a sum of many has the error of its greatest parts; and
  // within the step of a type about it.
  std::string compare(const char* name,
                      const TestTensor& tensor,
                      ElementType type,
                      const std::vector<double>& expected) const {
    constexpr std::array steps{0.0, 0x1p-11, 0x1p-8};  // half of one, next to 1
    const auto count = static_cast<std::size_t>(tensor.elements());
    const std::vector<float> words =
        scene_.gpu().download(reinterpret_cast<std::uintptr_t>(tensor.tensor.data),
                              count * bytes_of_element(type) / sizeof(float));
    const std::vector<float> actual = floats_from(type, std::as_bytes(std::span{words}));
    double greatest = 0;
    for (const double value : expected)
      greatest = std::max(greatest, std::abs(value));
    const double tolerance = (1e-4 + steps[static_cast<std::size_t>(type)]) * greatest;
    for (std::size_t i = 0; i < count; ++i)
      if (!(std::abs(actual[i] - expected[i]) <= tolerance))
        return str(name, "[", i, "] is ", std::to_string(actual[i]), ", expected ",
                   std::to_string(expected[i]), "; ");
    return {};
  }

  CudaScene& scene_;
  DeformTypes types_;
  DeformInputs inputs_;
  DeformCall call_;
};

TEST(CudaMsDeformAttn, ComputesEveryMixtureOfTypes) {
  if constexpr (is_thread_sanitizer)
    GTEST_SKIP() << no_more_threads;
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene{{.fatbin = LYK_IMAGES "/deform.fatbin", .names = {"cuda"}}};
    std::string wrong;
    for (const DeformTypes& types : mixtures()) {
      std::string of_types = TypedCall{scene, types}.forward(0);
      for (const std::uint32_t flags : {0U, std::uint32_t{LYK_DETERMINISTIC}})
        of_types += TypedCall{scene, types}.backward(flags);
      wrong += of_types.empty() ? "" : types.name() + of_types;
    }
    return wrong + expect_count(scene.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

// As LibreYOLO calls it: of float32, atomic, nothing is behind the starts of the levels.
TEST(CudaMsDeformAttn, RunsWithTheWorkspaceThatItAsksFor) {
  if constexpr (is_thread_sanitizer)
    GTEST_SKIP() << no_more_threads;
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene{{.fatbin = LYK_IMAGES "/deform.fatbin", .names = {"cuda"}}};
    std::string wrong;
    for (const ElementType type : {ElementType::f32, ElementType::f16})
      for (const bool has_level_starts : {true, false})
        for (const std::uint32_t flags : {0U, std::uint32_t{LYK_DETERMINISTIC}}) {
          TypedCall call{scene, {type, ElementType::f32, ElementType::f32}};
          if (!has_level_starts)
            call.leave_out_level_starts();
          const std::string done = call.forward(flags) + call.backward(flags);
          if (!done.empty())
            wrong += str(name_of(type), has_level_starts ? "" : ", no starts", ", flags ", flags,
                         ": ", done, "; ");
        }
    return wrong + expect_count(scene.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
