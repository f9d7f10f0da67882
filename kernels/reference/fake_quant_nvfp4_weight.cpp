#include "kernels/reference/fake_quant_nvfp4_weight.hpp"

#include "kernels/reference/nvfp4.hpp"
#include "proto/check.hpp"

namespace lyk::reference {
namespace {

E2m1Blocks blocks_of(const slots::FakeQuantNvfp4Weight& call) {
  LYK_CHECK(call.weight.size() == call.rows * call.columns);
  return nvfp4_blocks(call.weight, call.columns,
                      nvfp4_tensor_scale(call.tensor_amax, call.scalar_division));
}

}  // namespace

void fake_quant_nvfp4_weight(const slots::FakeQuantNvfp4Weight& call, std::span<float> output) {
  fake_quant_e2m1_blocks(blocks_of(call), output);
}

void fake_quant_nvfp4_weight_backward(const slots::FakeQuantNvfp4Weight& call,
                                      std::span<const float> grad_output,
                                      std::span<float> grad_weight) {
  fake_quant_e2m1_blocks_backward(blocks_of(call), grad_output, grad_weight);
}

}  // namespace lyk::reference
