#include "tests/fakes/softcuda/ptx/floats.hpp"

#include <algorithm>

namespace softcuda::ptx {

namespace {

constexpr int double_mantissa_bits = 52;
constexpr int double_bias = 1023;
constexpr std::uint64_t double_mantissa = (std::uint64_t{1} << double_mantissa_bits) - 1;

// Whether what is cut off `kept` rounds its magnitude up. `rest` is below 2 * `half`.
bool rounds_up(
    Rounding rounding, bool negative, std::uint64_t kept, std::uint64_t rest, std::uint64_t half) {
  switch (rounding) {
    case Rounding::rn:
      return rest > half || (rest == half && kept % 2 == 1);
    case Rounding::rna:
      return rest >= half;
    case Rounding::rz:
      return false;
    case Rounding::rm:
      return negative && rest != 0;
    case Rounding::rp:
      return !negative && rest != 0;
  }
  return false;
}

std::uint32_t beyond_largest(const FloatFormat& format,
                             Rounding rounding,
                             bool negative,
                             Overflow overflow) {
  const bool to_largest = overflow == Overflow::to_largest || format.beyond == Beyond::nothing ||
                          rounding == Rounding::rz || (rounding == Rounding::rm && !negative) ||
                          (rounding == Rounding::rp && negative);
  if (to_largest)
    return format.largest;
  return format.beyond == Beyond::nan ? format.nan : format.largest + 1;
}

}  // namespace

std::uint32_t encode(double value,
                     const FloatFormat& format,
                     Rounding rounding,
                     Overflow overflow) {
  if (std::isnan(value))
    return format.nan;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const bool negative = std::signbit(value);
  const std::uint32_t sign = negative ? format.sign : 0;
  if (std::isinf(value)) {
    if (overflow == Overflow::to_largest || format.beyond == Beyond::nothing)
      return sign | format.largest;
    return sign | (format.beyond == Beyond::nan ? format.nan : format.largest + 1);
  }
  const auto biased = static_cast<int>(bits >> double_mantissa_bits & 0x7ff);
  if (biased == 0)  // zero, or so small that only a directed rounding sees it
    return sign |
           (rounds_up(rounding, negative, 0, bits & double_mantissa, ~std::uint64_t{0}) ? 1 : 0);
  // The number is `significand` * 2^(exponent - 52). `unit` is the exponent of the last place kept:
  // subnormal numbers of the format share one.
  const std::uint64_t significand = (bits & double_mantissa) | (double_mantissa + 1);
  const int exponent = biased - double_bias;
  const int exponent_kept = std::max(exponent, 1 - format.bias);
  const int cut =
      std::min(double_mantissa_bits - format.mantissa_bits + exponent_kept - exponent, 63);
  const std::uint64_t kept = significand >> cut;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << cut) - 1);
  const std::uint64_t half = std::uint64_t{1} << (cut - 1);
  // The hidden bit of a normal number adds one to the exponent field, as does a carry.
  const auto field = static_cast<std::uint64_t>(exponent_kept + format.bias - 1);
  const std::uint64_t magnitude = (field << format.mantissa_bits) + kept +
                                  (rounds_up(rounding, negative, kept, rest, half) ? 1 : 0);
  if (magnitude > format.largest)
    return sign | beyond_largest(format, rounding, negative, overflow);
  return sign | static_cast<std::uint32_t>(magnitude);
}

double decode(std::uint32_t bits, const FloatFormat& format) {
  const std::uint32_t magnitude = bits & (format.sign - 1);
  const double sign = (bits & format.sign) != 0 ? -1.0 : 1.0;
  if (magnitude > format.largest) {
    if (format.beyond == Beyond::infinity_and_nan && magnitude == format.largest + 1)
      return sign * std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  const auto field = static_cast<int>(magnitude >> format.mantissa_bits);
  const std::uint32_t hidden = std::uint32_t{1} << format.mantissa_bits;
  const std::uint32_t fraction = magnitude & (hidden - 1);
  const std::uint32_t significand = field == 0 ? fraction : fraction | hidden;
  const int exponent = std::max(field, 1) - format.bias - format.mantissa_bits;
  return sign * std::ldexp(static_cast<double>(significand), exponent);
}

double sum_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  // What the sum lost, exactly (Knuth's two-sum).
  const double of_b = sum - a;
  const double lost = (a - (sum - of_b)) + (b - of_b);
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (lost == 0 || bits % 2 == 1)
    return sum;
  // The neighbour on the side of what was lost: up in magnitude where the signs agree.
  bits += (lost > 0) == (sum > 0) ? 1 : ~std::uint64_t{0};
  return std::bit_cast<double>(bits);
}

Rounded::Rounded(Rounding rounding) : before_(std::fegetround()) {
  int mode = FE_TONEAREST;
  if (rounding == Rounding::rz)
    mode = FE_TOWARDZERO;
  if (rounding == Rounding::rm)
    mode = FE_DOWNWARD;
  if (rounding == Rounding::rp)
    mode = FE_UPWARD;
  (void)std::fesetround(mode);  // every host of ours has these four
}

}  // namespace softcuda::ptx
