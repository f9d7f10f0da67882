// The oracle of the slot fake_quant_fp8: FP8 E4M3 with a given scale per channel or per tensor.
//
// Per element, with every line one fp32 rounding:
//   s      = max(scale of the channel, 1e-12)
//   v      = x / s
//   q      = e4m3(clip(v, -448, 448)) * s
//   output = straight_through(q, x)                     (two additions, arithmetic.hpp)
// Up to twice the greatest level the output is q; beyond that the additions leave it off the grid
// unless s is a power of two. Infinite x and NaN give NaN, -0 gives +0.
//
// Source: LibreYOLO 1.6.0, quant/fake_quant.py, on a CPU.
//
// Thread rule: any thread, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/slots/quantization.hpp"

namespace lyk::reference {

// REQUIRES: sizes as the struct states, output.size() == x.size().
void fake_quant_fp8(const slots::FakeQuantFp8& call, std::span<float> output);

// grad_x = grad_output, saturated or not. The scale has no gradient. REQUIRES: both of x.size().
void fake_quant_fp8_backward(const slots::FakeQuantFp8& call,
                             std::span<const float> grad_output,
                             std::span<float> grad_x);

}  // namespace lyk::reference
