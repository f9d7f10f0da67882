// Integer arithmetic. Everything wraps, as PTX says; signed numbers are computed as unsigned ones
// where C++ would not define the overflow.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/handover.hpp"
#include "tests/fakes/softcuda/ptx/pick.hpp"

namespace softcuda::ptx {

namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

// Unsigned of the same size, at least 32 bits, so that nothing is promoted to int.
template <typename T>
using Modular = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <typename T>
Modular<T> modular(T value) {
  return static_cast<Modular<T>>(value);
}

// The product with all its bits.
template <typename T>
auto full_product(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<Wide>(a) * static_cast<Wide>(b);
  else
    return static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b);
}

// ---- operations ----

struct Add {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return static_cast<T>(modular(a) + modular(b));
  }
};
struct AddSaturated {
  static std::int32_t clamp(std::int64_t value) {
    using Limits = std::numeric_limits<std::int32_t>;
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(std::max<std::int64_t>(value, Limits::min()), Limits::max()));
  }
  static std::int32_t of(std::int32_t a, std::int32_t b, std::int32_t /*c*/) {
    return clamp(std::int64_t{a} + b);
  }
};
struct SubtractSaturated {
  static std::int32_t of(std::int32_t a, std::int32_t b, std::int32_t /*c*/) {
    return AddSaturated::clamp(std::int64_t{a} - b);
  }
};
struct Subtract {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return static_cast<T>(modular(a) - modular(b));
  }
};
struct MultiplyLow {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return static_cast<T>(modular(a) * modular(b));
  }
};
struct MultiplyHigh {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return static_cast<T>(full_product(a, b) >> (8 * sizeof(T)));
  }
};
struct MadLow {
  template <typename T>
  static T of(T a, T b, T c) {
    return static_cast<T>(modular(a) * modular(b) + modular(c));
  }
};
struct MadHigh {
  template <typename T>
  static T of(T a, T b, T c) {
    return Add::of(MultiplyHigh::of(a, b, c), c, c);
  }
};
struct MadHighSaturated {
  static std::int32_t of(std::int32_t a, std::int32_t b, std::int32_t c) {
    return AddSaturated::of(MultiplyHigh::of(a, b, c), c, c);
  }
};
// 24 bits of each operand; .hi is bits 47..16 of the product.
struct Low24 {
  template <typename T>
  static T cut(T value) {
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(static_cast<std::uint32_t>(value) << 8) >> 8;
    else
      return value & 0xff'ffff;
  }
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return static_cast<T>(full_product(cut(a), cut(b)));
  }
};
struct High24 {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return static_cast<T>(full_product(Low24::cut(a), Low24::cut(b)) >> 16);
  }
};
struct MadLow24 {
  template <typename T>
  static T of(T a, T b, T c) {
    return Add::of(Low24::of(a, b, c), c, c);
  }
};
struct MadHigh24 {
  template <typename T>
  static T of(T a, T b, T c) {
    return Add::of(High24::of(a, b, c), c, c);
  }
};
// c + |a - b|
struct SumOfDifference {
  template <typename T>
  static T of(T a, T b, T c) {
    const Modular<T> difference = a < b ? modular(b) - modular(a) : modular(a) - modular(b);
    return static_cast<T>(modular(c) + difference);
  }
};
// What divides by zero is not defined by PTX; devices give all ones for both, and so does ptxas
// where it folds.
struct Divide {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    if (b == 0)
      return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>)
      if (b == -1)
        return Subtract::of(T{0}, a, a);  // also of the smallest number
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    if (b == 0)
      return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>)
      if (b == -1)
        return 0;
    return static_cast<T>(a % b);
  }
};
struct Least {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return a < b ? a : b;
  }
};
struct Greatest {
  template <typename T>
  static T of(T a, T b, T /*c*/) {
    return a < b ? b : a;
  }
};
// Of min and max with .relu.
template <typename Operation>
struct NotNegative {
  template <typename T>
  static T of(T a, T b, T c) {
    return std::max(T{0}, Operation::of(a, b, c));
  }
};
struct Absolute {
  template <typename T>
  static T of(T a, T /*b*/, T /*c*/) {
    return a < 0 ? Subtract::of(T{0}, a, a) : a;
  }
};
struct Negate {
  template <typename T>
  static T of(T a, T /*b*/, T /*c*/) {
    return Subtract::of(T{0}, a, a);
  }
};

