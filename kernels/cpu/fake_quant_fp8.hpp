// fake_quant_fp8 on processors: the bits of kernels/reference/fake_quant_fp8.hpp, which states the
// formula.
// Thread rule: as Workers, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/cpu/execution.hpp"
#include "kernels/slots/quantization.hpp"

namespace lyk::cpu {

// Allocates where channels are shorter than 64 elements: about a row of scales. REQUIRES: sizes as
// the struct states, output.size() == x.size(); output may be x.
void fake_quant_fp8(const slots::FakeQuantFp8& call,
                    std::span<float> output,
                    const Execution& execution);

// REQUIRES: both gradients of x.size(); they may be one.
void fake_quant_fp8_backward(const slots::FakeQuantFp8& call,
                             std::span<const float> grad_output,
                             std::span<float> grad_x,
                             const Execution& execution);

}  // namespace lyk::cpu
