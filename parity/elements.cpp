#include "parity/elements.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "proto/check.hpp"

namespace lyk::parity {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A binary interchange format of IEEE 754 of 16 bits, or bfloat16, which is made like one.
struct Format {
  int exponent_bits;
  int mantissa_bits;  // without the leading one

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int exponent_least() const { return 1 - bias(); }  // of what is no denormal
  constexpr unsigned exponent_most() const {
    return (1U << static_cast<unsigned>(exponent_bits)) - 1;
  }
};

constexpr Format half{5, 10};
constexpr Format bfloat{8, 7};

struct Type {
  std::string_view name;
  lyk_dtype dtype;
  const Format* format;  // null: float
};

constexpr std::array<Type, 3> types{{{"float32", {LYK_DTYPE_FLOAT, 32, 1}, nullptr},
                                     {"float16", {LYK_DTYPE_FLOAT, 16, 1}, &half},
                                     {"bfloat16", {LYK_DTYPE_BFLOAT, 16, 1}, &bfloat}}};

const Type& row_of(ElementType type) {
  return types[static_cast<std::size_t>(type)];
}

// The exponent that `magnitude` is written with in the format.
int exponent_in(const Format& format, double magnitude) {
  return std::max(std::ilogb(magnitude), format.exponent_least());
}

std::uint16_t encode(const Format& format, float value) {
  const auto mantissa_bits = static_cast<unsigned>(format.mantissa_bits);
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  const unsigned not_finite = format.exponent_most() << mantissa_bits;
  if (std::isnan(value))
    return static_cast<std::uint16_t>(sign | not_finite | 1U << (mantissa_bits - 1));
  if (std::isinf(value))
    return static_cast<std::uint16_t>(sign | not_finite);
  if (value == 0)
    return static_cast<std::uint16_t>(sign);
  const double magnitude = std::abs(double{value});
  const int exponent = exponent_in(format, magnitude);
  const auto mantissa =
      static_cast<unsigned>(std::ldexp(magnitude, format.mantissa_bits - exponent));
  // The leading one of what is no denormal carries into the exponent's field.
  const auto field = static_cast<unsigned>(exponent - format.exponent_least());
  return static_cast<std::uint16_t>(sign | ((field << mantissa_bits) + mantissa));
}

double decode(const Format& format, std::uint16_t bits) {
  const auto mantissa_bits = static_cast<unsigned>(format.mantissa_bits);
  const unsigned mantissa = bits & ((1U << mantissa_bits) - 1);
  const unsigned field = (bits & 0x7fffU) >> mantissa_bits;
  double magnitude = 0;
  if (field == format.exponent_most())
    magnitude = mantissa == 0 ? infinity : std::numeric_limits<double>::quiet_NaN();
  else if (field == 0)
    magnitude = std::ldexp(mantissa, format.exponent_least() - format.mantissa_bits);
  else
    magnitude = std::ldexp(mantissa | 1U << mantissa_bits,
                           static_cast<int>(field) - format.bias() - format.mantissa_bits);
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

template <typename Element>
std::vector<Element> elements_in(std::span<const std::byte> bytes) {
  std::vector<Element> out(bytes.size() / sizeof(Element));
  if (!out.empty())
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(Element));
  return out;
}

template <typename Element>
std::vector<std::byte> copy_of(std::span<const Element> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::string_view name(ElementType type) {
  return row_of(type).name;
}

lyk_dtype dtype_of(ElementType type) {
  return row_of(type).dtype;
}

ElementType type_of(const lyk_dtype& dtype) {
  const auto* const type = std::find_if(types.begin(), types.end(), [&](const Type& known) {
    return known.dtype.code == dtype.code && known.dtype.bits == dtype.bits;
  });
  LYK_CHECK(type != types.end());
  return static_cast<ElementType>(type - types.begin());
}

std::size_t bytes_per_element(ElementType type) {
  return row_of(type).dtype.bits / 8U;
}

float rounded_to(ElementType type, float value) {
  const Format* format = row_of(type).format;
  if (format == nullptr || value == 0 || !std::isfinite(value))
    return value;
  const int unit = exponent_in(*format, std::abs(double{value})) - format->mantissa_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(double{value}, -unit)), unit);
  const double limit = std::ldexp(1, format->bias() + 1);
  return static_cast<float>(std::abs(rounded) < limit ? rounded : std::copysign(infinity, rounded));
}

std::vector<std::byte> bytes_of(ElementType type, std::span<const float> values) {
  const Format* format = row_of(type).format;
  if (format == nullptr)
    return copy_of(values);
  std::vector<std::uint16_t> encoded;
  encoded.reserve(values.size());
  for (const float value : values)
    encoded.push_back(encode(*format, value));
  return copy_of<std::uint16_t>(encoded);
}

std::vector<double> numbers(const lyk_dtype& dtype, std::span<const std::byte> bytes) {
  const Format* format = row_of(type_of(dtype)).format;
  if (format == nullptr) {
    const std::vector<float> values = elements_in<float>(bytes);
    return {values.begin(), values.end()};
  }
  std::vector<double> out;
  out.reserve(bytes.size() / sizeof(std::uint16_t));
  for (const std::uint16_t bits : elements_in<std::uint16_t>(bytes))
    out.push_back(decode(*format, bits));
  return out;
}

}  // namespace lyk::parity
