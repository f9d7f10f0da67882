// Decode functions that one topic hands over to another, since PTX gives instructions of two topics
// the same first word.
//
// Thread rule: as decode.hpp.
#pragma once

namespace softcuda::ptx {

class Decoding;

// div, rcp, sqrt from `approx` or `full` on; transcendental.cpp.
void decode_approximate(Decoding& in);

// add.cc and sub.cc, after the word `cc`; carry.cpp.
void decode_carry(Decoding& in);
// mad.lo.cc and mad.hi.cc, after the word `cc`.
enum class ProductHalf { low, high };
void decode_carry_product(Decoding& in, ProductHalf half);

// bar.warp.sync, after the word `warp`; warp.cpp.
void decode_warp_barrier(Decoding& in);

// add, mul, min and so on of floats; float.cpp.
void decode_float_arithmetic(Decoding& in);

}  // namespace softcuda::ptx
