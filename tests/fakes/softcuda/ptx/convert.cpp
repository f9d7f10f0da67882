// cvt: between integers, between floats, and from one to the other.
//
// A float is taken as a double, which holds every value of every narrower format, and an integer as
// itself; the result is rounded once. 64-bit integers do not fit a double: they go to f32 and f64
// by the host's own conversion, and to 16-bit floats through a sum rounded to odd.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/fakes/softcuda/ptx/convert_packed.hpp"
#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/float_flags.hpp"
#include "tests/fakes/softcuda/ptx/floats.hpp"

namespace softcuda::ptx {

namespace {

constexpr std::uint32_t integral_flag = 1 << 9;  // .rni, .rzi, .rmi, .rpi
// Bits 16 and up: the bytes of the destination register, which a signed result fills.
constexpr std::uint32_t register_shift = 16;

template <typename T>
inline constexpr bool is_half = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;
template <typename T>
inline constexpr bool is_float = std::is_floating_point_v<T> || is_half<T>;

double to_integral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::rz:
      return std::trunc(value);
    case Rounding::rm:
      return std::floor(value);
    case Rounding::rp:
      return std::ceil(value);
    case Rounding::rn:
    case Rounding::rna:
      break;
  }
  return std::nearbyint(value);  // the host rounds to nearest outside Rounded
}

template <typename From>
double wide_value(const Thread& thread, std::uint32_t slot, std::uint32_t flags) {
  if constexpr (is_half<From>) {
    return decode(get<std::uint16_t>(thread, slot), *format_of<From>);
  } else if constexpr (std::is_same_v<From, float>) {
    const auto value = get<float>(thread, slot);
    return double{(flags & flush_flag) != 0 ? flushed(value) : value};
  } else {
    return get<double>(thread, slot);
  }
}

// NaN: 0 if the source is below f64 and the result below 64 bits, else only the highest bit set.
// What is beyond the range becomes the nearest end.
template <typename To, typename From>
To to_integer(double value, Rounding rounding) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(value)) {
    if (!std::is_same_v<From, double> && sizeof(To) < 8)
      return 0;
    return static_cast<To>(std::uint64_t{1} << (8 * sizeof(To) - 1));
  }
  const double whole = to_integral(value, rounding);
  // 2^bits is exact in double where the largest integer is not.
  const double end = std::ldexp(1.0, Limits::digits);
  if (whole >= end)
    return Limits::max();
  if (whole < static_cast<double>(Limits::min()))
    return Limits::min();
  return static_cast<To>(whole);
}

template <typename To, typename From>
To from_integer(From value, Rounding rounding) {
  const Rounded mode{rounding};
  volatile From before = value;
  volatile To result = static_cast<To>(before);
  return result;
}

// Exact or rounded to odd: right for every format with at most 51 bits.
template <typename From>
double odd_double(From value) {
  if constexpr (sizeof(From) < 8) {
    return static_cast<double>(value);
  } else {
    constexpr double two_32 = 4294967296.0;
    const auto low = static_cast<std::uint32_t>(value);
    const auto high = static_cast<From>(value >> 32);
    return sum_to_odd(static_cast<double>(high) * two_32, static_cast<double>(low));
  }
}

double saturated(double value, std::uint32_t flags) {
  if ((flags & saturate_flag) != 0)
    return std::isnan(value) ? 0.0 : std::clamp(value, 0.0, 1.0) + 0.0;
  if ((flags & relu_flag) != 0 && value <= 0)
    return 0.0;
  return value;
}

template <typename To>
void put_float(Thread& thread, const Instruction& in, double value) {
  const Rounding rounding = rounding_in(in.flags);
  if constexpr (is_half<To>) {
    put(thread, in.d, static_cast<std::uint16_t>(encode(value, *format_of<To>, rounding)));
  } else if constexpr (std::is_same_v<To, float>) {
    const auto result = std::bit_cast<float>(encode(value, float_format, rounding));
    put(thread, in.d, (in.flags & flush_flag) != 0 ? flushed(result) : result);
  } else {
    put(thread, in.d, value);
  }
}

template <typename To>
void put_integer(Thread& thread, const Instruction& in, To value) {
  if constexpr (std::is_signed_v<To>) {
    const std::uint32_t unused_bits = 64 - 8 * (in.flags >> register_shift);
    const auto extended = static_cast<std::uint64_t>(std::int64_t{value});
    thread.r[in.d] = extended << unused_bits >> unused_bits;
  } else {
    thread.r[in.d] = value;
  }
}

