// Logic, shifts and permutations of bytes.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/pick.hpp"

namespace softcuda::ptx {

namespace {

// ---- logic: whole slots, since what lies above a value is zero ----

Step bit_and(const Instruction& in, Thread& thread) {
  thread.r[in.d] = thread.r[in.a] & thread.r[in.b];
  return Step::next;
}
Step bit_or(const Instruction& in, Thread& thread) {
  thread.r[in.d] = thread.r[in.a] | thread.r[in.b];
  return Step::next;
}
Step bit_xor(const Instruction& in, Thread& thread) {
  thread.r[in.d] = thread.r[in.a] ^ thread.r[in.b];
  return Step::next;
}
// `constant` holds ones where the type has bits.
Step bit_not(const Instruction& in, Thread& thread) {
  thread.r[in.d] = ~thread.r[in.a] & static_cast<std::uint64_t>(in.constant);
  return Step::next;
}
Step logical_not(const Instruction& in, Thread& thread) {
  thread.r[in.d] = thread.r[in.a] == 0 ? 1 : 0;
  return Step::next;
}

// Bit i of `constant` is the result for the bits of a, b, c that make the number i = 4a + 2b + c.
Step look_up_3(const Instruction& in, Thread& thread) {
  const auto a = get<std::uint32_t>(thread, in.a);
  const auto b = get<std::uint32_t>(thread, in.b);
  const auto c = get<std::uint32_t>(thread, in.c);
  std::uint32_t out = 0;
  for (unsigned i = 0; i < 8; ++i)
    if ((in.constant >> i & 1) != 0)
      out |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  put(thread, in.d, out);
  return Step::next;
}

// The same, and `list` holds the slots of p and q: whether any bit is set, joined with q.
Step look_up_3_and(const Instruction& in, Thread& thread) {
  const std::uint32_t* const slots = thread.function->lists.data() + in.list;
  const bool other = (thread.r[slots[1]] != 0) != (in.flags != 0);
  (void)look_up_3(in, thread);
  thread.r[slots[0]] = get<std::uint32_t>(thread, in.d) != 0 && other ? 1 : 0;
  return Step::next;
}
Step look_up_3_or(const Instruction& in, Thread& thread) {
  const std::uint32_t* const slots = thread.function->lists.data() + in.list;
  const bool other = (thread.r[slots[1]] != 0) != (in.flags != 0);
  (void)look_up_3(in, thread);
  thread.r[slots[0]] = get<std::uint32_t>(thread, in.d) != 0 || other ? 1 : 0;
  return Step::next;
}

// ---- shifts: amounts beyond the size count as the size ----

template <typename T>
Step shift_left(const Instruction& in, Thread& thread) {
  const auto by = get<std::uint32_t>(thread, in.b);
  const std::uint64_t value{get<T>(thread, in.a)};
  put(thread, in.d, by >= 8 * sizeof(T) ? T{0} : static_cast<T>(value << by));
  return Step::next;
}

template <typename T>
Step shift_right(const Instruction& in, Thread& thread) {
  constexpr std::uint32_t bits = 8 * sizeof(T);
  const auto by = get<std::uint32_t>(thread, in.b);
  const T value = get<T>(thread, in.a);
  if constexpr (std::is_signed_v<T>)
    put(thread, in.d, static_cast<T>(value >> std::min(by, bits - 1)));
  else
    put(thread, in.d, by >= bits ? T{0} : static_cast<T>(value >> by));
  return Step::next;
}

enum class Amount : std::uint8_t { clamp, wrap };

std::uint32_t funnel_amount(const Instruction& in, const Thread& thread) {
  const auto by = get<std::uint32_t>(thread, in.c);
  return static_cast<Amount>(in.flags) == Amount::wrap ? by & 31 : std::min(by, 32U);
}

// The 64 bits b:a, shifted; left gives the upper half, right the lower.
Step funnel_left(const Instruction& in, Thread& thread) {
  const std::uint64_t both = thread.r[in.b] << 32 | thread.r[in.a];
  const std::uint32_t by = funnel_amount(in, thread);
  put(thread, in.d, static_cast<std::uint32_t>(both << by >> 32));
  return Step::next;
}
Step funnel_right(const Instruction& in, Thread& thread) {
  const std::uint64_t both = thread.r[in.b] << 32 | thread.r[in.a];
  put(thread, in.d, static_cast<std::uint32_t>(both >> funnel_amount(in, thread)));
  return Step::next;
}

// ---- permutation of bytes ----

enum class Permutation : std::int64_t { generic, f4e, b4e, rc8, ecl, ecr, rc16 };

// The selectors of the named modes for the four values of c's lowest two bits.
constexpr std::uint32_t selectors[][4] = {
    {},                                // generic: c itself
    {0x3210, 0x4321, 0x5432, 0x6543},  // f4e: forward 4 extract
    {0x5670, 0x6701, 0x7012, 0x0123},  // b4e: backward 4 extract
    {0x0000, 0x1111, 0x2222, 0x3333},  // rc8: replicate a byte
    {0x3210, 0x3211, 0x3222, 0x3333},  // ecl: edge clamp left
    {0x0000, 0x1110, 0x2210, 0x3210},  // ecr: edge clamp right
    {0x1010, 0x3232, 0x1010, 0x3232},  // rc16: replicate a half
};

Step permute(const Instruction& in, Thread& thread) {
  const std::uint64_t both = thread.r[in.b] << 32 | thread.r[in.a];
  const auto c = get<std::uint32_t>(thread, in.c);
  const bool generic = static_cast<Permutation>(in.constant) == Permutation::generic;
  const std::uint32_t selector = generic ? c : selectors[in.constant][c & 3];
  std::uint32_t out = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t choice = selector >> (4 * i) & 0xf;
    auto byte = static_cast<std::uint32_t>(both >> (8 * (choice & 7)) & 0xff);
    if ((choice & 8) != 0)  // its sign, repeated
      byte = (byte & 0x80) != 0 ? 0xff : 0;
    out |= byte << (8 * i);
  }
  put(thread, in.d, out);
  return Step::next;
}

// ---- decoding ----

template <Execute execute>
void decode_logic(Decoding& in) {
  const Type type = in.take_type();
  in.emit(execute, {.d = in.destination(type), .a = in.source(type), .b = in.source(type)});
}

void decode_not(Decoding& in) {
  const Type type = in.take_type();
  const std::uint64_t ones =
      type == Type::pred ? 1 : ~std::uint64_t{0} >> (64 - 8 * bytes_of(type));
  in.emit(bit_not, {.d = in.destination(type),
                    .a = in.source(type),
                    .constant = static_cast<std::int64_t>(ones)});
}

void decode_cnot(Decoding& in) {
  const Type type = in.take_type();
  in.emit(logical_not, {.d = in.destination(type), .a = in.source(type)});
}

// lop3.b32 d, a, b, c, table; lop3.and and lop3.or: d|p, a, b, c, table, q.
void decode_lop3(Decoding& in) {
  const auto join = in.take_one_of({"and", "or"});
  (void)in.take_type();
  const Operand& result = in.next_operand();
  if (join && (result.kind != OperandKind::pair || result.elements.size() != 2))
    return in.fail("lop3 with a predicate has two results");
  Instruction parts{.d = in.destination_of(join ? result.elements[0] : result, Type::b32),
                    .a = in.source(Type::b32),
                    .b = in.source(Type::b32),
                    .c = in.source(Type::b32)};
  parts.constant = in.immediate().value_or(0);
  if (!join) {
    in.emit(look_up_3, parts);
    return;
  }
  const std::uint32_t slots[] = {in.destination_of(result.elements[1], Type::pred),
                                 in.predicate(parts.flags, 1)};
  parts.list = in.add_list(slots);
  in.emit(*join == 0 ? look_up_3_and : look_up_3_or, parts);
}

void decode_shift(Decoding& in) {
  const bool left = in.statement().opcode == "shl";
  const Type type = in.take_type();
  const Instruction parts{
      .d = in.destination(type), .a = in.source(type), .b = in.source(Type::u32)};
  in.emit(left ? pick_bits(type, []<typename T>(T) -> Execute { return shift_left<T>; })
               : pick_integer(type, []<typename T>(T) -> Execute { return shift_right<T>; }),
          parts);
}

void decode_funnel(Decoding& in) {
  const bool left = in.choose({"l", "r"}) == 0;
  const std::size_t amount = in.choose({"clamp", "wrap"});
  (void)in.take_type();
  in.emit(left ? funnel_left : funnel_right, {.d = in.destination(Type::b32),
                                              .a = in.source(Type::b32),
                                              .b = in.source(Type::b32),
                                              .c = in.source(Type::u32),
                                              .flags = static_cast<std::uint32_t>(amount)});
}

void decode_permute(Decoding& in) {
  (void)in.take_type();
  const auto mode = in.take_one_of({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  in.emit(permute, {.d = in.destination(Type::b32),
                    .a = in.source(Type::b32),
                    .b = in.source(Type::b32),
                    .c = in.source(Type::b32),
                    .constant = mode ? static_cast<std::int64_t>(*mode) + 1 : 0});
}

}  // namespace

void add_bits(DecodeTable& table) {
  table["and"] = decode_logic<bit_and>;
  table["or"] = decode_logic<bit_or>;
  table["xor"] = decode_logic<bit_xor>;
  table["not"] = decode_not;
  table["cnot"] = decode_cnot;
  table["lop3"] = decode_lop3;
  table["shl"] = decode_shift;
  table["shr"] = decode_shift;
  table["shf"] = decode_funnel;
  table["prmt"] = decode_permute;
}

}  // namespace softcuda::ptx
