// unpack_int_grouped and unpack_nvfp4 on processors: the bits of
// kernels/reference/unpack_int_grouped.hpp and unpack_nvfp4.hpp, which state the formulas. There
// are no gradients.
// Thread rule: as Workers, for buffers that nobody else touches.
#pragma once

#include <span>

#include "kernels/cpu/execution.hpp"
#include "kernels/slots/quantization.hpp"

namespace lyk::cpu {

// REQUIRES: sizes as the struct states, scale.data not null, output.size() == rows * columns.
void unpack_int_grouped(const slots::UnpackIntGrouped& call,
                        std::span<float> output,
                        const Execution& execution);

// REQUIRES: sizes as the struct states, output.size() == rows * columns.
void unpack_nvfp4(const slots::UnpackNvfp4& call,
                  std::span<float> output,
                  const Execution& execution);

}  // namespace lyk::cpu
