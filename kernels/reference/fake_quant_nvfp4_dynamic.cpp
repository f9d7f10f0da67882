#include "kernels/reference/fake_quant_nvfp4_dynamic.hpp"

#include "kernels/reference/arithmetic.hpp"
#include "kernels/reference/nvfp4.hpp"
#include "proto/check.hpp"

namespace lyk::reference {
namespace {

E2m1Blocks blocks_of(const slots::FakeQuantNvfp4Dynamic& call) {
  LYK_CHECK(call.x.size() == call.rows * call.columns);
  const float tensor_amax = greatest_magnitude(call.x);
  return nvfp4_blocks(call.x, call.columns, nvfp4_tensor_scale(tensor_amax, call.scalar_division));
}

}  // namespace

void fake_quant_nvfp4_dynamic(const slots::FakeQuantNvfp4Dynamic& call, std::span<float> output) {
  fake_quant_e2m1_blocks(blocks_of(call), output);
}

void fake_quant_nvfp4_dynamic_backward(const slots::FakeQuantNvfp4Dynamic& call,
                                       std::span<const float> grad_output,
                                       std::span<float> grad_x) {
  fake_quant_e2m1_blocks_backward(blocks_of(call), grad_output, grad_x);
}

}  // namespace lyk::reference
