// The oracle of the slot fake_quant_nvfp4_weight: NVFP4 with a tensor_amax that was fixed when the
// weight was first quantised, so that training goes on with a stable scale. The formula is that of
// nvfp4.hpp.
//
// Thread rule: any thread, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/slots/quantization.hpp"

namespace lyk::reference {

// REQUIRES: sizes as the struct states, output.size() == weight.size().
void fake_quant_nvfp4_weight(const slots::FakeQuantNvfp4Weight& call, std::span<float> output);

// As fake_quant_e2m1_blocks_backward. tensor_amax has no gradient here: LibreYOLO's modules keep it
// in a buffer. REQUIRES: both gradients of weight.size().
void fake_quant_nvfp4_weight_backward(const slots::FakeQuantNvfp4Weight& call,
                                      std::span<const float> grad_output,
                                      std::span<float> grad_weight);

}  // namespace lyk::reference
