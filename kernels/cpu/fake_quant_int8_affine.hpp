// fake_quant_int8_affine on processors: the bits of kernels/reference/fake_quant_int8_affine.hpp,
// which states the formula.
// Thread rule: as Workers, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/cpu/execution.hpp"
#include "kernels/slots/quantization.hpp"

namespace lyk::cpu {

// REQUIRES: output.size() == x.size(); output may be x.
void fake_quant_int8_affine(const slots::FakeQuantInt8Affine& call,
                            std::span<float> output,
                            const Execution& execution);

// REQUIRES: both gradients of x.size(); they may be one.
void fake_quant_int8_affine_backward(const slots::FakeQuantInt8Affine& call,
                                     std::span<const float> grad_output,
                                     std::span<float> grad_x,
                                     const Execution& execution);

}  // namespace lyk::cpu
