#include "kernels/reference/unpack_int_grouped.hpp"

#include <cstddef>

#include "kernels/reference/arithmetic.hpp"
#include "proto/check.hpp"

namespace lyk::reference {

void unpack_int_grouped(const slots::UnpackIntGrouped& call, std::span<float> output) {
  LYK_CHECK((call.bits == 2 || call.bits == 4) && call.group_size > 0);
  const unsigned codes_per_byte = 8 / call.bits;
  LYK_CHECK(call.payload.size() == call.rows * call.row_bytes);
  LYK_CHECK(call.columns <= call.row_bytes * codes_per_byte);
  LYK_CHECK(output.size() == call.rows * call.columns);
  const unsigned mask = (1U << call.bits) - 1;
  const int zero_code = 1 << (call.bits - 1);
  for (std::size_t row = 0; row < call.rows; ++row) {
    for (std::size_t column = 0; column < call.columns; ++column) {
      const unsigned byte = call.payload[row * call.row_bytes + column / codes_per_byte];
      const auto shift = static_cast<unsigned>(column % codes_per_byte) * call.bits;
      const int code = static_cast<int>((byte >> shift) & mask);
      const float scale = at_least(call.scale.at(row, column / call.group_size), smallest_scale);
      output[row * call.columns + column] = static_cast<float>(code - zero_code) * scale;
    }
  }
}

}  // namespace lyk::reference
