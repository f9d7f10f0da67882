// The oracle of the slot fake_quant_int8_per_channel: symmetric INT8 with one scale per channel,
// rounded to the grid and back.
//
// Per channel, with every line one fp32 rounding:
//   scale  = the given one, or max(scalar_divide(greatest |w| of the channel, 127), 1e-12)
//   inv    = 1 / scale
//   code   = clip(round_half_even(w * inv), -128, 127)
//   output = code * scale
// An inverse is multiplied with, w is not divided by scale. A given scale is taken as it is: zero
// makes inv infinite and every output a zero. With a scale from the weight no code is beyond 127.
//
// NaN: a channel whose scale comes from a NaN is NaN throughout. With a given scale, NaN has code
// -128, and what is too large for a 64-bit integer the code that `overflow` names.
//
// Source: LibreYOLO 1.6.0, quant/fake_quant.py, and under it PyTorch's
// fake_quantize_per_channel_affine on a CPU.
//
// Thread rule: any thread, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/slots/quantization.hpp"

namespace lyk::reference {

// REQUIRES: sizes as the struct states, output.size() == weight.size(). Allocates one scale per
// channel.
void fake_quant_int8_per_channel(const slots::FakeQuantInt8PerChannel& call,
                                 std::span<float> output);

// grad_weight = grad_output * (1 where the code before clipping is from -128 to 127, else 0), a
// multiplication: where it is 0, a negative gradient gives -0, an infinite one and NaN give NaN.
// The scale has no gradient. REQUIRES: both gradients of weight.size().
void fake_quant_int8_per_channel_backward(const slots::FakeQuantInt8PerChannel& call,
                                          std::span<const float> grad_output,
                                          std::span<float> grad_weight);

}  // namespace lyk::reference
