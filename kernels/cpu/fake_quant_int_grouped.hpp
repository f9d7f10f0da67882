// fake_quant_int_grouped on processors: the bits of kernels/reference/fake_quant_int_grouped.hpp,
// which states the formula.
// Thread rule: as Workers, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/cpu/execution.hpp"
#include "kernels/slots/quantization.hpp"

namespace lyk::cpu {

// REQUIRES: sizes as the struct states, group_size > 0, output.size() == weight.size(); output may
// be weight.
void fake_quant_int_grouped(const slots::FakeQuantIntGrouped& call,
                            std::span<float> output,
                            const Execution& execution);

// REQUIRES: both gradients of weight.size(); they may be one.
void fake_quant_int_grouped_backward(const slots::FakeQuantIntGrouped& call,
                                     std::span<const float> grad_output,
                                     std::span<float> grad_weight,
                                     const Execution& execution);

}  // namespace lyk::cpu
