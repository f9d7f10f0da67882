// Comparison and selection.
//
// Two numbers have one of four outcomes: less, equal, greater, unordered. Each comparison of PTX is
// a set of outcomes; the modifiers that end in u contain `unordered`.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/float_flags.hpp"
#include "tests/fakes/softcuda/ptx/floats.hpp"
#include "tests/fakes/softcuda/ptx/pick.hpp"

namespace softcuda::ptx {

namespace {

constexpr std::uint32_t less = 1;
constexpr std::uint32_t equal = 2;
constexpr std::uint32_t greater = 4;
constexpr std::uint32_t unordered = 8;

// Instruction::flags: the outcomes, then how c joins.
constexpr std::uint32_t outcomes_mask = 15;
constexpr std::uint32_t and_flag = 1 << 4;
constexpr std::uint32_t or_flag = 1 << 5;
constexpr std::uint32_t xor_flag = 1 << 6;
constexpr std::uint32_t not_flag = 1 << 7;  // of c
constexpr std::uint32_t ftz_flag = 1 << 8;

struct Comparison {
  std::string_view name;
  std::uint32_t outcomes;
};

constexpr std::array for_integers{
    Comparison{"eq", equal},   Comparison{"ne", less | greater},
    Comparison{"lt", less},    Comparison{"le", less | equal},
    Comparison{"gt", greater}, Comparison{"ge", greater | equal},
    Comparison{"lo", less},    Comparison{"ls", less | equal},
    Comparison{"hi", greater}, Comparison{"hs", greater | equal},
};

constexpr std::array for_floats{
    Comparison{"eq", equal},
    Comparison{"ne", less | greater},
    Comparison{"lt", less},
    Comparison{"le", less | equal},
    Comparison{"gt", greater},
    Comparison{"ge", greater | equal},
    Comparison{"equ", equal | unordered},
    Comparison{"neu", less | greater | unordered},
    Comparison{"ltu", less | unordered},
    Comparison{"leu", less | equal | unordered},
    Comparison{"gtu", greater | unordered},
    Comparison{"geu", greater | equal | unordered},
    Comparison{"num", less | equal | greater},
    Comparison{"nan", unordered},
};

template <typename T>
std::uint32_t outcome(T a, T b) {
  if (a < b)
    return less;
  if (a == b)
    return equal;
  return a > b ? greater : unordered;
}

bool joined(bool result, std::uint32_t flags, std::uint64_t c) {
  const bool other = (c != 0) != ((flags & not_flag) != 0);
  if ((flags & and_flag) != 0)
    return result && other;
  if ((flags & or_flag) != 0)
    return result || other;
  if ((flags & xor_flag) != 0)
    return result != other;
  return result;
}

template <typename T>
T operand(const Instruction& in, const Thread& thread, std::uint32_t slot) {
  const T value = get<T>(thread, slot);
  if constexpr (std::is_same_v<T, float>)
    return (in.flags & ftz_flag) != 0 ? flushed(value) : value;
  else
    return value;
}

template <typename T>
Step set_predicate(const Instruction& in, Thread& thread) {
  const bool result = (outcome(operand<T>(in, thread, in.a), operand<T>(in, thread, in.b)) &
                       in.flags & outcomes_mask) != 0;
  // The second result, of the opposite comparison; its slot is one that nobody reads if not wanted.
  const std::uint64_t c = thread.r[in.c];
  thread.r[in.list] = joined(!result, in.flags, c) ? 1 : 0;
  thread.r[in.d] = joined(result, in.flags, c) ? 1 : 0;
  return Step::next;
}

template <typename F>
std::uint32_t lane_outcome(const Instruction& in, const Thread& thread, std::uint32_t lane) {
  const FloatFormat& format = *format_of<F>;
  const auto value = [&](std::uint32_t slot) {
    const double wide = decode(static_cast<std::uint16_t>(thread.r[slot] >> (16 * lane)), format);
    const bool small = std::fabs(wide) < std::ldexp(1.0, 1 - format.bias);
    return (in.flags & ftz_flag) != 0 && small ? 0.0 : wide;
  };
  return outcome(value(in.a), value(in.b));
}

// Of pairs each result belongs to one lane, of single numbers the second is the opposite.
template <typename F, std::uint32_t lanes>
Step set_predicate_half(const Instruction& in, Thread& thread) {
  const std::uint64_t c = thread.r[in.c];
  const bool first = (lane_outcome<F>(in, thread, 0) & in.flags & outcomes_mask) != 0;
  const bool second =
      lanes == 1 ? !first : (lane_outcome<F>(in, thread, 1) & in.flags & outcomes_mask) != 0;
  thread.r[in.list] = joined(second, in.flags, c) ? 1 : 0;
  thread.r[in.d] = joined(first, in.flags, c) ? 1 : 0;
  return Step::next;
}

// `constant` is what stands for true: all ones, or 1.0, of the destination's type.
template <typename T>
Step set_value(const Instruction& in, Thread& thread) {
  const bool result = (outcome(operand<T>(in, thread, in.a), operand<T>(in, thread, in.b)) &
                       in.flags & outcomes_mask) != 0;
  const bool holds = joined(result, in.flags, thread.r[in.c]);
  thread.r[in.d] = holds ? static_cast<std::uint64_t>(in.constant) : 0;
  return Step::next;
}

template <typename F, std::uint32_t lanes>
Step set_value_half(const Instruction& in, Thread& thread) {
  std::uint64_t out = 0;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const bool result = (lane_outcome<F>(in, thread, lane) & in.flags & outcomes_mask) != 0;
    if (joined(result, in.flags, thread.r[in.c]))
      out |= static_cast<std::uint64_t>(in.constant) << (16 * lane);
  }
  thread.r[in.d] = out;
  return Step::next;
}

Step select(const Instruction& in, Thread& thread) {
  thread.r[in.d] = thread.r[thread.r[in.c] != 0 ? in.a : in.b];
  return Step::next;
}

// a if c >= 0, else b; -0 is not below 0, NaN chooses b.
template <typename T>
Step select_by_sign(const Instruction& in, Thread& thread) {
  thread.r[in.d] = thread.r[operand<T>(in, thread, in.c) >= 0 ? in.a : in.b];
  return Step::next;
}

// ---- decoding ----

// What stands between the comparison and the types.
struct Words {
  std::string_view comparison;
  std::uint32_t flags = 0;
};

Words take_words(Decoding& in) {
  Words words{in.next_word()};
  in.skip_word();
  constexpr std::uint32_t joins[] = {and_flag, or_flag, xor_flag};
  if (const auto join = in.take_one_of({"and", "or", "xor"}))
    words.flags |= joins[*join];
  if (in.take("ftz"))
    words.flags |= ftz_flag;
  return words;
}

template <std::size_t count>
std::uint32_t outcomes_in(const std::array<Comparison, count>& table, std::string_view name) {
  for (const Comparison& entry : table)
    if (entry.name == name)
      return entry.outcomes;
  return 0;
}

std::uint32_t outcomes_of(std::string_view name, Type type) {
  return family_of(type) == Family::floating ? outcomes_in(for_floats, name)
                                             : outcomes_in(for_integers, name);
}

Execute pick_predicate(Type type) {
  if (type == Type::f32)
    return set_predicate<float>;
  if (type == Type::f64)
    return set_predicate<double>;
  if (type == Type::f16)
    return set_predicate_half<Half, 1>;
  if (type == Type::f16x2)
    return set_predicate_half<Half, 2>;
  if (type == Type::bf16)
    return set_predicate_half<Bfloat, 1>;
  if (type == Type::bf16x2)
    return set_predicate_half<Bfloat, 2>;
  return pick_integer(type, []<typename T>(T) -> Execute { return set_predicate<T>; });
}

Execute pick_value(Type type) {
  if (type == Type::f32)
    return set_value<float>;
  if (type == Type::f64)
    return set_value<double>;
  if (type == Type::f16)
    return set_value_half<Half, 1>;
  if (type == Type::f16x2)
    return set_value_half<Half, 2>;
  if (type == Type::bf16)
    return set_value_half<Bfloat, 1>;
  if (type == Type::bf16x2)
    return set_value_half<Bfloat, 2>;
  return pick_integer(type, []<typename T>(T) -> Execute { return set_value<T>; });
}

// a, b and what joins them, into `parts`.
void take_operands(Decoding& in, const Words& words, Type type, Instruction& parts) {
  parts.a = in.source(type);
  parts.b = in.source(type);
  parts.flags = words.flags | outcomes_of(words.comparison, type);
  if ((words.flags & (and_flag | or_flag | xor_flag)) != 0)
    parts.c = in.predicate(parts.flags, not_flag);
}

void decode_setp(Decoding& in) {
  const Words words = take_words(in);
  const Type type = in.take_type();
  Instruction parts;
  const Operand& result = in.next_operand();
  if (result.kind == OperandKind::pair && (type == Type::f16 || type == Type::bf16))
    return in.refuse_instruction();  // two results there are of two lanes
  if (result.kind == OperandKind::pair && result.elements.size() == 2) {
    parts.d = in.destination_of(result.elements[0], Type::pred);
    parts.list = in.destination_of(result.elements[1], Type::pred);
  } else {
    parts.d = in.destination_of(result, Type::pred);
    parts.list = in.function().scratch();
  }
  take_operands(in, words, type, parts);
  in.emit(pick_predicate(type), parts);
}

// What `set` writes for true: to each lane where there are two.
std::uint64_t truth_of(Type result, Type source) {
  if (result == Type::f32)
    return std::bit_cast<std::uint32_t>(1.0F);
  if (result == Type::f16 || result == Type::f16x2)
    return encode(1.0, half_format, Rounding::rn);
  if (result == Type::bf16 || result == Type::bf16x2)
    return encode(1.0, bfloat_format, Rounding::rn);
  return bytes_of(result) == 2 || lanes_of(source) == 2 ? 0xffff : 0xffff'ffff;
}

void decode_set(Decoding& in) {
  const Words words = take_words(in);
  const Type result = in.take_type();
  const Type type = in.take_type();
  Instruction parts{.d = in.destination(result)};
  take_operands(in, words, type, parts);
  parts.constant = static_cast<std::int64_t>(truth_of(result, type));
  in.emit(pick_value(type), parts);
}

void decode_selp(Decoding& in) {
  const Type type = in.take_type();
  Instruction parts{.d = in.destination(type), .a = in.source(type), .b = in.source(type)};
  std::uint32_t negated = 0;
  parts.c = in.predicate(negated, not_flag);
  if (negated != 0)
    std::swap(parts.a, parts.b);
  in.emit(select, parts);
}

void decode_slct(Decoding& in) {
  const std::uint32_t flags = in.take("ftz") ? ftz_flag : 0;
  const Type type = in.take_type();
  const Type choice = in.take_type();
  in.emit(choice == Type::s32 ? select_by_sign<std::int32_t> : select_by_sign<float>,
          {.d = in.destination(type),
           .a = in.source(type),
           .b = in.source(type),
           .c = in.source(choice),
           .flags = flags});
}

}  // namespace

void add_compare(DecodeTable& table) {
  table["setp"] = decode_setp;
  table["set"] = decode_set;
  table["selp"] = decode_selp;
  table["slct"] = decode_slct;
}

}  // namespace softcuda::ptx
