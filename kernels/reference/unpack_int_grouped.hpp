// The oracle of the slot unpack_int_grouped: grouped integer codes of 4 or 2 bits back to fp32.
//
// A byte holds 8 / bits codes of one row, the first in the lowest bits. Per element:
//   s      = max(scale of its group, 1e-12)
//   output = (code - 2^(bits-1)) * s                    (one fp32 rounding)
// LibreYOLO answers a request for more columns than the payload holds with what it holds: callers
// lower `columns` for that.
//
// Source: LibreYOLO 1.6.0, quant/packing.py, on a CPU.
//
// Thread rule: any thread, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/slots/quantization.hpp"

namespace lyk::reference {

// REQUIRES: sizes as the struct states, scale.data not null, output.size() == rows * columns. There
// is no gradient.
void unpack_int_grouped(const slots::UnpackIntGrouped& call, std::span<float> output);

}  // namespace lyk::reference
