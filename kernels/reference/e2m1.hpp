// FP4 E2M1: a sign and one of eight magnitudes. (OCP Microscaling Formats specification 1.0.)
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>

namespace lyk::reference {

inline constexpr float e2m1_max = 6.0F;

// LibreYOLO's fake_quant_e2m1: rounds `scaled` to the nearest E2M1 value and passes the result
// through the straight-through estimator, so that
//   scaled + (level * sign(scaled) - scaled)
// comes back. A tie goes to the level nearer to zero (0.25 -> 0, 2.5 -> 2), unlike in hardware,
// which rounds ties to even. Beyond 2 * 6 the two additions lose bits of the 6, up to 2^27, from
// where on the result is 0; an infinite `scaled` gives NaN.
float round_to_e2m1(float scaled);

// The value of a code 0 to 15: bit 3 is the sign, which a zero keeps.
float e2m1_value(std::uint8_t code);

}  // namespace lyk::reference
