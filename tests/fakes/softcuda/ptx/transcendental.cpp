// The approximate functions. Devices give results within the bounds of the PTX manual and different
// ones on different architectures; this machine computes in double and rounds once, so that the
// error of every .approx and .full result here is at most 0.5 ulp plus 2^-29 ulp of double's own
// error (rsqrt and rcp of f64: 20 bits, as the manual defines them). Code that needs a device's
// exact bits must not use these instructions, and code that is right within the manual's bounds is
// right here.
#include <bit>
#include <cmath>
#include <limits>

#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/float_flags.hpp"
#include "tests/fakes/softcuda/ptx/floats.hpp"
#include "tests/fakes/softcuda/ptx/handover.hpp"

namespace softcuda::ptx {

namespace {

struct Reciprocal {
  static double of(double x) { return 1 / x; }
};
struct SquareRoot {
  static double of(double x) { return std::sqrt(x); }
};
struct ReciprocalRoot {
  static double of(double x) { return 1 / std::sqrt(x); }
};
struct Exponential2 {
  static double of(double x) { return std::exp2(x); }
};
struct Logarithm2 {
  static double of(double x) { return std::log2(x); }
};
struct Sine {
  static double of(double x) { return std::sin(x); }
};
struct Cosine {
  static double of(double x) { return std::cos(x); }
};
struct HyperbolicTangent {
  static double of(double x) { return std::tanh(x); }
};

template <typename Operation>
Step approximate(const Instruction& in, Thread& thread) {
  auto x = get<float>(thread, in.a);
  if ((in.flags & flush_flag) != 0)
    x = flushed(x);
  auto result = static_cast<float>(Operation::of(double{x}));
  if ((in.flags & flush_flag) != 0)
    result = flushed(result);
  put(thread, in.d, canonical(result));
  return Step::next;
}

template <typename F, typename Operation>
Step approximate_half(const Instruction& in, Thread& thread) {
  const FloatFormat& format = *format_of<F>;
  std::uint64_t out = 0;
  for (std::uint32_t lane = 0; lane < in.list; ++lane) {
    double x = decode(static_cast<std::uint16_t>(thread.r[in.a] >> (16 * lane)), format);
    const double smallest_normal = std::ldexp(1.0, 1 - format.bias);
    const bool flushes = (in.flags & flush_flag) != 0;
    if (flushes && std::fabs(x) < smallest_normal)
      x = std::copysign(0.0, x);
    double result = Operation::of(x);
    if (flushes && std::fabs(result) < smallest_normal)
      result = std::copysign(0.0, result);
    out |= std::uint64_t{encode(result, format, Rounding::rn)} << (16 * lane);
  }
  thread.r[in.d] = out;
  return Step::next;
}

// a * (1 / b): zero, or NaN for an infinite a, where 1 / b would be subnormal.
Step divide_approximate(const Instruction& in, Thread& thread) {
  auto a = get<float>(thread, in.a);
  auto b = get<float>(thread, in.b);
  if ((in.flags & flush_flag) != 0) {
    a = flushed(a);
    b = flushed(b);
  }
  auto result = static_cast<float>(double{a} / double{b});
  constexpr float beyond = 0x1p126F;
  if (std::fabs(b) > beyond && !std::isinf(b))
    result = std::isinf(a) ? std::numeric_limits<float>::quiet_NaN() : std::copysign(0.0F, result);
  if ((in.flags & flush_flag) != 0)
    result = flushed(result);
  put(thread, in.d, canonical(result));
  return Step::next;
}

// As div.approx, over the full range of b.
Step divide_full(const Instruction& in, Thread& thread) {
  auto a = get<float>(thread, in.a);
  auto b = get<float>(thread, in.b);
  if ((in.flags & flush_flag) != 0) {
    a = flushed(a);
    b = flushed(b);
  }
  auto result = static_cast<float>(double{a} / double{b});
  if ((in.flags & flush_flag) != 0)
    result = flushed(result);
  put(thread, in.d, canonical(result));
  return Step::next;
}

// Of the upper half of a double; the lower half of the result is zero. Subnormal numbers are
// flushed.
template <typename Operation>
Step approximate_upper_half(const Instruction& in, Thread& thread) {
  constexpr std::uint64_t upper = 0xffff'ffff'0000'0000;
  const auto flush = [](double value) {
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0, value) : value;
  };
  const double x = flush(std::bit_cast<double>(thread.r[in.a] & upper));
  const double result = flush(Operation::of(x));
  const auto bits = std::bit_cast<std::uint64_t>(result);
  put(thread, in.d, std::isnan(result) ? 0x7fff'ffff'0000'0000 : bits & upper);
  return Step::next;
}

// rsqrt.approx.f64 without .ftz: the whole double, subnormal numbers too.
Step reciprocal_root_double(const Instruction& in, Thread& thread) {
  put(thread, in.d, ReciprocalRoot::of(get<double>(thread, in.a)));
  return Step::next;
}

template <typename Operation>
void decode_half_function(Decoding& in, Type type, std::uint32_t flags) {
  const bool is_half = type == Type::f16 || type == Type::f16x2;
  in.emit(
      is_half ? approximate_half<Half, Operation> : approximate_half<Bfloat, Operation>,
      {.d = in.destination(type), .a = in.source(type), .list = lanes_of(type), .flags = flags});
}

// op.approx{.ftz}, of f32 and of 16-bit floats.
template <typename Operation>
void decode_function(Decoding& in) {
  (void)in.choose({"approx"});
  const std::uint32_t flags = in.take("ftz") ? flush_flag : 0;
  const Type type = in.take_type();
  if (type != Type::f32)
    return decode_half_function<Operation>(in, type, flags);
  in.emit(approximate<Operation>,
          {.d = in.destination(type), .a = in.source(type), .flags = flags});
}

void decode_rsqrt(Decoding& in) {
  (void)in.choose({"approx"});
  const std::uint32_t flags = in.take("ftz") ? flush_flag : 0;
  const Type type = in.take_type();
  Execute execute = approximate<ReciprocalRoot>;
  if (type == Type::f64)
    execute = flags != 0 ? approximate_upper_half<ReciprocalRoot> : reciprocal_root_double;
  in.emit(execute, {.d = in.destination(type), .a = in.source(type), .flags = flags});
}

// rcp and sqrt: rounded, or approximate.
void decode_rounded_or_approximate(Decoding& in) {
  if (in.next_word() == "approx")
    return decode_approximate(in);
  decode_float_arithmetic(in);
}

}  // namespace

void decode_approximate(Decoding& in) {
  const std::string_view opcode = in.statement().opcode;
  const bool full = in.choose({"approx", "full"}) == 1;
  const std::uint32_t flags = in.take("ftz") ? flush_flag : 0;
  if (in.next_word() == "f64") {
    (void)in.take_type();
    in.emit(approximate_upper_half<Reciprocal>,
            {.d = in.destination(Type::f64), .a = in.source(Type::f64)});
    return;
  }
  const Type type = in.take_type();
  Instruction parts{.d = in.destination(type), .a = in.source(type), .flags = flags};
  if (opcode == "div") {
    parts.b = in.source(type);
    in.emit(full ? divide_full : divide_approximate, parts);
    return;
  }
  in.emit(opcode == "rcp" ? approximate<Reciprocal> : approximate<SquareRoot>, parts);
}

void add_transcendental(DecodeTable& table) {
  table["rcp"] = decode_rounded_or_approximate;
  table["sqrt"] = decode_rounded_or_approximate;
  table["rsqrt"] = decode_rsqrt;
  table["ex2"] = decode_function<Exponential2>;
  table["lg2"] = decode_function<Logarithm2>;
  table["sin"] = decode_function<Sine>;
  table["cos"] = decode_function<Cosine>;
  table["tanh"] = decode_function<HyperbolicTangent>;
}

}  // namespace softcuda::ptx
