// The oracle of the slots fake_quant_mxfp4_weight and fake_quant_mxfp4_dynamic, which compute the
// same: MXFP4, E2M1 elements in blocks of 32 with one power of two per block.
//
// Per block, and per element as in e2m1_blocks.hpp:
//   k   = floor(log2(max(greatest |x| of the block, 1e-30)))        (as `log2` says, see Log2Rule)
//   eff = 2^clip(k - 2, -127, 127)
// A block whose greatest magnitude is in (6, 8) * eff is clipped to 6 * eff: the scale is not
// rounded up, as some variants of the format have it. A block of zeros has eff = 2^-102. A block
// with an infinite element has eff = 2^127 by the rounded rule, 2^126 by the exponent rule, and
// that element becomes NaN; NaN makes its block NaN.
//
// Source: LibreYOLO 1.6.0, quant/fake_quant.py, on a CPU; OCP Microscaling Formats
// specification 1.0.
//
// Thread rule: any thread, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/slots/quantization.hpp"

namespace lyk::reference {

// `eff` above, of a block with this greatest magnitude.
float mxfp4_effective_scale(float greatest, slots::Log2Rule rule);

// REQUIRES: sizes as the struct states, output.size() == x.size().
void fake_quant_mxfp4(const slots::FakeQuantMxfp4& call, std::span<float> output);

// As fake_quant_e2m1_blocks_backward. REQUIRES: both gradients of x.size().
void fake_quant_mxfp4_backward(const slots::FakeQuantMxfp4& call,
                               std::span<const float> grad_output,
                               std::span<float> grad_x);

}  // namespace lyk::reference
