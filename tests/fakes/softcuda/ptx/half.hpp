// Arithmetic of the 16-bit floats and their pairs.
//
// Thread rule: as decode.hpp.
#pragma once

#include <cstdint>

#include "tests/fakes/softcuda/ptx/types.hpp"

namespace softcuda::ptx {

class Decoding;

// add, sub, mul, fma, min, max, abs and neg, from the type on.
void decode_half_arithmetic(Decoding& in, Type type, std::uint32_t flags);

}  // namespace softcuda::ptx
