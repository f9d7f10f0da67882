// Arithmetic of the 16-bit floats: in double, then rounded once.
//
// Sums and products of half precision numbers are exact in double: products have 22 bits, sums span
// at most 40 bits (2^-24 to 2^15). A sum of bfloat16 numbers, or a product plus a number, may
// span more than 53 bits, and rounding it twice would be wrong where the first rounding lands
// on a tie of the second: 1.00390625 + 2^-60 is above the tie, double rounds it onto it. So all
// sums are rounded to odd first (floats.hpp). Products have at most 22 bits and are exact.
#include "tests/fakes/softcuda/ptx/half.hpp"

#include <algorithm>
#include <cmath>

#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/float_flags.hpp"
#include "tests/fakes/softcuda/ptx/floats.hpp"

namespace softcuda::ptx {

namespace {

struct Add {
  static double of(double a, double b, double /*c*/) { return sum_to_odd(a, b); }
};
struct Subtract {
  static double of(double a, double b, double /*c*/) { return sum_to_odd(a, -b); }
};
struct Multiply {
  static double of(double a, double b, double /*c*/) { return a * b; }
};
struct Fused {
  static double of(double a, double b, double c) { return sum_to_odd(a * b, c); }
};
struct Least {
  static double of(double a, double b, double /*c*/) { return least(a, b); }
};
struct Greatest {
  static double of(double a, double b, double /*c*/) { return greatest(a, b); }
};

template <typename F>
std::uint16_t flushed_bits(std::uint16_t bits) {
  const FloatFormat& format = *format_of<F>;
  const auto smallest_normal = std::uint32_t{1} << format.mantissa_bits;
  return (bits & (format.sign - 1)) < smallest_normal
             ? static_cast<std::uint16_t>(bits & format.sign)
             : bits;
}

template <typename F>
double value_of(std::uint16_t bits, std::uint32_t flags) {
  return decode((flags & flush_flag) != 0 ? flushed_bits<F>(bits) : bits, *format_of<F>);
}

template <typename F, typename Operation>
std::uint16_t lane(const std::uint16_t (&operands)[3], std::uint32_t flags) {
  const double a = value_of<F>(operands[0], flags);
  const double b = value_of<F>(operands[1], flags);
  const double c = value_of<F>(operands[2], flags);
  double value = Operation::of(a, b, c);
  if ((flags & xor_sign_flag) != 0) {
    value = std::copysign(Operation::of(std::fabs(a), std::fabs(b), c),
                          std::signbit(a) != std::signbit(b) ? -1.0 : 1.0);
  }
  if ((flags & nan_flag) != 0 && (std::isnan(a) || std::isnan(b)))
    value = std::numeric_limits<double>::quiet_NaN();
  if ((flags & saturate_flag) != 0)
    value = std::isnan(value) ? 0.0 : std::clamp(value, 0.0, 1.0) + 0.0;
  if ((flags & relu_flag) != 0 && value <= 0)
    value = 0.0;
  const auto bits = static_cast<std::uint16_t>(encode(value, *format_of<F>, Rounding::rn));
  return (flags & flush_flag) != 0 ? flushed_bits<F>(bits) : bits;
}

std::uint16_t lane_of(const Thread& thread, std::uint32_t slot, std::uint32_t number) {
  return static_cast<std::uint16_t>(thread.r[slot] >> (16 * number));
}

template <typename F, typename Operation, std::uint32_t lanes>
Step arithmetic(const Instruction& in, Thread& thread) {
  std::uint64_t out = 0;
  for (std::uint32_t i = 0; i < lanes; ++i) {
    const std::uint16_t operands[] = {lane_of(thread, in.a, i), lane_of(thread, in.b, i),
                                      lane_of(thread, in.c, i)};
    out |= std::uint64_t{lane<F, Operation>(operands, in.flags)} << (16 * i);
  }
  thread.r[in.d] = out;
  return Step::next;
}

// Half precision only: .ftz exists for no other.
std::uint64_t lanes_flushed_if(const Instruction& in, const Thread& thread) {
  if ((in.flags & flush_flag) == 0)
    return thread.r[in.a];
  return std::uint64_t{flushed_bits<Half>(lane_of(thread, in.a, 1))} << 16 |
         flushed_bits<Half>(lane_of(thread, in.a, 0));
}

// The sign bits of all lanes: cleared or turned over. NaNs are treated like numbers.
Step clear_signs(const Instruction& in, Thread& thread) {
  thread.r[in.d] = lanes_flushed_if(in, thread) & ~static_cast<std::uint64_t>(in.constant);
  return Step::next;
}
Step turn_signs(const Instruction& in, Thread& thread) {
  thread.r[in.d] = lanes_flushed_if(in, thread) ^ static_cast<std::uint64_t>(in.constant);
  return Step::next;
}

template <typename Operation>
Execute choose(Type type) {
  if (type == Type::f16)
    return arithmetic<Half, Operation, 1>;
  if (type == Type::f16x2)
    return arithmetic<Half, Operation, 2>;
  if (type == Type::bf16)
    return arithmetic<Bfloat, Operation, 1>;
  return arithmetic<Bfloat, Operation, 2>;
}

Execute choice_of(std::string_view opcode, Type type) {
  if (opcode == "add")
    return choose<Add>(type);
  if (opcode == "sub")
    return choose<Subtract>(type);
  if (opcode == "mul")
    return choose<Multiply>(type);
  if (opcode == "fma")
    return choose<Fused>(type);
  if (opcode == "min")
    return choose<Least>(type);
  if (opcode == "max")
    return choose<Greatest>(type);
  return nullptr;
}

}  // namespace

void decode_half_arithmetic(Decoding& in, Type type, std::uint32_t flags) {
  const std::string_view opcode = in.statement().opcode;
  if (opcode == "abs" || opcode == "neg") {
    const Instruction parts{.d = in.destination(type),
                            .a = in.source(type),
                            .flags = flags,
                            .constant = lanes_of(type) == 2 ? 0x8000'8000 : 0x8000};
    in.emit(opcode == "abs" ? clear_signs : turn_signs, parts);
    return;
  }
  Instruction parts{
      .d = in.destination(type), .a = in.source(type), .b = in.source(type), .flags = flags};
  if (opcode == "fma")
    parts.c = in.source(type);
  in.emit(choice_of(opcode, type), parts);
}

}  // namespace softcuda::ptx
