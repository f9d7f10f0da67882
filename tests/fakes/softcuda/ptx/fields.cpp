// Bit fields: taking, setting, counting and finding bits.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/pick.hpp"

namespace softcuda::ptx {

namespace {

// What becomes of lengths beyond the size.
enum class Amount : std::uint8_t { clamp, wrap };

// Position and length are 8 bits each. A signed field repeats its top bit, or the top bit of
// the whole where the field goes beyond.
template <typename T>
Step extract_field(const Instruction& in, Thread& thread) {
  constexpr std::uint32_t top = 8 * sizeof(T) - 1;
  const std::uint32_t position = get<std::uint32_t>(thread, in.b) & 0xff;
  const std::uint32_t length = get<std::uint32_t>(thread, in.c) & 0xff;
  const std::uint64_t bits{get<std::make_unsigned_t<T>>(thread, in.a)};
  std::uint64_t fill = 0;
  if (std::is_signed_v<T> && length != 0)
    fill = bits >> std::min(position + length - 1, top) & 1;
  std::uint64_t out = 0;
  for (std::uint32_t i = 0; i <= top; ++i) {
    const bool inside = i < length && position + i <= top;
    out |= (inside ? bits >> (position + i) & 1 : fill) << i;
  }
  thread.r[in.d] = out;
  return Step::next;
}

template <typename T>
Step insert_field(const Instruction& in, Thread& thread) {
  constexpr std::uint32_t size = 8 * sizeof(T);
  const std::uint32_t position = get<std::uint32_t>(thread, in.c) & 0xff;
  const std::uint32_t length = get<std::uint32_t>(thread, in.list) & 0xff;
  const T inserted = get<T>(thread, in.a);
  T out = get<T>(thread, in.b);
  for (std::uint32_t i = 0; i < length && position + i < size; ++i) {
    const T bit = T{1} << (position + i);
    out = (inserted >> i & 1) != 0 ? out | bit : out & ~bit;
  }
  put(thread, in.d, out);
  return Step::next;
}

// The place of the highest bit that differs from the sign; all ones if there is none. `flags` 1:
// the shift that would bring it to the top.
template <typename T>
Step find_bit(const Instruction& in, Thread& thread) {
  using Bits = std::make_unsigned_t<T>;
  const T value = get<T>(thread, in.a);
  const auto bits = static_cast<Bits>(std::is_signed_v<T> && value < 0 ? ~value : value);
  std::uint32_t out = ~std::uint32_t{0};
  if (bits != 0) {
    const auto place = static_cast<std::uint32_t>(std::bit_width(bits)) - 1;
    out = in.flags != 0 ? static_cast<std::uint32_t>(8 * sizeof(T)) - 1 - place : place;
  }
  put(thread, in.d, out);
  return Step::next;
}

template <typename T>
Step count_ones(const Instruction& in, Thread& thread) {
  put(thread, in.d, static_cast<std::uint32_t>(std::popcount(get<T>(thread, in.a))));
  return Step::next;
}
template <typename T>
Step count_leading_zeros(const Instruction& in, Thread& thread) {
  put(thread, in.d, static_cast<std::uint32_t>(std::countl_zero(get<T>(thread, in.a))));
  return Step::next;
}
template <typename T>
Step reverse_bits(const Instruction& in, Thread& thread) {
  T value = get<T>(thread, in.a);
  T out = 0;
  for (std::size_t i = 0; i < 8 * sizeof(T); ++i, value >>= 1)
    out = static_cast<T>(out << 1) | (value & 1);
  put(thread, in.d, out);
  return Step::next;
}

// Ones from bit a on, b of them. `flags`: whether both are taken modulo 32.
Step make_mask(const Instruction& in, Thread& thread) {
  auto position = get<std::uint32_t>(thread, in.a);
  auto width = get<std::uint32_t>(thread, in.b);
  if (static_cast<Amount>(in.flags) == Amount::wrap) {
    position &= 31;
    width &= 31;
  }
  const std::uint64_t ones = (std::uint64_t{1} << std::min(width, 32U)) - 1;
  put(thread, in.d,
      position >= 32 ? std::uint32_t{0} : static_cast<std::uint32_t>(ones << position));
  return Step::next;
}

// The place of the nth set bit from bit b on: c says which, and in which direction. All ones if
// there is none.
Step find_nth_set(const Instruction& in, Thread& thread) {
  constexpr std::int64_t bits = 32;
  const auto mask = get<std::uint32_t>(thread, in.a);
  const auto offset = std::int64_t{get<std::int32_t>(thread, in.c)};
  const std::int64_t step = offset < 0 ? -1 : 1;
  std::int64_t left = offset < 0 ? -offset : offset;
  std::uint32_t out = ~std::uint32_t{0};
  for (std::int64_t i = get<std::uint32_t>(thread, in.b); i >= 0 && i < bits; i += step) {
    const bool is_set = (mask >> i & 1) != 0;
    if (is_set && --left <= 0) {
      out = static_cast<std::uint32_t>(i);
      break;
    }
    if (offset == 0)
      break;
  }
  put(thread, in.d, out);
  return Step::next;
}

// The low b bits of a, the highest of them repeated if the type is signed. `flags`: whether b is
// taken modulo 32.
template <typename T>
Step extend_low_bits(const Instruction& in, Thread& thread) {
  auto bits = get<std::uint32_t>(thread, in.b);
  bits = static_cast<Amount>(in.flags) == Amount::wrap ? bits & 31 : std::min(bits, 32U);
  const std::uint32_t unused = 32 - bits;
  const std::uint32_t cut = bits == 0 ? 0 : get<std::uint32_t>(thread, in.a) << unused;
  put(thread, in.d, bits == 0 ? T{0} : static_cast<T>(static_cast<T>(cut) >> unused));
  return Step::next;
}

// ---- decoding ----

void decode_extract(Decoding& in) {
  const Type type = in.take_type();
  in.emit(pick_integer(type, []<typename T>(T) -> Execute { return extract_field<T>; }),
          {.d = in.destination(type),
           .a = in.source(type),
           .b = in.source(Type::u32),
           .c = in.source(Type::u32)});
}

void decode_insert(Decoding& in) {
  const Type type = in.take_type();
  in.emit(bytes_of(type) == 4 ? insert_field<std::uint32_t> : insert_field<std::uint64_t>,
          {.d = in.destination(type),
           .a = in.source(type),
           .b = in.source(type),
           .c = in.source(Type::u32),
           .list = in.source(Type::u32)});
}

void decode_mask(Decoding& in) {
  const std::size_t amount = in.choose({"clamp", "wrap"});
  (void)in.take_type();
  in.emit(make_mask, {.d = in.destination(Type::b32),
                      .a = in.source(Type::b32),
                      .b = in.source(Type::b32),
                      .flags = static_cast<std::uint32_t>(amount)});
}

void decode_find_nth(Decoding& in) {
  (void)in.take_type();
  in.emit(find_nth_set, {.d = in.destination(Type::b32),
                         .a = in.source(Type::b32),
                         .b = in.source(Type::b32),
                         .c = in.source(Type::s32)});
}

void decode_extend(Decoding& in) {
  const std::size_t amount = in.choose({"clamp", "wrap"});
  const Type type = in.take_type();
  in.emit(type == Type::s32 ? extend_low_bits<std::int32_t> : extend_low_bits<std::uint32_t>,
          {.d = in.destination(type),
           .a = in.source(type),
           .b = in.source(Type::u32),
           .flags = static_cast<std::uint32_t>(amount)});
}

void decode_find(Decoding& in) {
  const bool shift_amount = in.take("shiftamt");
  const Type type = in.take_type();
  in.emit(pick_integer(type, []<typename T>(T) -> Execute { return find_bit<T>; }),
          {.d = in.destination(Type::u32), .a = in.source(type), .flags = shift_amount ? 1U : 0U});
}

void decode_count(Decoding& in) {
  const bool wide = in.take_type() == Type::b64;
  const Type type = wide ? Type::b64 : Type::b32;
  const Instruction parts{.d = in.destination(Type::u32), .a = in.source(type)};
  if (in.statement().opcode == "popc")
    in.emit(wide ? count_ones<std::uint64_t> : count_ones<std::uint32_t>, parts);
  else
    in.emit(wide ? count_leading_zeros<std::uint64_t> : count_leading_zeros<std::uint32_t>, parts);
}

void decode_reverse(Decoding& in) {
  const Type type = in.take_type();
  in.emit(bytes_of(type) == 4 ? reverse_bits<std::uint32_t> : reverse_bits<std::uint64_t>,
          {.d = in.destination(type), .a = in.source(type)});
}

}  // namespace

void add_fields(DecodeTable& table) {
  table["bfe"] = decode_extract;
  table["bfi"] = decode_insert;
  table["bmsk"] = decode_mask;
  table["fns"] = decode_find_nth;
  table["szext"] = decode_extend;
  table["bfind"] = decode_find;
  table["popc"] = decode_count;
  table["clz"] = decode_count;
  table["brev"] = decode_reverse;
}

}  // namespace softcuda::ptx
