#include "kernels/reference/e4m3.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "proto/check.hpp"

namespace lyk::reference {
namespace {

constexpr int smallest_exponent = -6;  // of a normal number; below it the step stays 2^-9
constexpr int mantissa_bits = 3;

}  // namespace

float round_to_e4m3(float value) {
  if (std::isnan(value))
    return value;
  LYK_CHECK(std::fabs(value) <= e4m3_max);
  if (value == 0)
    return value;
  // All three steps but nearbyint are exact: they only move the exponent.
  const int exponent = std::max(std::ilogb(value), smallest_exponent);
  const float steps = std::scalbn(value, mantissa_bits - exponent);
  return std::scalbn(std::nearbyint(steps), exponent - mantissa_bits);
}

float e4m3_value(std::uint8_t code) {
  const float sign = (code & 0x80U) != 0 ? -1.0F : 1.0F;
  const int exponent = (code >> mantissa_bits) & 0x0F;
  const int mantissa = code & 0x07;
  if (exponent == 0x0F && mantissa == 0x07)
    return std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0)
    return sign * std::scalbn(static_cast<float>(mantissa), smallest_exponent - mantissa_bits);
  constexpr int bias = 7;
  return sign * std::scalbn(static_cast<float>(8 + mantissa), exponent - bias - mantissa_bits);
}

}  // namespace lyk::reference
