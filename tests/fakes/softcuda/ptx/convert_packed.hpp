// The conversions of cvt that involve two numbers side by side, tf32, or .satfinite.
//
// Thread rule: as decode.hpp.
#pragma once

#include <cstdint>

#include "tests/fakes/softcuda/ptx/floats.hpp"

namespace softcuda::ptx {

class Decoding;

// From the destination's type on; `flags` as in float_flags.hpp.
void decode_packed_conversion(Decoding& in, std::uint32_t flags, Overflow overflow);

}  // namespace softcuda::ptx
