#include "kernels/reference/unpack_nvfp4.hpp"

#include <cstddef>

#include "kernels/reference/e2m1.hpp"
#include "kernels/reference/e4m3.hpp"
#include "kernels/reference/nvfp4.hpp"
#include "proto/check.hpp"

namespace lyk::reference {
namespace {

constexpr std::size_t codes_per_byte = 2;
constexpr unsigned code_bits = 4;

float block_scale_at(const slots::UnpackNvfp4& call, std::size_t index) {
  return call.block_scale.empty() ? e4m3_value(call.block_scale_e4m3[index])
                                  : call.block_scale[index];
}

}  // namespace

void unpack_nvfp4(const slots::UnpackNvfp4& call, std::span<float> output) {
  const std::size_t row_bytes = call.blocks * slots::nvfp4_block / codes_per_byte;
  LYK_CHECK(call.payload.size() == call.rows * row_bytes);
  LYK_CHECK(call.block_scale.size() + call.block_scale_e4m3.size() == call.rows * call.blocks);
  LYK_CHECK(call.columns <= call.blocks * slots::nvfp4_block);
  LYK_CHECK(output.size() == call.rows * call.columns);
  const float tensor_scale = nvfp4_tensor_scale(call.tensor_amax, call.scalar_division);
  for (std::size_t row = 0; row < call.rows; ++row) {
    for (std::size_t column = 0; column < call.columns; ++column) {
      const unsigned byte = call.payload[row * row_bytes + column / codes_per_byte];
      const unsigned shift = column % codes_per_byte == 0 ? 0 : code_bits;
      const std::size_t block = row * call.blocks + column / slots::nvfp4_block;
      const float scale = nvfp4_effective_scale(block_scale_at(call, block), tensor_scale);
      output[row * call.columns + column] =
          e2m1_value(static_cast<std::uint8_t>((byte >> shift) & 0x0FU)) * scale;
    }
  }
}

}  // namespace lyk::reference
