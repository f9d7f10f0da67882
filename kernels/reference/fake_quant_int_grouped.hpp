// The oracle of the slot fake_quant_int_grouped: symmetric integers of `bits` bits with one scale
// per group of columns of a row (W4 with groups of 128, W2 with groups of 64).
//
// Per group, with qmax = 2^(bits-1) - 1, qmin = -2^(bits-1) and every line one fp32 rounding:
//   scale  = the given one, or max(scalar_divide(greatest |w| of the group, qmax), 1e-12)
//   s      = max(scale, 1e-12)
//   t      = w / s
//   q      = clip(round_half_even(t), qmin, qmax) * s
//   output = straight_through(q, w)                     (two additions, arithmetic.hpp)
// The last group of a row may be shorter; the zeros that LibreYOLO pads it with change nothing.
// qmin is reached only with a given scale. Infinite w and NaN give NaN, and so does all of a group
// whose scale comes from NaN; -0 gives +0.
//
// Source: LibreYOLO 1.6.0, quant/fake_quant.py, on a CPU.
//
// Thread rule: any thread, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/slots/quantization.hpp"

namespace lyk::reference {

// REQUIRES: sizes as the struct states, group_size > 0, output.size() == weight.size().
void fake_quant_int_grouped(const slots::FakeQuantIntGrouped& call, std::span<float> output);

// grad_weight = grad_output, clipped or not. The scale has no gradient. REQUIRES: both of
// weight.size().
void fake_quant_int_grouped_backward(const slots::FakeQuantIntGrouped& call,
                                     std::span<const float> grad_output,
                                     std::span<float> grad_weight);

}  // namespace lyk::reference
