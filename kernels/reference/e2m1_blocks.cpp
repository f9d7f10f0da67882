#include "kernels/reference/e2m1_blocks.hpp"

#include <algorithm>

#include "kernels/reference/e2m1.hpp"
#include "proto/check.hpp"

namespace lyk::reference {
namespace {

// The number of elements of the block that begins at `offset`.
std::size_t size_at(std::size_t offset, const E2m1Blocks& blocks) {
  return std::min(blocks.width, blocks.columns - offset % blocks.columns);
}

}  // namespace

void fake_quant_e2m1_blocks(const E2m1Blocks& blocks, std::span<float> output) {
  LYK_CHECK(output.size() == blocks.x.size());
  for (std::size_t begin = 0; begin < blocks.x.size();) {
    const std::span<const float> block = blocks.x.subspan(begin, size_at(begin, blocks));
    const float scale = blocks.effective_scale(block);
    for (std::size_t i = 0; i < block.size(); ++i)
      output[begin + i] = round_to_e2m1(block[i] / scale) * scale;
    begin += block.size();
  }
}

void fake_quant_e2m1_blocks_backward(const E2m1Blocks& blocks,
                                     std::span<const float> grad_output,
                                     std::span<float> grad_x) {
  LYK_CHECK(grad_output.size() == blocks.x.size());
  LYK_CHECK(grad_x.size() == blocks.x.size());
  for (std::size_t begin = 0; begin < blocks.x.size();) {
    const std::span<const float> block = blocks.x.subspan(begin, size_at(begin, blocks));
    const float scale = blocks.effective_scale(block);
    for (std::size_t i = begin; i < begin + block.size(); ++i) {
      const float product = grad_output[i] * scale;
      grad_x[i] = product / scale;
    }
    begin += block.size();
  }
}

}  // namespace lyk::reference