template <typename To, typename From>
To clamped(From value) {
  if (std::cmp_less(value, std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  if (std::cmp_greater(value, std::numeric_limits<To>::max()))
    return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

template <typename To, typename From>
Step convert(const Instruction& in, Thread& thread) {
  if constexpr (is_float<From> && is_float<To>) {
    double value = wide_value<From>(thread, in.a, in.flags);
    if ((in.flags & integral_flag) != 0)
      value = to_integral(value, rounding_in(in.flags));
    put_float<To>(thread, in, saturated(value, in.flags));
  } else if constexpr (is_float<From>) {
    const double value = wide_value<From>(thread, in.a, in.flags);
    put_integer<To>(thread, in, to_integer<To, From>(value, rounding_in(in.flags)));
  } else if constexpr (is_half<To>) {
    put_float<To>(thread, in, saturated(odd_double(get<From>(thread, in.a)), in.flags));
  } else if constexpr (is_float<To>) {
    const From value = get<From>(thread, in.a);
    To result = static_cast<To>(value);
    if (rounding_in(in.flags) != Rounding::rn)
      result = from_integer<To>(value, rounding_in(in.flags));
    put(thread, in.d, static_cast<To>(saturated(double{result}, in.flags)));
  } else {
    const From value = get<From>(thread, in.a);
    put_integer<To>(thread, in,
                    (in.flags & saturate_flag) != 0 ? clamped<To>(value) : static_cast<To>(value));
  }
  return Step::next;
}

// a above b, each cut to the range of T; what c has goes above both where there is room.
template <typename T>
Step pack_saturated(const Instruction& in, Thread& thread) {
  constexpr std::uint32_t bits = 8 * sizeof(T);
  const auto part = [&](std::uint32_t slot) -> std::uint32_t {
    return static_cast<std::make_unsigned_t<T>>(clamped<T>(get<std::int32_t>(thread, slot)));
  };
  const std::uint64_t above = std::uint64_t{get<std::uint32_t>(thread, in.c)} << 2 * bits;
  put(thread, in.d, static_cast<std::uint32_t>(above) | part(in.a) << bits | part(in.b));
  return Step::next;
}

// ---- decoding ----

template <typename Pick>
Execute pick_number(Type type, Pick pick) {
  switch (type) {
    case Type::u8:
      return pick(std::uint8_t{});
    case Type::u16:
      return pick(std::uint16_t{});
    case Type::u32:
      return pick(std::uint32_t{});
    case Type::u64:
      return pick(std::uint64_t{});
    case Type::s8:
      return pick(std::int8_t{});
    case Type::s16:
      return pick(std::int16_t{});
    case Type::s32:
      return pick(std::int32_t{});
    case Type::s64:
      return pick(std::int64_t{});
    case Type::f16:
      return pick(Half{});
    case Type::bf16:
      return pick(Bfloat{});
    case Type::f32:
      return pick(float{});
    case Type::f64:
      return pick(double{});
    default:
      return nullptr;
  }
}

Execute pick_conversion(Type to, Type from) {
  return pick_number(to, [from]<typename To>(To) -> Execute {
    return pick_number(from, []<typename From>(From) -> Execute { return convert<To, From>; });
  });
}

std::uint32_t take_rounding(Decoding& in) {
  constexpr Rounding roundings[] = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp,
                                    Rounding::rna};
  if (const auto integral = in.take_one_of({"rni", "rzi", "rmi", "rpi"}))
    return flag_of(roundings[*integral]) | integral_flag;
  if (const auto rounding = in.take_one_of({"rn", "rz", "rm", "rp", "rna"}))
    return flag_of(roundings[*rounding]);
  return 0;
}

// bfloat16 is the one type whose registers must fit exactly.
Width width_of(Type type) {
  return type == Type::bf16 ? Width::exact : Width::at_least;
}

void decode_single(Decoding& in, std::uint32_t flags) {
  const Type to = in.take_type();
  const Type from = in.take_type();
  const Operand* const result = in.peek_operand();
  const std::uint32_t bytes = result == nullptr ? 8 : in.register_bytes(*result);
  in.emit(pick_conversion(to, from), {.d = in.destination(to, width_of(to)),
                                      .a = in.source(from, width_of(from)),
                                      .flags = flags | bytes << register_shift});
}

// cvt.pack.sat.u16.s32 d, a, b; cvt.pack.sat.u8.s32.b32 d, a, b, c.
void decode_pack(Decoding& in) {
  (void)in.choose({"sat"});
  const Type type = in.take_type();
  (void)in.take_type();
  const bool appends = in.take("b32");
  Instruction parts{
      .d = in.destination(Type::b32), .a = in.source(Type::s32), .b = in.source(Type::s32)};
  parts.c = appends ? in.source(Type::b32) : in.function().constant(0);
  in.emit(pick_number(type,
                      []<typename T>(T) -> Execute {
                        if constexpr (std::is_integral_v<T> && sizeof(T) < 4)
                          return pack_saturated<T>;
                        else
                          return nullptr;
                      }),
          parts);
}

void decode_cvt(Decoding& in) {
  if (in.take("pack"))
    return decode_pack(in);
  std::uint32_t flags = take_rounding(in);
  if (in.take("ftz"))
    flags |= flush_flag;
  if (in.take("sat"))
    flags |= saturate_flag;
  const Overflow overflow = in.take("satfinite") ? Overflow::to_largest : Overflow::as_ieee;
  if (in.take("relu"))
    flags |= relu_flag;
  const std::optional<Type> to = type_named(in.next_word());
  if (to && (lanes_of(*to) == 2 || *to == Type::tf32 || overflow == Overflow::to_largest))
    return decode_packed_conversion(in, flags, overflow);
  decode_single(in, flags);
}

}  // namespace

void add_convert(DecodeTable& table) {
  table["cvt"] = decode_cvt;
}

}  // namespace softcuda::ptx
