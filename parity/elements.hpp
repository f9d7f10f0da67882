// The types of elements that tensors of a set have, as numbers and as bytes. Nothing else in the
// product makes 16-bit floats on the host: device code and frameworks do. Thread rule: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "client/lyk.h"

namespace lyk::parity {

enum class ElementType : std::uint8_t { float32, float16, bfloat16 };
std::string_view name(ElementType type);

lyk_dtype dtype_of(ElementType type);
ElementType type_of(const lyk_dtype& dtype);  // REQUIRES: one of dtype_of
std::size_t bytes_per_element(ElementType type);

// The nearest value of the type, ties to the even one; beyond the greatest it is infinite. NaN and
// the sign of a zero stay.
float rounded_to(ElementType type, float value);

// Of rounded_to's values.
std::vector<std::byte> bytes_of(ElementType type, std::span<const float> values);

// The elements of a tensor as numbers, of which all are exact. REQUIRES: a dtype of dtype_of.
std::vector<double> numbers(const lyk_dtype& dtype, std::span<const std::byte> bytes);

}  // namespace lyk::parity