// ---- execution ----

template <typename T, typename Operation>
Step arithmetic(const Instruction& in, Thread& thread) {
  put<T>(thread, in.d,
         Operation::of(get<T>(thread, in.a), get<T>(thread, in.b), get<T>(thread, in.c)));
  return Step::next;
}

// Both halves of a 32-bit register; `flags` is 1 for .relu.
template <typename T, typename Operation>
Step pairwise(const Instruction& in, Thread& thread) {
  std::uint32_t out = 0;
  for (const unsigned shift : {0U, 16U}) {
    const auto half = [&](std::uint32_t slot) {
      return static_cast<T>(get<std::uint32_t>(thread, slot) >> shift);
    };
    T value = Operation::of(half(in.a), half(in.b), T{});
    if (in.flags != 0 && value < 0)
      value = 0;
    out |= static_cast<std::uint32_t>(static_cast<std::uint16_t>(value)) << shift;
  }
  put(thread, in.d, out);
  return Step::next;
}

template <typename T>
using Doubled =
    std::conditional_t<sizeof(T) == 2,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

// The product of twice the size, plus c, which has that size too; slot `c` holds 0 for mul.
template <typename T>
Step multiply_wide(const Instruction& in, Thread& thread) {
  using Result = Doubled<T>;
  const auto product =
      static_cast<Result>(full_product(get<T>(thread, in.a), get<T>(thread, in.b)));
  put<Result>(thread, in.d, Add::of(product, get<Result>(thread, in.c), product));
  return Step::next;
}

// ---- decoding ----

template <typename Operation>
Execute choose(Type type) {
  return pick_integer(type, []<typename T>(T) -> Execute { return arithmetic<T, Operation>; });
}

template <typename Operation>
Execute choose_pair(Type type) {
  return type == Type::s16x2 ? pairwise<std::int16_t, Operation>
                             : pairwise<std::uint16_t, Operation>;
}

bool is_float(const Decoding& in) {
  return std::ranges::any_of(in.statement().words, [](std::string_view word) {
    const std::optional<Type> type = type_named(word);
    return type && family_of(*type) == Family::floating;
  });
}

// d, a, b and c as far as there are operands, of one type.
void emit_plain(Decoding& in, Execute execute, Type type, std::uint32_t sources) {
  Instruction parts{.d = in.destination(type), .a = in.source(type)};
  if (sources > 1)
    parts.b = in.source(type);
  if (sources > 2)
    parts.c = in.source(type);
  in.emit(execute, parts);
}

template <typename Operation, typename Saturated>
void decode_sum(Decoding& in) {
  if (is_float(in))
    return decode_float_arithmetic(in);
  if (in.take("sat")) {
    (void)in.take_type();
    return emit_plain(in, arithmetic<std::int32_t, Saturated>, Type::s32, 2);
  }
  if (in.next_word() == "s16x2" || in.next_word() == "u16x2") {
    const Type type = in.take_type();
    return emit_plain(in, choose_pair<Operation>(type), type, 2);
  }
  const Type type = in.take_type();
  emit_plain(in, choose<Operation>(type), type, 2);
}

void decode_add(Decoding& in) {
  if (in.take("cc"))
    return decode_carry(in);
  decode_sum<Add, AddSaturated>(in);
}
void decode_sub(Decoding& in) {
  if (in.take("cc"))
    return decode_carry(in);
  decode_sum<Subtract, SubtractSaturated>(in);
}

Type doubled(Type type) {
  if (type == Type::u16)
    return Type::u32;
  if (type == Type::s16)
    return Type::s32;
  return type == Type::u32 ? Type::u64 : Type::s64;
}

