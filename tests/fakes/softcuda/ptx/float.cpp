// Arithmetic of single and double precision: exact operations, rounded once as IEEE 754 says, in
// each of the four roundings.
#include <algorithm>
#include <cmath>
#include <optional>

#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/float_flags.hpp"
#include "tests/fakes/softcuda/ptx/floats.hpp"
#include "tests/fakes/softcuda/ptx/half.hpp"
#include "tests/fakes/softcuda/ptx/handover.hpp"

namespace softcuda::ptx {

namespace {

// ---- operations ----

struct Add {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return a + b;
  }
};
struct Subtract {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return a - b;
  }
};
struct Multiply {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return a * b;
  }
};
struct Fused {
  template <typename T>
  static T of(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
struct Divide {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return a / b;
  }
};
struct Reciprocal {
  template <typename T>
  static T of(T a, T /*b*/, T /*c*/) {
    return T{1} / a;
  }
};
struct SquareRoot {
  template <typename T>
  static T of(T a, T /*b*/, T /*c*/) {
    return std::sqrt(a);
  }
};
struct Least {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return least(a, b);
  }
};
struct Greatest {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return greatest(a, b);
  }
};

// Rounding to nearest, subnormal numbers kept, nothing else: nearly all that nvcc emits.
template <typename T, typename Operation>
Step plain(const Instruction& in, Thread& thread) {
  const T result = Operation::of(get<T>(thread, in.a), get<T>(thread, in.b), get<T>(thread, in.c));
  put(thread, in.d, canonical(result));
  return Step::next;
}

float flushed_if(float value, std::uint32_t flags) {
  return (flags & flush_flag) != 0 ? flushed(value) : value;
}
double flushed_if(double value, std::uint32_t /*flags*/) {
  return value;  // .ftz exists for single precision only
}

template <typename T>
T saturated_if(T value, std::uint32_t flags) {
  if ((flags & saturate_flag) == 0)
    return value;
  return std::isnan(value) ? T{0} : std::clamp(value, T{0}, T{1}) + T{0};  // -0 becomes +0
}

template <typename T, typename Operation>
T modified_result(T own_a, T own_b, T own_c, std::uint32_t flags) {
  // Volatile: nothing of the operation may be done before or after the change of the rounding mode.
  volatile T a = flushed_if(own_a, flags);
  volatile T b = flushed_if(own_b, flags);
  volatile T c = flushed_if(own_c, flags);
  volatile T result = 0;
  {
    const Rounded mode{rounding_in(flags)};
    result = Operation::template of<T>(a, b, c);
  }
  return canonical(saturated_if<T>(flushed_if(T{result}, flags), flags));
}

template <typename T, typename Operation>
Step modified(const Instruction& in, Thread& thread) {
  put(thread, in.d,
      modified_result<T, Operation>(get<T>(thread, in.a), get<T>(thread, in.b),
                                    get<T>(thread, in.c), in.flags));
  return Step::next;
}

// Two of single precision side by side.
template <typename Operation>
Step modified_pair(const Instruction& in, Thread& thread) {
  const auto a = get<Pair<float>>(thread, in.a);
  const auto b = get<Pair<float>>(thread, in.b);
  const auto c = get<Pair<float>>(thread, in.c);
  put(thread, in.d,
      Pair<float>{modified_result<float, Operation>(a.low, b.low, c.low, in.flags),
                  modified_result<float, Operation>(a.high, b.high, c.high, in.flags)});
  return Step::next;
}

// min and max with .NaN, .xorsign.abs, and a third operand where there is one.
template <typename T, typename Operation>
Step select_extreme(const Instruction& in, Thread& thread) {
  T operands[] = {flushed_if(get<T>(thread, in.a), in.flags),
                  flushed_if(get<T>(thread, in.b), in.flags),
                  flushed_if(get<T>(thread, in.c), in.flags)};
  const std::size_t count = (in.flags & third_flag) != 0 ? 3 : 2;
  bool negative = false;
  bool any_nan = false;
  for (T& operand : operands) {
    if (&operand == operands + count)
      break;
    any_nan = any_nan || std::isnan(operand);
    negative = negative != std::signbit(operand);
    if ((in.flags & xor_sign_flag) != 0)
      operand = std::fabs(operand);
  }
  T result = Operation::of(operands[0], operands[1], T{});
  if (count == 3)
    result = Operation::of(result, operands[2], T{});
  if ((in.flags & xor_sign_flag) != 0)
    result = std::copysign(result, negative ? T{-1} : T{1});
  if (any_nan && (in.flags & nan_flag) != 0)
    result = std::numeric_limits<T>::quiet_NaN();
  put(thread, in.d, canonical(result));
  return Step::next;
}

template <typename T>
Step absolute(const Instruction& in, Thread& thread) {
  put(thread, in.d, std::fabs(flushed_if(get<T>(thread, in.a), in.flags)));
  return Step::next;
}

template <typename T>
Step negate(const Instruction& in, Thread& thread) {
  put(thread, in.d, -flushed_if(get<T>(thread, in.a), in.flags));
  return Step::next;
}

// The magnitude of b with the sign of a.
template <typename T>
Step copy_sign(const Instruction& in, Thread& thread) {
  put(thread, in.d, std::copysign(get<T>(thread, in.b), get<T>(thread, in.a)));
  return Step::next;
}

enum class Property : std::uint8_t { finite, infinite, number, not_a_number, normal, subnormal };

