// Extended-precision arithmetic: the carry flag CC.CF that .cc instructions write and addc, subc
// and madc read.
#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/handover.hpp"

namespace softcuda::ptx {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint32_t reads_carry = 1;
constexpr std::uint32_t writes_carry = 2;
constexpr std::uint32_t high_half = 4;

template <typename T>
Step add_carry(const Instruction& in, Thread& thread) {
  const Wide carry = (in.flags & reads_carry) != 0 ? thread.carry : 0;
  const Wide sum = Wide{get<T>(thread, in.a)} + get<T>(thread, in.b) + carry;
  put(thread, in.d, static_cast<T>(sum));
  if ((in.flags & writes_carry) != 0)
    thread.carry = sum >> (8 * sizeof(T)) != 0 ? 1 : 0;
  return Step::next;
}

// a + ~b + carry, as the adder of a device does it: CC.CF is its carry, so 1 means that nothing was
// borrowed, and instructions that add and that subtract may follow each other.
template <typename T>
Step subtract_carry(const Instruction& in, Thread& thread) {
  const Wide carry = (in.flags & reads_carry) != 0 ? thread.carry : 1;
  const Wide sum = Wide{get<T>(thread, in.a)} + static_cast<T>(~get<T>(thread, in.b)) + carry;
  put(thread, in.d, static_cast<T>(sum));
  if ((in.flags & writes_carry) != 0)
    thread.carry = sum >> (8 * sizeof(T)) != 0 ? 1 : 0;
  return Step::next;
}

template <typename T, typename Signed>
Step mad_carry(const Instruction& in, Thread& thread) {
  __extension__ using SignedWide = __int128;
  const auto product =
      static_cast<Wide>(static_cast<SignedWide>(static_cast<Signed>(get<T>(thread, in.a))) *
                        static_cast<SignedWide>(static_cast<Signed>(get<T>(thread, in.b))));
  const auto half =
      static_cast<T>((in.flags & high_half) != 0 ? product >> (8 * sizeof(T)) : product);
  const Wide carry = (in.flags & reads_carry) != 0 ? thread.carry : 0;
  const Wide sum = Wide{half} + get<T>(thread, in.c) + carry;
  put(thread, in.d, static_cast<T>(sum));
  if ((in.flags & writes_carry) != 0)
    thread.carry = sum >> (8 * sizeof(T)) != 0 ? 1 : 0;
  return Step::next;
}

// Unsigned 64-bit products do not fit the signed type above.
template <>
Step mad_carry<std::uint64_t, std::uint64_t>(const Instruction& in, Thread& thread) {
  const Wide product = Wide{get<std::uint64_t>(thread, in.a)} * get<std::uint64_t>(thread, in.b);
  const auto half =
      static_cast<std::uint64_t>((in.flags & high_half) != 0 ? product >> 64 : product);
  const Wide carry = (in.flags & reads_carry) != 0 ? thread.carry : 0;
  const Wide sum = Wide{half} + get<std::uint64_t>(thread, in.c) + carry;
  put(thread, in.d, static_cast<std::uint64_t>(sum));
  if ((in.flags & writes_carry) != 0)
    thread.carry = sum >> 64 != 0 ? 1 : 0;
  return Step::next;
}

void emit_sum(Decoding& in, std::uint32_t flags) {
  const Type type = in.take_type();
  const bool subtracts = in.statement().opcode.starts_with("sub");
  const bool wide = bytes_of(type) == 8;
  const Instruction parts{
      .d = in.destination(type), .a = in.source(type), .b = in.source(type), .flags = flags};
  if (subtracts)
    in.emit(wide ? subtract_carry<std::uint64_t> : subtract_carry<std::uint32_t>, parts);
  else
    in.emit(wide ? add_carry<std::uint64_t> : add_carry<std::uint32_t>, parts);
}

void emit_product(Decoding& in, std::uint32_t flags) {
  const Type type = in.take_type();
  const Instruction parts{.d = in.destination(type),
                          .a = in.source(type),
                          .b = in.source(type),
                          .c = in.source(type),
                          .flags = flags};
  Execute execute = mad_carry<std::uint64_t, std::uint64_t>;
  if (type == Type::s64)
    execute = mad_carry<std::uint64_t, std::int64_t>;
  if (type == Type::u32)
    execute = mad_carry<std::uint32_t, std::uint32_t>;
  if (type == Type::s32)
    execute = mad_carry<std::uint32_t, std::int32_t>;
  in.emit(execute, parts);
}

void decode_addc(Decoding& in) {
  emit_sum(in, reads_carry | (in.take("cc") ? writes_carry : 0));
}

void decode_madc(Decoding& in) {
  const std::uint32_t flags = reads_carry | (in.choose({"lo", "hi"}) == 1 ? high_half : 0);
  emit_product(in, flags | (in.take("cc") ? writes_carry : 0));
}

}  // namespace

void decode_carry(Decoding& in) {
  emit_sum(in, writes_carry);
}

void decode_carry_product(Decoding& in, ProductHalf half) {
  emit_product(in, writes_carry | (half == ProductHalf::high ? high_half : 0));
}

void add_carry(DecodeTable& table) {
  table["addc"] = decode_addc;
  table["subc"] = decode_addc;
  table["madc"] = decode_madc;
}

}  // namespace softcuda::ptx
