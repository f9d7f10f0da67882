// The oracle of the slot unpack_nvfp4: packed NVFP4 back to fp32.
//
// A byte holds two codes of one row, the first in the low half; a code is the sign and the index of
// the level (e2m1.hpp). With ts of nvfp4.hpp, per element, every line one fp32 rounding:
//   eff    = max(block scale * ts, 1e-12)
//   output = value of the code * eff
// Code 8 gives -0, which fake_quant_nvfp4_weight never does. Block scales may be NaN or negative;
// the latter end at 1e-12.
//
// Source: LibreYOLO 1.6.0, quant/packing.py, on a CPU.
//
// Thread rule: any thread, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/slots/quantization.hpp"

namespace lyk::reference {

// REQUIRES: sizes as the struct states, output.size() == rows * columns. There is no gradient.
void unpack_nvfp4(const slots::UnpackNvfp4& call, std::span<float> output);

}  // namespace lyk::reference
