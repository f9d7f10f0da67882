// The element types of the CUDA kernels: tensors of them in memory as floats, by the conversions of
// the stand-in device (softcuda_ptx).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tests/fakes/softcuda/ptx/floats.hpp"

namespace lyk::test {

enum class ElementType : std::uint8_t { f32, f16, bf16 };
inline constexpr std::array<ElementType, 3> element_types{ElementType::f32, ElementType::f16,
                                                          ElementType::bf16};

inline std::size_t bytes_of_element(ElementType type) {
  return type == ElementType::f32 ? sizeof(float) : sizeof(std::uint16_t);
}

// REQUIRES: a type of 16 bits.
inline const softcuda::ptx::FloatFormat& format_of(ElementType type) {
  return type == ElementType::f16 ? softcuda::ptx::half_format : softcuda::ptx::bfloat_format;
}

// The nearest numbers of the type, as memory holds them.
inline std::vector<std::byte> bytes_as(ElementType type, std::span<const float> values) {
  if (type == ElementType::f32) {
    const auto bytes = std::as_bytes(values);
    return {bytes.begin(), bytes.end()};
  }
  std::vector<std::byte> out(values.size() * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = static_cast<std::uint16_t>(
        softcuda::ptx::encode(double{values[i]}, format_of(type), softcuda::ptx::Rounding::rn));
    std::memcpy(&out[i * sizeof(bits)], &bits, sizeof(bits));
  }
  return out;
}

inline std::vector<float> floats_from(ElementType type, std::span<const std::byte> bytes) {
  std::vector<float> out;
  if (type == ElementType::f32) {
    out.resize(bytes.size() / sizeof(float));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span{out}).begin());
    return out;
  }
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint16_t)) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, &bytes[i], sizeof(bits));
    out.push_back(static_cast<float>(softcuda::ptx::decode(bits, format_of(type))));
  }
  return out;
}

inline std::vector<float> rounded_to(ElementType type, std::span<const float> values) {
  return floats_from(type, bytes_as(type, values));
}

}  // namespace lyk::test
