// Instructions on the bytes and halves inside 32-bit registers: dot products, sums of differences.
#include "tests/fakes/softcuda/ptx/decode.hpp"

namespace softcuda::ptx {

namespace {

// Four products of bytes, or two of halves with bytes, added to c. `flags`: which are signed, and
// which pair of bytes of b.
constexpr std::uint32_t a_signed = 1;
constexpr std::uint32_t b_signed = 2;
constexpr std::uint32_t upper_bytes = 4;

enum class Sign : std::uint8_t { none, kept };

std::int64_t part(std::uint32_t word, unsigned number, unsigned bits, Sign sign) {
  const std::uint32_t cut = word << (32 - bits * (number + 1)) >> (32 - bits);
  if (sign == Sign::none)
    return cut;
  return static_cast<std::int32_t>(cut << (32 - bits)) >> (32 - bits);
}

Sign sign_of(const Instruction& in, std::uint32_t flag) {
  return (in.flags & flag) != 0 ? Sign::kept : Sign::none;
}

Step dot_product_4(const Instruction& in, Thread& thread) {
  std::int64_t sum = get<std::int32_t>(thread, in.c);
  for (unsigned i = 0; i < 4; ++i)
    sum += part(get<std::uint32_t>(thread, in.a), i, 8, sign_of(in, a_signed)) *
           part(get<std::uint32_t>(thread, in.b), i, 8, sign_of(in, b_signed));
  put(thread, in.d, static_cast<std::uint32_t>(sum));
  return Step::next;
}

Step dot_product_2(const Instruction& in, Thread& thread) {
  const unsigned first = (in.flags & upper_bytes) != 0 ? 2 : 0;
  std::int64_t sum = get<std::int32_t>(thread, in.c);
  for (unsigned i = 0; i < 2; ++i)
    sum += part(get<std::uint32_t>(thread, in.a), i, 16, sign_of(in, a_signed)) *
           part(get<std::uint32_t>(thread, in.b), first + i, 8, sign_of(in, b_signed));
  put(thread, in.d, static_cast<std::uint32_t>(sum));
  return Step::next;
}

// The differences of the four bytes, without their signs. `flags` 1: added to c, else side by side.
Step difference_4(const Instruction& in, Thread& thread) {
  const auto a = get<std::uint32_t>(thread, in.a);
  const auto b = get<std::uint32_t>(thread, in.b);
  auto sum = get<std::uint32_t>(thread, in.c);
  std::uint32_t side_by_side = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const std::int64_t difference = part(a, i, 8, Sign::none) - part(b, i, 8, Sign::none);
    const auto magnitude = static_cast<std::uint32_t>(difference < 0 ? -difference : difference);
    sum += magnitude;
    side_by_side |= magnitude << (8 * i);
  }
  put(thread, in.d, in.flags != 0 ? sum : side_by_side);
  return Step::next;
}

// ---- decoding ----

void decode_dot(Decoding& in) {
  const bool four = in.statement().opcode == "dp4a";
  std::uint32_t flags = 0;
  if (!four)
    flags |= in.choose({"lo", "hi"}) == 1 ? upper_bytes : 0;
  flags |= in.take_type() == Type::s32 ? a_signed : 0;
  flags |= in.take_type() == Type::s32 ? b_signed : 0;
  in.emit(four ? dot_product_4 : dot_product_2, {.d = in.destination(Type::b32),
                                                 .a = in.source(Type::b32),
                                                 .b = in.source(Type::b32),
                                                 .c = in.source(Type::b32),
                                                 .flags = flags});
}

// vabsdiff4 of unsigned bytes: what the compiler emits of the video instructions.
void decode_difference(Decoding& in) {
  for (int i = 0; i < 3; ++i)
    (void)in.take_type();
  const std::uint32_t adds = in.take("add") ? 1 : 0;
  in.emit(difference_4, {.d = in.destination(Type::b32),
                         .a = in.source(Type::b32),
                         .b = in.source(Type::b32),
                         .c = in.source(Type::b32),
                         .flags = adds});
}

}  // namespace

void add_packed_bytes(DecodeTable& table) {
  table["dp4a"] = decode_dot;
  table["dp2a"] = decode_dot;
  table["vabsdiff4"] = decode_difference;
}

}  // namespace softcuda::ptx
