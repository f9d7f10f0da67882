// The types of PTX: their names, sizes and families, and the C++ types that hold their values.
//
// A register is one 64-bit slot, whatever its type: the value in the low bytes, zeros above. A
// predicate is 0 or 1. Only .b128 takes two slots.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace softcuda::ptx {

enum class Type : std::uint8_t {
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  u16x2,
  s16x2,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f32x2,
  f64,
  e4m3x2,
  e5m2x2,
  e2m1x2,
  e2m3x2,
  e3m2x2,
  ue8m0x2,
};

enum class Family : std::uint8_t { predicate, bits, unsigned_integer, signed_integer, floating };

[[nodiscard]] std::optional<Type> type_named(std::string_view name);
[[nodiscard]] std::string_view name_of(Type type);
[[nodiscard]] std::uint32_t bytes_of(Type type);  // a predicate has 1
[[nodiscard]] Family family_of(Type type);
// How many values lie side by side: 2 for the x2 types, else 1.
[[nodiscard]] std::uint32_t lanes_of(Type type);

// The 16-bit floats. They are bits here: floats.hpp knows what the bits mean.
struct Half {
  std::uint16_t bits;
};
struct Bfloat {
  std::uint16_t bits;
};
// Two of them in one 32-bit register, the first in the lower half.
template <typename T>
struct Pair {
  T low;
  T high;
};

}  // namespace softcuda::ptx
