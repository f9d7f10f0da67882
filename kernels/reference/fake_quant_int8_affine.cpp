#include "kernels/reference/fake_quant_int8_affine.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/reference/arithmetic.hpp"
#include "proto/check.hpp"

namespace lyk::reference {
namespace {

constexpr float lowest_code = -128;
constexpr float highest_code = 127;

struct Parameters {
  float scale = 0;
  float zero_point = 0;  // an integer
};

Parameters parameters_of(const slots::FakeQuantInt8Affine& call) {
  const float lo = at_most(call.lo, 0);
  const float hi = at_least(call.hi, 0);
  const float range = hi - lo;
  const float scale =
      at_least(divide_by_constant(range, 255, call.scalar_division), smallest_scale);
  const float quotient = lo / scale;
  const float zero_point =
      at_most(at_least(std::nearbyint(lowest_code - quotient), lowest_code), highest_code);
  const float of_nan = call.nan_as_integer == slots::NanAsInteger::zero
                           ? 0
                           : static_cast<float>(std::numeric_limits<int>::min());
  return {.scale = scale, .zero_point = std::isnan(zero_point) ? of_nan : zero_point};
}

float unclipped_code(float x, const Parameters& parameters) {
  const float inverse = 1.0F / parameters.scale;
  return parameters.zero_point + std::nearbyint(x * inverse);
}

}  // namespace

void fake_quant_int8_affine(const slots::FakeQuantInt8Affine& call, std::span<float> output) {
  LYK_CHECK(output.size() == call.x.size());
  const Parameters parameters = parameters_of(call);
  for (std::size_t i = 0; i < output.size(); ++i) {
    const float unclipped = unclipped_code(call.x[i], parameters);
    const float code = std::isnan(unclipped)
                           ? lowest_code
                           : at_most(at_least(unclipped, lowest_code), highest_code);
    output[i] = (code - parameters.zero_point) * parameters.scale;
  }
}

void fake_quant_int8_affine_backward(const slots::FakeQuantInt8Affine& call,
                                     std::span<const float> grad_output,
                                     std::span<float> grad_x) {
  LYK_CHECK(grad_output.size() == call.x.size());
  LYK_CHECK(grad_x.size() == call.x.size());
  const Parameters parameters = parameters_of(call);
  for (std::size_t i = 0; i < grad_x.size(); ++i) {
    const float code = unclipped_code(call.x[i], parameters);
    const bool in_range = code >= lowest_code && code <= highest_code;
    grad_x[i] = grad_output[i] * (in_range ? 1.0F : 0.0F);
  }
}

}  // namespace lyk::reference
