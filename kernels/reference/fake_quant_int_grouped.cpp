#include "kernels/reference/fake_quant_int_grouped.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/reference/arithmetic.hpp"
#include "proto/check.hpp"

namespace lyk::reference {
namespace {

using slots::FakeQuantIntGrouped;

float highest_code(const FakeQuantIntGrouped& call) {
  return static_cast<float>((1U << (call.bits - 1)) - 1);
}

float scale_from(std::span<const float> group, const FakeQuantIntGrouped& call) {
  const float greatest = greatest_magnitude(group);
  return at_least(divide_by_constant(greatest, highest_code(call), call.scalar_division),
                  smallest_scale);
}

}  // namespace

void fake_quant_int_grouped(const FakeQuantIntGrouped& call, std::span<float> output) {
  LYK_CHECK(call.bits >= 2 && call.bits <= 8 && call.group_size > 0);
  LYK_CHECK(call.weight.size() == call.rows * call.columns);
  LYK_CHECK(output.size() == call.weight.size());
  const float highest = highest_code(call);
  const float lowest = -highest - 1;
  for (std::size_t row = 0; row < call.rows; ++row) {
    for (std::size_t begin = 0; begin < call.columns; begin += call.group_size) {
      const std::size_t offset = row * call.columns + begin;
      const std::size_t size = std::min(call.group_size, call.columns - begin);
      const std::span<const float> group = call.weight.subspan(offset, size);
      const float given_or_made = call.scale.data != nullptr
                                      ? call.scale.at(row, begin / call.group_size)
                                      : scale_from(group, call);
      const float scale = at_least(given_or_made, smallest_scale);
      for (std::size_t i = 0; i < size; ++i) {
        const float code = at_most(at_least(std::nearbyint(group[i] / scale), lowest), highest);
        output[offset + i] = straight_through(code * scale, group[i]);
      }
    }
  }
}

void fake_quant_int_grouped_backward(const FakeQuantIntGrouped& call,
                                     std::span<const float> grad_output,
                                     std::span<float> grad_weight) {
  LYK_CHECK(grad_output.size() == call.weight.size());
  LYK_CHECK(grad_weight.size() == call.weight.size());
  std::ranges::copy(grad_output, grad_weight.begin());
}

}  // namespace lyk::reference
