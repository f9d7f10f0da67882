// NVFP4: E2M1 elements in blocks of 16, one E4M3 scale per block, one fp32 scale per tensor. What
// fake_quant_nvfp4_weight, fake_quant_nvfp4_dynamic and unpack_nvfp4 have in common.
//
// Every line is one fp32 rounding. Once per tensor:
//   ts  = max(scalar_divide(tensor_amax, 448 * 6), 1e-12)
//   d   = 6 * ts
// per block:
//   r   = greatest |x| of the block / d
//   bs  = e4m3(clip(r, 1e-12, 448))
//   eff = max(bs * ts, 1e-12)
// and per element as in e2m1_blocks.hpp. r <= 2^-10 rounds to bs = 0: such a small block, and one
// of zeros, has eff = 1e-12, and its elements saturate. Where a block exceeds tensor_amax, bs
// saturates at 448 and elements are clipped to 6 * 448 * ts. A NaN makes its block NaN, as
// tensor_amax all.
//
// Source: LibreYOLO 1.6.0, quant/fake_quant.py and quant/packing.py, on a CPU.
//
// Thread rule: pure functions.
#pragma once

#include "kernels/reference/e2m1_blocks.hpp"
#include "kernels/slots/quantization.hpp"

namespace lyk::reference {

// `ts` above.
float nvfp4_tensor_scale(float tensor_amax, slots::ScalarDivision rule);

// `eff` above of a block with scale `bs`.
float nvfp4_effective_scale(float block_scale, float tensor_scale);

// The blocks of `x`, rows of `columns`, under the scale `ts`.
E2m1Blocks nvfp4_blocks(std::span<const float> x, std::size_t columns, float tensor_scale);

}  // namespace lyk::reference
