// fake_quant_int8_per_channel on processors: the bits of
// kernels/reference/fake_quant_int8_per_channel.hpp, which states the formula.
// Thread rule: as Workers, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/cpu/execution.hpp"
#include "kernels/slots/quantization.hpp"

namespace lyk::cpu {

// Allocates, unless the tensor is channels of 64 or more elements one after the other: what it
// allocates is about a row of scales. REQUIRES: sizes as the struct states, output.size() ==
// weight.size(); output may be weight.
void fake_quant_int8_per_channel(const slots::FakeQuantInt8PerChannel& call,
                                 std::span<float> output,
                                 const Execution& execution);

// REQUIRES: both gradients of weight.size(); they may be one.
void fake_quant_int8_per_channel_backward(const slots::FakeQuantInt8PerChannel& call,
                                          std::span<const float> grad_output,
                                          std::span<float> grad_weight,
                                          const Execution& execution);

}  // namespace lyk::cpu
