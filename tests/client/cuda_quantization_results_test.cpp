// `cuda` for the quantization slots: that a launch takes the kernel of the type and the scale of
// each element, by results that would be others.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "client/quantization.hpp"
#include "tests/client/cuda_scene.hpp"
#include "tests/client/scaled_call.hpp"
#include "tests/client/typed_tensors.hpp"

namespace lyk::test {
namespace {

std::string differences(const Floats& actual, const Floats& expected) {
  if (actual.size() != expected.size())
    return str(actual.size(), " elements, not ", expected.size(), "; ");
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!is_same(actual[i], expected[i]))
      return str("element ", i, " is ", std::to_string(actual[i]), ", not ",
                 std::to_string(expected[i]), "; ");
  return {};
}

TEST(CudaQuantization, FindsTheScaleOfEachElement) {
  if constexpr (is_thread_sanitizer)
    GTEST_SKIP() << no_more_threads;
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene;
    std::string wrong;
    for (const ScaleForm& form : scale_forms())
      for (const std::uint32_t operation : operations_of(form)) {
        QuantizationCall call{form.slot};
        fill_scaled(call, form, operation);
        scene.upload(call);
        std::string done = scene.call(call);
        done += differences(scene.result(call), of_oracle_by_element(call, form, OracleOf::cuda));
        wrong += done.empty() ? "" : form.name() + ": " + done;
      }
    return wrong + expect_count(scene.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

// ---- 16 bits

// Inputs with elements, outputs and gradients, but for scales and ranges.
std::vector<OwnTensor*> elements_of(QuantizationCall& call) {
  std::vector<OwnTensor*> out{&call.tensor(0)};
  for (std::size_t i = client::find_quantization_slot(call.slot)->inputs; i < call.size(); ++i)
    out.push_back(&call.tensor(i));
  return out;
}

// What is wrong with a call of fp32 tensors in another type: the oracle takes the numbers that the
// type can hold, and what it gives is rounded to the type. `oracle(call)`.
template <typename Oracle>
std::string in_type(CudaScene& scene,
                    QuantizationCall& call,
                    ElementType type,
                    const Oracle& oracle) {
  for (OwnTensor* tensor : elements_of(call))
    tensor->bytes = bytes_as(ElementType::f32, rounded_to(type, tensor->floats()));
  const Floats expected = rounded_to(type, oracle(call));
  for (OwnTensor* tensor : elements_of(call)) {
    tensor->bytes = bytes_as(type, tensor->floats());
    tensor->tensor.dtype = dtype_of(type);
  }
  scene.upload(call);
  std::string done = scene.call(call);
  const Floats words = scene.result(call);
  done += differences(floats_from(type, std::as_bytes(std::span{words})), expected);
  return done.empty() ? "" : str(call.slot, " of ", name_of(type), ": ", done);
}

TEST(CudaQuantization, ComputesEachTypeByItsOwnKernels) {
  if constexpr (is_thread_sanitizer)
    GTEST_SKIP() << no_more_threads;
  const std::string said = in_child(cuda_variables(), []() -> std::string {
    CudaScene scene;
    std::string wrong;
    for (const ElementType type : element_types)
      for (const std::uint32_t operation : {LYK_FORWARD, LYK_BACKWARD}) {
        QuantizationCall affine{"fake_quant_int8_affine"};
        operation == LYK_FORWARD ? fill(affine) : fill_backward(affine);
        wrong += in_type(scene, affine, type,
                         [](QuantizationCall& call) { return of_oracle(call, OracleOf::cuda); });
        for (const ScaleForm& form : scale_forms()) {
          if (form.slot != "fake_quant_int8_per_channel")
            continue;
          QuantizationCall channels{form.slot};
          fill_scaled(channels, form, operation);
          wrong += in_type(scene, channels, type, [&](QuantizationCall& call) {
            return of_oracle_by_element(call, form, OracleOf::cuda);
          });
        }
      }
    return wrong + expect_count(scene.warnings(), 0);
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
