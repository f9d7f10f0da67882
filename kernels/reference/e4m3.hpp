// FP8 E4M3 as PyTorch's float8_e4m3fn has it: a sign, four bits of exponent with bias 7, three of
// mantissa; no infinities, NaN is 0x7F and 0xFF, the greatest finite value is 448 = 0x7E, the
// smallest 2^-9 = 0x01. (Micikevicius et al., "FP8 Formats for Deep Learning", 2022.)
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

namespace lyk::reference {

inline constexpr float e4m3_max = 448.0F;

// The nearest value of the format, ties to the even code; NaN stays NaN, zeros keep their sign.
// REQUIRES: |value| <= 448 or NaN. What PyTorch makes of more depends on its release, so that every
// formula clamps first.
float round_to_e4m3(float value);

// The value of a code; all 256 have one, or NaN.
float e4m3_value(std::uint8_t code);

}  // namespace lyk::reference