template <typename T>
Step test_property(const Instruction& in, Thread& thread) {
  const T value = get<T>(thread, in.a);
  bool holds = false;
  switch (static_cast<Property>(in.constant)) {
    case Property::finite:
      holds = std::isfinite(value);
      break;
    case Property::infinite:
      holds = std::isinf(value);
      break;
    case Property::number:
      holds = !std::isnan(value);
      break;
    case Property::not_a_number:
      holds = std::isnan(value);
      break;
    case Property::normal:
      holds = std::isnormal(value);
      break;
    case Property::subnormal:
      holds = std::fpclassify(value) == FP_SUBNORMAL;
      break;
  }
  put<std::uint64_t>(thread, in.d, holds ? 1 : 0);
  return Step::next;
}

// ---- decoding ----

struct Choice {
  Execute plain;
  Execute modified;
};

template <typename Operation>
Choice choose(Type type) {
  if (type == Type::f32)
    return {plain<float, Operation>, modified<float, Operation>};
  return {plain<double, Operation>, modified<double, Operation>};
}

// Null for a name that is none of these.
Choice choice_of(std::string_view opcode, Type type) {
  if (opcode == "add")
    return choose<Add>(type);
  if (opcode == "sub")
    return choose<Subtract>(type);
  if (opcode == "mul")
    return choose<Multiply>(type);
  if (opcode == "fma" || opcode == "mad")
    return choose<Fused>(type);
  if (opcode == "div")
    return choose<Divide>(type);
  if (opcode == "rcp")
    return choose<Reciprocal>(type);
  return opcode == "sqrt" ? choose<SquareRoot>(type) : Choice{nullptr, nullptr};
}

// Null for a name that is none of these.
Execute pair_execute(std::string_view opcode) {
  if (opcode == "add")
    return modified_pair<Add>;
  if (opcode == "sub")
    return modified_pair<Subtract>;
  if (opcode == "mul")
    return modified_pair<Multiply>;
  return opcode == "fma" ? modified_pair<Fused> : nullptr;
}

void decode_pair(Decoding& in, std::uint32_t flags) {
  const std::string_view opcode = in.statement().opcode;
  Instruction parts{.d = in.destination(Type::f32x2),
                    .a = in.source(Type::f32x2),
                    .b = in.source(Type::f32x2),
                    .flags = flags};
  if (opcode == "fma")
    parts.c = in.source(Type::f32x2);
  in.emit(pair_execute(opcode), parts);
}

void decode_extreme(Decoding& in, Type type, std::uint32_t flags) {
  Instruction parts{.d = in.destination(type), .a = in.source(type), .b = in.source(type)};
  if (in.operands_left() > 0) {
    parts.c = in.source(type);
    flags |= third_flag;
  }
  parts.flags = flags;
  const bool least = in.statement().opcode == "min";
  if (flags == 0) {
    const Choice choice = least ? choose<Least>(type) : choose<Greatest>(type);
    in.emit(choice.plain, parts);
  } else if (type == Type::f32) {
    in.emit(least ? select_extreme<float, Least> : select_extreme<float, Greatest>, parts);
  } else {
    in.emit(least ? select_extreme<double, Least> : select_extreme<double, Greatest>, parts);
  }
}

void decode_sign(Decoding& in, Type type, std::uint32_t flags) {
  const Instruction parts{.d = in.destination(type), .a = in.source(type), .flags = flags};
  if (in.statement().opcode == "abs")
    in.emit(type == Type::f32 ? absolute<float> : absolute<double>, parts);
  else
    in.emit(type == Type::f32 ? negate<float> : negate<double>, parts);
}

void decode_copysign(Decoding& in) {
  const Type type = in.take_type();
  const Instruction parts{.d = in.destination(type), .a = in.source(type), .b = in.source(type)};
  in.emit(type == Type::f32 ? copy_sign<float> : copy_sign<double>, parts);
}

void decode_testp(Decoding& in) {
  const std::size_t property =
      in.choose({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  const Type type = in.take_type();
  const Instruction parts{.d = in.destination(Type::pred),
                          .a = in.source(type),
                          .constant = static_cast<std::int64_t>(property)};
  in.emit(type == Type::f32 ? test_property<float> : test_property<double>, parts);
}

}  // namespace

std::uint32_t take_float_flags(Decoding& in) {
  constexpr Rounding roundings[] = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp};
  std::uint32_t flags = 0;
  if (const auto rounding = in.take_one_of({"rn", "rz", "rm", "rp"}))
    flags = flag_of(roundings[*rounding]);
  if (in.take("ftz"))
    flags |= flush_flag;
  if (in.take("sat"))
    flags |= saturate_flag;
  if (in.take("relu"))
    flags |= relu_flag;
  if (in.take("NaN"))
    flags |= nan_flag;
  if (in.take("xorsign") && in.take("abs"))
    flags |= xor_sign_flag;
  return flags;
}

void decode_float_arithmetic(Decoding& in) {
  const std::string_view opcode = in.statement().opcode;
  const std::uint32_t flags = take_float_flags(in);
  const Type type = in.take_type();
  if (type == Type::f32x2)
    return decode_pair(in, flags);
  if (bytes_of(type) == 2 || lanes_of(type) == 2)
    return decode_half_arithmetic(in, type, flags);
  if (opcode == "min" || opcode == "max")
    return decode_extreme(in, type, flags);
  if (opcode == "abs" || opcode == "neg")
    return decode_sign(in, type, flags);
  const Choice choice = choice_of(opcode, type);
  Instruction parts{.d = in.destination(type), .a = in.source(type), .flags = flags};
  if (opcode != "rcp" && opcode != "sqrt")
    parts.b = in.source(type);
  if (opcode == "fma" || opcode == "mad")
    parts.c = in.source(type);
  in.emit(flags == 0 ? choice.plain : choice.modified, parts);
}

void add_float(DecodeTable& table) {
  table["fma"] = decode_float_arithmetic;
  table["copysign"] = decode_copysign;
  table["testp"] = decode_testp;
}

}  // namespace softcuda::ptx
