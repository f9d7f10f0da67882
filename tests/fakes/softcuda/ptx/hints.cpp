// What tells the caches of coming accesses. There are none here: it changes nothing that a program
// could see, but operands must be right.
#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/memory_words.hpp"

namespace softcuda::ptx {

namespace {

// A policy is opaque: a number that no program could mistake for one of its own.
constexpr std::uint64_t some_policy = 0x16f0'0000'0000'0000;

Step make_policy(const Instruction& in, Thread& thread) {
  put(thread, in.d, some_policy);
  return Step::next;
}

// prefetch{.space}.level [a], prefetchu.L1 [a], applypriority{.global}.L2::evict_normal [a], 128.
void decode_hint(Decoding& in) {
  (void)take_memory_words(in);
  (void)in.take_one_of({"L1", "L2"});  // a level with a policy is one of the memory words
  (void)in.address();
  if (in.statement().opcode == "applypriority" && in.immediate() != 128)
    in.fail("a priority is that of 128 bytes");
}

// createpolicy.fractional d{, fraction}; .range d, [a], bytes, bytes; .cvt d, property.
void decode_createpolicy(Decoding& in) {
  const std::size_t kind = in.choose({"fractional", "range", "cvt"});
  (void)take_memory_words(in);
  (void)in.take("L2");
  (void)in.take_type();
  const Instruction parts{.d = in.destination(Type::b64)};
  if (kind == 1) {
    (void)in.address();
    (void)in.source(Type::u32);
    (void)in.source(Type::u32);
  } else if (kind == 2) {
    (void)in.source(Type::b64);
  } else if (in.operands_left() > 0) {
    (void)in.source(Type::f32);
  }
  in.emit(make_policy, parts);
}

}  // namespace

void add_hints(DecodeTable& table) {
  table["prefetch"] = decode_hint;
  table["prefetchu"] = decode_hint;
  table["applypriority"] = decode_hint;
  table["createpolicy"] = decode_createpolicy;
}

}  // namespace softcuda::ptx
