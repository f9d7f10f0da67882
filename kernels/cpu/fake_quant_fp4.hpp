// The FP4 slots on processors: the bits of kernels/reference/fake_quant_nvfp4_weight.hpp,
// fake_quant_nvfp4_dynamic.hpp and fake_quant_mxfp4.hpp, which state the formulas.
// Thread rule: as Workers, for buffers that nobody else touches.
//
// In all of them REQUIRES: sizes as the struct states, outputs and gradients of the size of the
// input. An output may be its input, and grad_x may be grad_output.
#pragma once

#include <span>

#include "kernels/cpu/execution.hpp"
#include "kernels/slots/quantization.hpp"

namespace lyk::cpu {

void fake_quant_nvfp4_weight(const slots::FakeQuantNvfp4Weight& call,
                             std::span<float> output,
                             const Execution& execution);
void fake_quant_nvfp4_weight_backward(const slots::FakeQuantNvfp4Weight& call,
                                      std::span<const float> grad_output,
                                      std::span<float> grad_weight,
                                      const Execution& execution);

// Reads x twice: the greatest magnitude of all of it comes first.
void fake_quant_nvfp4_dynamic(const slots::FakeQuantNvfp4Dynamic& call,
                              std::span<float> output,
                              const Execution& execution);
void fake_quant_nvfp4_dynamic_backward(const slots::FakeQuantNvfp4Dynamic& call,
                                       std::span<const float> grad_output,
                                       std::span<float> grad_x,
                                       const Execution& execution);

void fake_quant_mxfp4(const slots::FakeQuantMxfp4& call,
                      std::span<float> output,
                      const Execution& execution);
void fake_quant_mxfp4_backward(const slots::FakeQuantMxfp4& call,
                               std::span<const float> grad_output,
                               std::span<float> grad_x,
                               const Execution& execution);

}  // namespace lyk::cpu
