// Block-scaled E2M1, which NVFP4 and MXFP4 have in common: rows are cut into blocks of `width`
// elements, and each block has a scale of its own. Every line is one fp32 rounding:
//   eff    = effective_scale(block)
//   v      = x / eff
//   e      = e2m1(v)                                    (with its two additions, e2m1.hpp)
//   output = e * eff
// The last block of a row may be shorter: the zeros that LibreYOLO pads it with change nothing.
//
// Thread rule: any thread, for buffers that nobody else touches.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace lyk::reference {

struct E2m1Blocks {
  std::span<const float> x;  // rows of `columns`, borrowed for the call
  std::size_t columns = 0;
  std::size_t width = 0;  // of a block
  std::function<float(std::span<const float> block)> effective_scale;
};

// REQUIRES: x.size() is a multiple of columns, output.size() == x.size().
void fake_quant_e2m1_blocks(const E2m1Blocks& blocks, std::span<float> output);

// grad_x = (grad_output * eff) / eff in two fp32 operations, as automatic differentiation goes back
// through the multiplication and the division; eff is a constant to it. The result may be one unit
// in the last place from grad_output, is infinite where the product is beyond the range and loses
// bits where it is below. Not masked by saturation. REQUIRES: both gradients of x.size().
void fake_quant_e2m1_blocks_backward(const E2m1Blocks& blocks,
                                     std::span<const float> grad_output,
                                     std::span<float> grad_x);

}  // namespace lyk::reference
