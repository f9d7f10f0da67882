// Floating point formats and rounding, exactly: every format narrower than double is read as a
// double, which holds all of its values, and written from one with a single rounding.
//
// Thread rule: pure functions. Rounded changes the thread's rounding mode while it exists.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/fakes/softcuda/ptx/types.hpp"

namespace softcuda::ptx {

// rna: to nearest, ties away from zero; only where a format is written.
enum class Rounding : std::uint8_t { rn, rz, rm, rp, rna };

// What a format has beside finite numbers.
enum class Beyond : std::uint8_t { infinity_and_nan, nan, nothing };

struct FloatFormat {
  int mantissa_bits;
  int bias;
  std::uint32_t largest;  // bits of the largest finite number
  std::uint32_t nan;      // bits of the canonical NaN; of the largest number if there is no NaN
  std::uint32_t sign;     // the sign bit
  Beyond beyond;
};

inline constexpr FloatFormat half_format{10, 15, 0x7bff, 0x7fff, 0x8000, Beyond::infinity_and_nan};
inline constexpr FloatFormat bfloat_format{7,      127,    0x7f7f,
                                           0x7fff, 0x8000, Beyond::infinity_and_nan};
inline constexpr FloatFormat float_format{23,         127,        0x7f7fffff,
                                          0x7fffffff, 0x80000000, Beyond::infinity_and_nan};
// As the upper 19 bits of a float.
inline constexpr FloatFormat tf32_format{10,      127,     0x3fbff,
                                         0x3ffff, 0x40000, Beyond::infinity_and_nan};
inline constexpr FloatFormat e4m3_format{3, 7, 0x7e, 0x7f, 0x80, Beyond::nan};
inline constexpr FloatFormat e5m2_format{2, 15, 0x7b, 0x7f, 0x80, Beyond::infinity_and_nan};
// PTX gives the largest positive number for NaN where a format has none.
inline constexpr FloatFormat e2m1_format{1, 1, 0x7, 0x7, 0x8, Beyond::nothing};
inline constexpr FloatFormat e2m3_format{3, 1, 0x1f, 0x1f, 0x20, Beyond::nothing};
inline constexpr FloatFormat e3m2_format{2, 3, 0x1f, 0x1f, 0x20, Beyond::nothing};

// What becomes of a number beyond the largest: what IEEE 754 says for the rounding (infinity, or
// NaN in a format without), or the largest number, also for infinity.
enum class Overflow : std::uint8_t { as_ieee, to_largest };

[[nodiscard]] std::uint32_t encode(double value,
                                   const FloatFormat& format,
                                   Rounding rounding,
                                   Overflow overflow = Overflow::as_ieee);
[[nodiscard]] double decode(std::uint32_t bits, const FloatFormat& format);

template <typename T>
inline constexpr const FloatFormat* format_of = nullptr;
template <>
inline constexpr const FloatFormat* format_of<Half> = &half_format;
template <>
inline constexpr const FloatFormat* format_of<Bfloat> = &bfloat_format;

// a + b rounded to odd: to double, and where that is inexact to the neighbour whose last bit is 1.
// A second rounding, to a format with at least two bits less, then gives what one rounding of the
// exact sum gives: the odd last bit keeps the sum off the ties of the narrower format and on
// its side of each number of it.
[[nodiscard]] double sum_to_odd(double a, double b);

// Subnormal numbers become zeros of their sign.
[[nodiscard]] inline float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}

// Every NaN result of single precision is this one. Double precision keeps the payloads of its
// operands, as the host's does.
[[nodiscard]] inline float canonical(float value) {
  return std::isnan(value) ? std::bit_cast<float>(float_format.nan) : value;
}
[[nodiscard]] inline double canonical(double value) {
  return value;
}

// The host's rounding mode for as long as it lives. Files that use it are compiled with
// -frounding-math.
class Rounded {
public:
  explicit Rounded(Rounding rounding);
  Rounded(const Rounded&) = delete;
  Rounded& operator=(const Rounded&) = delete;
  ~Rounded() { (void)std::fesetround(before_); }  // fails only for modes that do not exist

private:
  int before_;
};

// The NaN of minNum and maxNum: all ones but the sign.
template <typename T>
[[nodiscard]] T nan_of_ones() {
  if constexpr (sizeof(T) == sizeof(float))
    return std::bit_cast<T>(0x7fff'ffffU);
  else
    return std::bit_cast<T>(std::uint64_t{0x7fff'ffff'ffff'ffff});
}

// minNum and maxNum of IEEE 754: a NaN loses against a number, -0 is less than +0.
template <typename T>
[[nodiscard]] T least(T a, T b) {
  if (std::isnan(a))
    return std::isnan(b) ? nan_of_ones<T>() : b;
  if (std::isnan(b))
    return a;
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <typename T>
[[nodiscard]] T greatest(T a, T b) {
  if (std::isnan(a))
    return std::isnan(b) ? nan_of_ones<T>() : b;
  if (std::isnan(b))
    return a;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

}  // namespace softcuda::ptx
