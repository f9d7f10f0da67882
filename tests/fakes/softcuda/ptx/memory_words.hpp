// The words that loads, stores and atomic operations share: strength, scope, state space, caching.
//
// Thread rule: as decode.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/fakes/softcuda/ptx/access.hpp"

namespace softcuda::ptx {

class Decoding;
struct AddressOperand;

struct MemoryWords {
  std::optional<Space> space;  // nothing: generic, or what the address names
  bool is_parameter = false;   // .param: which of the two spaces the address tells
  bool strong = false;         // volatile, relaxed and stronger: no race with another strong one
  bool orders = false;         // acquire, release: acts as a fence, too
  bool has_policy = false;     // an operand with a cache policy follows
};

// Takes all of them, as far as they come next.
[[nodiscard]] MemoryWords take_memory_words(Decoding& in);

// The space of an access, from its words and its address.
[[nodiscard]] Space space_of(Decoding& in, const MemoryWords& words, const AddressOperand& address);

// Instruction::flags of all accesses: the address is cut to 32 bits.
inline constexpr std::uint32_t narrow_flag = 1U << 31;

// The address of an access whose base is in `a` and whose offset is `constant`.
[[nodiscard]] inline Address address_of(const Instruction& in, const Thread& thread) {
  const Address sum = thread.r[in.a] + static_cast<std::uint64_t>(in.constant);
  return (in.flags & narrow_flag) != 0 ? static_cast<std::uint32_t>(sum) : sum;
}

// Takes the operand of a cache policy, if the words announced one.
void take_policy(Decoding& in, const MemoryWords& words);

// From a Space to a template's instance: pick_space(space, []<Space s>() { return f<s>; }).
template <typename Pick>
[[nodiscard]] auto pick_space(Space space, Pick pick) {
  switch (space) {
    case Space::global:
      return pick.template operator()<Space::global>();
    case Space::shared:
      return pick.template operator()<Space::shared>();
    case Space::local:
      return pick.template operator()<Space::local>();
    case Space::kernel_parameter:
      return pick.template operator()<Space::kernel_parameter>();
    case Space::frame_parameter:
      return pick.template operator()<Space::frame_parameter>();
    case Space::generic:
      break;
  }
  return pick.template operator()<Space::generic>();
}

}  // namespace softcuda::ptx
