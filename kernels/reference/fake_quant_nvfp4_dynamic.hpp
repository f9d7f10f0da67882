// The oracle of the slot fake_quant_nvfp4_dynamic: NVFP4 of an activation. tensor_amax is the
// greatest magnitude of the whole tensor as it comes in, so that a sample is quantised differently
// in another batch; then the formula is that of nvfp4.hpp. One NaN makes every output NaN.
//
// Thread rule: any thread, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/slots/quantization.hpp"

namespace lyk::reference {

// REQUIRES: sizes as the struct states, output.size() == x.size().
void fake_quant_nvfp4_dynamic(const slots::FakeQuantNvfp4Dynamic& call, std::span<float> output);

// As fake_quant_e2m1_blocks_backward; the two greatest magnitudes pass no gradient. REQUIRES: both
// gradients of x.size().
void fake_quant_nvfp4_dynamic_backward(const slots::FakeQuantNvfp4Dynamic& call,
                                       std::span<const float> grad_output,
                                       std::span<float> grad_x);

}  // namespace lyk::reference
