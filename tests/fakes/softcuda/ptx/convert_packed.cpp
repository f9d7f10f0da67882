#include "tests/fakes/softcuda/ptx/convert_packed.hpp"

#include <array>
#include <bit>

#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/float_flags.hpp"

namespace softcuda::ptx {

namespace {

constexpr std::uint32_t to_largest_flag = 1 << 9;

// How the numbers of a type lie in a register.
struct Layout {
  Type type;
  const FloatFormat* format;
  std::uint32_t bits;  // from one number to the next
};

constexpr std::array layouts{
    Layout{Type::f16, &half_format, 16},    Layout{Type::f16x2, &half_format, 16},
    Layout{Type::bf16, &bfloat_format, 16}, Layout{Type::bf16x2, &bfloat_format, 16},
    Layout{Type::f32, &float_format, 32},   Layout{Type::tf32, &tf32_format, 32},
    Layout{Type::e4m3x2, &e4m3_format, 8},  Layout{Type::e5m2x2, &e5m2_format, 8},
    Layout{Type::e2m1x2, &e2m1_format, 4},  Layout{Type::e2m3x2, &e2m3_format, 8},
    Layout{Type::e3m2x2, &e3m2_format, 8},  Layout{Type::ue8m0x2, nullptr, 8},
};

const Layout* layout_of(Type type) {
  for (const Layout& layout : layouts)
    if (layout.type == type)
      return &layout;
  return nullptr;
}

const Layout& layout_at(std::uint32_t number) {
  return layouts[number];
}

// ue8m0 is an exponent alone: 2^(bits - 127), 255 is NaN. It has no sign and no zero: signs are
// dropped, zero becomes the smallest.
std::uint32_t encode_exponent(double signed_value, std::uint32_t flags) {
  constexpr std::uint32_t largest = 254;
  const double value = std::fabs(signed_value);
  if (std::isnan(value))
    return 255;
  if (value == 0)
    return 0;
  if (std::isinf(value))
    return (flags & to_largest_flag) != 0 ? largest : 255;
  int exponent = std::ilogb(value);
  if (rounding_in(flags) == Rounding::rp && std::ldexp(1.0, exponent) < value)
    ++exponent;
  if (exponent > 127)
    return (flags & to_largest_flag) != 0 ? largest : 255;
  return exponent < -127 ? 0 : static_cast<std::uint32_t>(exponent + 127);
}

double decode_exponent(std::uint32_t bits) {
  return bits == 255 ? std::numeric_limits<double>::quiet_NaN()
                     : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

double read(std::uint64_t bits, const Layout& layout) {
  const auto own = static_cast<std::uint32_t>(bits & (~std::uint64_t{0} >> (64 - layout.bits)));
  return layout.format == nullptr ? decode_exponent(own) : decode(own, *layout.format);
}

std::uint64_t write(double value, const Layout& layout, std::uint32_t flags) {
  if ((flags & relu_flag) != 0 && value <= 0)
    value = 0.0;
  if (layout.format == nullptr)
    return encode_exponent(value, flags);
  const Overflow overflow =
      (flags & to_largest_flag) != 0 ? Overflow::to_largest : Overflow::as_ieee;
  const std::uint64_t bits = encode(value, *layout.format, rounding_in(flags), overflow);
  return layout.type == Type::tf32 ? bits << 13 : bits;
}

// `constant` holds the numbers of the source's and the destination's layout.
const Layout& source_layout(const Instruction& in) {
  return layout_at(static_cast<std::uint32_t>(in.constant >> 8));
}
const Layout& result_layout(const Instruction& in) {
  return layout_at(static_cast<std::uint32_t>(in.constant & 0xff));
}

// One number to one number.
Step convert_one(const Instruction& in, Thread& thread) {
  thread.r[in.d] = write(read(thread.r[in.a], source_layout(in)), result_layout(in), in.flags);
  return Step::next;
}

// Two f32 operands to a pair: the first to the upper half.
Step pack(const Instruction& in, Thread& thread) {
  const Layout& to = result_layout(in);
  const std::uint64_t high = write(double{get<float>(thread, in.a)}, to, in.flags);
  const std::uint64_t low = write(double{get<float>(thread, in.b)}, to, in.flags);
  thread.r[in.d] = high << to.bits | low;
  return Step::next;
}

// A pair to a pair.
Step repack(const Instruction& in, Thread& thread) {
  const Layout& from = source_layout(in);
  const Layout& to = result_layout(in);
  const std::uint64_t bits = thread.r[in.a];
  const std::uint64_t low = write(read(bits, from), to, in.flags);
  const std::uint64_t high = write(read(bits >> from.bits, from), to, in.flags);
  thread.r[in.d] = high << to.bits | low;
  return Step::next;
}

}  // namespace

void decode_packed_conversion(Decoding& in, std::uint32_t flags, Overflow overflow) {
  const Type to = in.take_type();
  const Type from = in.take_type();
  const Layout* const to_layout = layout_of(to);
  const Layout* const from_layout = layout_of(from);
  const bool pairs = lanes_of(to) == 2;
  if (to_layout == nullptr || from_layout == nullptr)
    return in.refuse_instruction();
  Instruction parts{.d = in.destination(to), .a = in.source(from)};
  parts.flags = flags | (overflow == Overflow::to_largest ? to_largest_flag : 0);
  parts.constant = (from_layout - layouts.data()) << 8 | (to_layout - layouts.data());
  Execute execute = convert_one;
  if (pairs) {
    execute = from == Type::f32 ? pack : repack;
    if (from == Type::f32)
      parts.b = in.source(from);
  }
  in.emit(execute, parts);
}

}  // namespace softcuda::ptx
