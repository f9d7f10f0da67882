// The oracle of the slot fake_quant_int8_affine: INT8 with a zero point, from a calibrated range.
//
// Once per call, with every line one fp32 rounding:
//   lo, hi     = min(lo, 0), max(hi, 0)
//   range      = hi - lo
//   scale      = max(scalar_divide(range, 255), 1e-12)
//   r          = lo / scale
//   zero_point = clip(round_half_even(-128 - r), -128, 127)
//   inv        = 1 / scale
// and per element:
//   code       = clip(zero_point + round_half_even(x * inv), -128, 127)
//   output     = (code - zero_point) * scale
// The slot's `scalars` argument changes how PyTorch is called, not what is computed.
//
// An empty range, lo = hi = 0, has scale 1e-12 and zero point -128: outputs are from 0 to 2.55e-10.
// NaN has code -128. A NaN in the range makes every output NaN, and so does an infinite hi. With an
// infinite lo the zero point is NaN, of which `nan_as_integer` makes the lowest 32-bit integer, and
// every output infinite; or zero, so that finite x have code 0, which passes the gradient, and NaN
// for an output.
//
// Source: LibreYOLO 1.6.0, quant/fake_quant.py, and under it PyTorch's
// fake_quantize_per_tensor_affine on a CPU.
//
// Thread rule: any thread, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/slots/quantization.hpp"

namespace lyk::reference {

// REQUIRES: output.size() == x.size().
void fake_quant_int8_affine(const slots::FakeQuantInt8Affine& call, std::span<float> output);

// grad_x = grad_output * (1 where the code before clipping is from -128 to 127, else 0), a
// multiplication as in fake_quant_int8_per_channel. The range has no gradient. REQUIRES: both
// gradients of x.size().
void fake_quant_int8_affine_backward(const slots::FakeQuantInt8Affine& call,
                                     std::span<const float> grad_output,
                                     std::span<float> grad_x);

}  // namespace lyk::reference
