// Instruction::flags of floating point instructions.
//
// Thread rule: values.
#pragma once

#include <cstdint>

#include "tests/fakes/softcuda/ptx/floats.hpp"

namespace softcuda::ptx {

class Decoding;

inline constexpr std::uint32_t rounding_mask = 7;
inline constexpr std::uint32_t flush_flag = 1 << 3;     // .ftz
inline constexpr std::uint32_t saturate_flag = 1 << 4;  // .sat: to [+0, 1], NaN to +0
inline constexpr std::uint32_t relu_flag = 1 << 5;      // .relu: below 0 to +0
inline constexpr std::uint32_t nan_flag = 1 << 6;       // .NaN: a NaN wins
inline constexpr std::uint32_t xor_sign_flag = 1 << 7;  // .xorsign.abs
inline constexpr std::uint32_t third_flag = 1 << 8;     // min and max of three

[[nodiscard]] constexpr std::uint32_t flag_of(Rounding rounding) {
  return static_cast<std::uint32_t>(rounding);
}
[[nodiscard]] constexpr Rounding rounding_in(std::uint32_t flags) {
  return static_cast<Rounding>(flags & rounding_mask);
}

// The modifiers of arithmetic, in the order of the PTX manual: rounding, .ftz, .sat, .relu, .NaN.
[[nodiscard]] std::uint32_t take_float_flags(Decoding& in);

}  // namespace softcuda::ptx
