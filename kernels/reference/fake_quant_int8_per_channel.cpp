#include "kernels/reference/fake_quant_int8_per_channel.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/reference/arithmetic.hpp"
#include "proto/check.hpp"

namespace lyk::reference {
namespace {

using slots::CodeOverflow;
using slots::FakeQuantInt8PerChannel;

constexpr float lowest_code = -128;
constexpr float highest_code = 127;
constexpr float integer_end = 0x1p63F;  // the first float above every 64-bit integer

std::vector<float> scales_of(const FakeQuantInt8PerChannel& call) {
  LYK_CHECK(call.weight.size() == call.axis.elements());
  if (!call.scale.empty()) {
    LYK_CHECK(call.scale.size() == call.axis.channels);
    return {call.scale.begin(), call.scale.end()};
  }
  std::vector<float> scales(call.axis.channels, 0);
  for (std::size_t i = 0; i < call.weight.size(); ++i) {
    float& greatest = scales[call.axis.channel_of(i)];
    greatest = greater_magnitude(greatest, call.weight[i]);
  }
  for (float& scale : scales)
    scale = at_least(divide_by_constant(scale, highest_code, call.scalar_division), smallest_scale);
  return scales;
}

float unclipped_code(float weight, float scale) {
  const float inverse = 1.0F / scale;
  return std::nearbyint(weight * inverse);
}

int clip(float code, CodeOverflow overflow) {
  const bool overflows = !(code < integer_end);  // NaN as well
  if (std::isnan(code) || (overflows && overflow == CodeOverflow::lowest))
    return static_cast<int>(lowest_code);
  return static_cast<int>(at_most(at_least(code, lowest_code), highest_code));
}

}  // namespace

void fake_quant_int8_per_channel(const FakeQuantInt8PerChannel& call, std::span<float> output) {
  LYK_CHECK(output.size() == call.weight.size());
  const std::vector<float> scales = scales_of(call);
  for (std::size_t i = 0; i < output.size(); ++i) {
    const float scale = scales[call.axis.channel_of(i)];
    const int code = clip(unclipped_code(call.weight[i], scale), call.overflow);
    output[i] = static_cast<float>(code) * scale;
  }
}

void fake_quant_int8_per_channel_backward(const FakeQuantInt8PerChannel& call,
                                          std::span<const float> grad_output,
                                          std::span<float> grad_weight) {
  LYK_CHECK(grad_output.size() == call.weight.size());
  LYK_CHECK(grad_weight.size() == call.weight.size());
  const std::vector<float> scales = scales_of(call);
  for (std::size_t i = 0; i < grad_weight.size(); ++i) {
    const float code = unclipped_code(call.weight[i], scales[call.axis.channel_of(i)]);
    const bool in_range = code >= lowest_code && code <= highest_code;
    grad_weight[i] = grad_output[i] * (in_range ? 1.0F : 0.0F);
  }
}

}  // namespace lyk::reference