void decode_product(Decoding& in) {
  if (is_float(in))
    return decode_float_arithmetic(in);
  const bool adds = in.statement().opcode == "mad";
  const std::size_t half = in.choose({"lo", "hi", "wide"});
  if (in.take("cc"))
    return decode_carry_product(in, half == 1 ? ProductHalf::high : ProductHalf::low);
  if (in.take("sat")) {
    (void)in.take_type();
    return emit_plain(in, arithmetic<std::int32_t, MadHighSaturated>, Type::s32, 3);
  }
  if (half == 2) {
    const Type type = in.take_type();
    Instruction parts{
        .d = in.destination(doubled(type)), .a = in.source(type), .b = in.source(type)};
    parts.c = adds ? in.source(doubled(type)) : in.function().constant(0);
    in.emit(pick_integer(type,
                         []<typename T>(T) -> Execute {
                           if constexpr (sizeof(T) < 8)
                             return multiply_wide<T>;
                           else
                             return nullptr;
                         }),
            parts);
    return;
  }
  const Type type = in.take_type();
  if (adds)
    return emit_plain(in, half == 0 ? choose<MadLow>(type) : choose<MadHigh>(type), type, 3);
  emit_plain(in, half == 0 ? choose<MultiplyLow>(type) : choose<MultiplyHigh>(type), type, 2);
}

void decode_product_24(Decoding& in) {
  const bool adds = in.statement().opcode == "mad24";
  const bool low = in.choose({"lo", "hi"}) == 0;
  const Type type = in.take_type();
  const auto pick = [&]<typename T>(T) -> Execute {
    if constexpr (sizeof(T) != 4)
      return nullptr;
    else if (adds)
      return low ? arithmetic<T, MadLow24> : arithmetic<T, MadHigh24>;
    else
      return low ? arithmetic<T, Low24> : arithmetic<T, High24>;
  };
  emit_plain(in, pick_integer(type, pick), type, adds ? 3 : 2);
}

template <typename Operation>
void decode_extreme(Decoding& in) {
  if (is_float(in))
    return decode_float_arithmetic(in);
  const bool relu = in.take("relu");
  const Type type = in.take_type();
  if (relu && type == Type::s32)
    return emit_plain(in, arithmetic<std::int32_t, NotNegative<Operation>>, type, 2);
  if (lanes_of(type) == 2) {
    in.emit(choose_pair<Operation>(type), {.d = in.destination(type),
                                           .a = in.source(type),
                                           .b = in.source(type),
                                           .flags = relu ? 1U : 0U});
    return;
  }
  emit_plain(in, choose<Operation>(type), type, 2);
}

void decode_div(Decoding& in) {
  if (is_float(in)) {
    if (in.next_word() == "approx" || in.next_word() == "full")
      return decode_approximate(in);
    return decode_float_arithmetic(in);
  }
  const Type type = in.take_type();
  emit_plain(in, choose<Divide>(type), type, 2);
}

template <typename Operation, std::uint32_t sources>
void decode_plain(Decoding& in) {
  if (is_float(in))
    return decode_float_arithmetic(in);
  const Type type = in.take_type();
  emit_plain(in, choose<Operation>(type), type, sources);
}

}  // namespace

void add_integer(DecodeTable& table) {
  table["add"] = decode_add;
  table["sub"] = decode_sub;
  table["mul"] = decode_product;
  table["mad"] = decode_product;
  table["mul24"] = decode_product_24;
  table["mad24"] = decode_product_24;
  table["sad"] = decode_plain<SumOfDifference, 3>;
  table["div"] = decode_div;
  table["rem"] = decode_plain<Remainder, 2>;
  table["min"] = decode_extreme<Least>;
  table["max"] = decode_extreme<Greatest>;
  table["abs"] = decode_plain<Absolute, 1>;
  table["neg"] = decode_plain<Negate, 1>;
}

}  // namespace softcuda::ptx
