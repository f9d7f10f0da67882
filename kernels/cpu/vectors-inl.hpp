// What the kernels share: vectors of fp32 that walk over arrays of any length, and the roundings to
// FP8 and FP4. Compiled once per target, so there is no #pragma once (see hwy/foreach_target.h).
//
// Arrays are read and written exactly, never past their end: the last elements go through a buffer.
//
// Thread rule: pure functions, but for what they write to.

#if defined(LYK_KERNELS_CPU_VECTORS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#  ifdef LYK_KERNELS_CPU_VECTORS_INL_HPP
#    undef LYK_KERNELS_CPU_VECTORS_INL_HPP
#  else
#    define LYK_KERNELS_CPU_VECTORS_INL_HPP
#  endif

#  include <hwy/highway.h>

#  include <algorithm>
#  include <cmath>
#  include <cstddef>
#  include <cstdint>
#  include <cstring>

#  include "kernels/cpu/arithmetic.hpp"

HWY_BEFORE_NAMESPACE();

namespace lyk::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sixteen lanes at most: a vector never reaches beyond a block of NVFP4.
using FloatTag = hn::CappedTag<float, 16>;
using BitsTag = hn::RebindToSigned<FloatTag>;
using Floats = hn::Vec<FloatTag>;
using Bits = hn::Vec<BitsTag>;
inline constexpr std::size_t lanes = hn::MaxLanes(FloatTag{});

HWY_INLINE Floats all(float value) {
  return hn::Set(FloatTag{}, value);
}

// Highway 1.0.3 has no fused operation on its scalar target and rounds 0.49999997 to 1 there.
template <class V>
HWY_INLINE V fused_multiply_add(V a, V b, V c) {
#  if HWY_TARGET == HWY_SCALAR
  return V(std::fma(a.raw, b.raw, c.raw));
#  else
  return hn::MulAdd(a, b, c);
#  endif
}

HWY_INLINE Floats round_half_even(Floats v) {
#  if HWY_TARGET == HWY_SCALAR
  return Floats(std::nearbyint(v.raw));
#  else
  return hn::Round(v);
#  endif
}

// ---- walking over arrays

// The first `count` elements, less than a vector; the other lanes are zero.
HWY_INLINE Floats load_rest(const float* from, std::size_t count) {
  HWY_ALIGN float rest[lanes] = {};
  std::memcpy(rest, from, count * sizeof(float));
  return hn::Load(FloatTag{}, rest);
}

HWY_INLINE void store_rest(Floats v, float* to, std::size_t count) {
  HWY_ALIGN float rest[lanes];
  hn::Store(v, FloatTag{}, rest);
  std::memcpy(to, rest, count * sizeof(float));
}

// to[i] = operation(from[i]...)
template <class Operation, class... Pointers>
HWY_INLINE void transform(float* to,
                          std::size_t count,
                          const Operation& operation,
                          Pointers... from) {
  const FloatTag d;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(operation(hn::LoadU(d, from + i)...), d, to + i);
  if (i < count)
    store_rest(operation(load_rest(from + i, count - i)...), to + i, count - i);
}

// ---- greatest magnitudes

HWY_INLINE Bits magnitude_bits(Floats v) {
  const BitsTag di;
  return hn::And(hn::BitCast(di, v), hn::Set(di, 0x7FFFFFFF));
}

HWY_INLINE MagnitudeBits greatest_magnitude(const float* from, std::size_t count) {
  const FloatTag d;
  const BitsTag di;
  // Two chains, as one maximum waits for the last.
  Bits even = hn::Zero(di);
  Bits odd = hn::Zero(di);
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    even = hn::Max(even, magnitude_bits(hn::LoadU(d, from + i)));
    odd = hn::Max(odd, magnitude_bits(hn::LoadU(d, from + i + lanes)));
  }
  if (i + lanes <= count) {
    even = hn::Max(even, magnitude_bits(hn::LoadU(d, from + i)));
    i += lanes;
  }
  if (i < count)
    odd = hn::Max(odd, magnitude_bits(load_rest(from + i, count - i)));
  return hn::GetLane(hn::MaxOfLanes(di, hn::Max(even, odd)));
}

// ---- formats

using cpu::at_least;
using cpu::at_most;

// NaN stays NaN, whatever the target's own maximum does with it.
HWY_INLINE Floats at_least(Floats v, Floats bound) {
  return hn::IfThenElse(hn::Lt(v, bound), bound, v);
}

HWY_INLINE Floats at_most(Floats v, Floats bound) {
  return hn::IfThenElse(hn::Gt(v, bound), bound, v);
}

// Only where NaN does not matter to the result, as another operand carries it there.
HWY_INLINE Floats clip(Floats v, Floats lowest, Floats highest) {
  return hn::Min(hn::Max(v, lowest), highest);
}

HWY_INLINE Floats straight_through(Floats quantised, Floats x) {
  return hn::Add(x, hn::Sub(quantised, x));
}

// REQUIRES: |v| <= 448 or NaN. Adding and taking away 2^20 times the power of two below v leaves
// three bits of v's mantissa, rounded half to even as every addition is; below 2^-6 the power stays
// that, and with it the step of denormals.
HWY_INLINE Floats round_to_e4m3(Floats v) {
  const FloatTag d;
  const BitsTag di;
  constexpr std::int32_t exponent_mask = 0x7F800000;
  constexpr std::int32_t smallest_normal = (127 - 6) << 23;
  const Bits exponent = hn::And(hn::BitCast(di, v), hn::Set(di, exponent_mask));
  const Bits shifted =
      hn::Add(hn::Max(exponent, hn::Set(di, smallest_normal)), hn::Set(di, 20 << 23));
  const Floats magic = hn::BitCast(d, shifted);
  const Floats rounded = hn::Sub(hn::Add(hn::Abs(v), magic), magic);
  return hn::CopySign(rounded, v);
}

// The nearest level 0, 0.5, 1, 1.5, 2, 3, 4, 6, a tie to the lower one, with the sign of v; then
// the estimator. In steps of 0.5 below 2, of 1 below 4, of 2 from there on, half a step down and up
// to the next whole step is just that: the product is exact, and so is the difference but where it
// is below zero.
HWY_INLINE Floats round_to_e2m1(Floats v) {
  const FloatTag d;
  const BitsTag di;
  constexpr std::int32_t exponent_mask = 0x7F800000;
  constexpr std::int32_t one = 127 << 23;
  const Floats magnitude = hn::Min(hn::Abs(v), all(e2m1_max));
  const Bits power =
      hn::Max(hn::And(hn::BitCast(di, magnitude), hn::Set(di, exponent_mask)), hn::Set(di, one));
  const Floats step = hn::BitCast(d, hn::Sub(power, hn::Set(di, 1 << 23)));
  const Floats steps_per_one = hn::BitCast(d, hn::Sub(hn::Set(di, 2 * one + (1 << 23)), power));
  const Floats steps = hn::MulSub(magnitude, steps_per_one, all(0.5F));
  const Floats level = hn::Mul(hn::Ceil(steps), step);
  return straight_through(hn::CopySign(level, v), v);
}

}  // namespace lyk::cpu::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif  // once per target
