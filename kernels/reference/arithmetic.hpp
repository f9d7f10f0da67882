// The few operations that the oracle's formulas are made of, each one exactly as PyTorch computes
// it on fp32: correctly rounded, nothing contracted, denormals kept, NaN passed on.
//
// Thread rule: pure functions.
#pragma once

#include <cmath>
#include <span>

#include "kernels/slots/quantization.hpp"

namespace lyk::reference {

// The floor that LibreYOLO puts under every scale, so that an empty tensor or group divides by
// something.
inline constexpr float smallest_scale = 1e-12F;

// torch.maximum and torch.minimum with a number, which clamp is made of: NaN stays NaN, whereas
// std::fmax would drop it.
inline float at_least(float value, float bound) {
  return value < bound ? bound : value;
}

inline float at_most(float value, float bound) {
  return value > bound ? bound : value;
}

// torch.amax's step: once NaN, NaN to the end.
inline float greater_magnitude(float greatest, float value) {
  const float magnitude = std::fabs(value);
  return std::isnan(greatest) || magnitude <= greatest ? greatest : magnitude;
}

inline float greatest_magnitude(std::span<const float> values) {
  float greatest = 0;
  for (const float value : values)
    greatest = greater_magnitude(greatest, value);
  return greatest;
}

// `value / constant`, where the constant is a Python number in LibreYOLO's formula.
inline float divide_by_constant(float value, float constant, slots::ScalarDivision rule) {
  return rule == slots::ScalarDivision::reciprocal ? value * (1.0F / constant) : value / constant;
}

// The straight-through estimator as it is written in LibreYOLO: `x + (quantised - x).detach()`. The
// gradient passes unchanged. The two roundings make the result differ from `quantised` where that
// is less than half of x (saturation), an infinite x becomes NaN, and -0 becomes +0.
inline float straight_through(float quantised, float x) {
  const float difference = quantised - x;
  return x + difference;
}

}  // namespace lyk::reference
