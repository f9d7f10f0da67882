// cp.async: copies from global to shared memory that a thread starts and waits for later.
//
// A device may do such a copy at any time up to the wait. This one does it in the wait, as late as
// it may, so that code which forgets to wait finds the old bytes. Copies that nothing waits for are
// never done.
#include <algorithm>
#include <cstring>
#include <optional>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/memory_words.hpp"

namespace softcuda::ptx {

namespace {

// Instruction::flags, beside narrow_flag of the shared address.
constexpr std::uint32_t ignores_source = 1;  // where the predicate in slot `d` holds
constexpr std::uint32_t negated_flag = 2;    // of that predicate

// `a` and `constant`: the shared address; `list`: slots of the global address, of its offset, and
// of how many bytes come from there; `b`: how many there are, the others become zero.
Step start_copy(const Instruction& in, Thread& thread) {
  const std::uint32_t* const slots = thread.function->lists.data() + in.list;
  std::uint32_t source_bytes = std::min(get<std::uint32_t>(thread, slots[2]), in.b);
  const bool ignored = (thread.r[in.d] != 0) != ((in.flags & negated_flag) != 0);
  if ((in.flags & ignores_source) != 0 && ignored)
    source_bytes = 0;
  thread.copies.push_back({.at = &in,
                           .to = address_of(in, thread),
                           .from = thread.r[slots[0]] + thread.r[slots[1]],
                           .bytes = in.b,
                           .source_bytes = source_bytes,
                           .group = thread.copy_groups});
  return Step::next;
}

// False after a fault.
bool do_copy(const PendingCopy& copy, Thread& thread) {
  constexpr std::uint32_t bytes_max = 16;
  std::byte bytes[bytes_max] = {};
  if (copy.source_bytes != 0) {
    const std::byte* const from = reach<Space::global>(
        *copy.at, thread, {copy.from, copy.source_bytes, copy.bytes, Access::read});
    if (from == nullptr)
      return false;
    std::memcpy(bytes, from, copy.source_bytes);
  }
  std::byte* const to =
      reach<Space::shared>(*copy.at, thread, {copy.to, copy.bytes, copy.bytes, Access::write});
  if (to == nullptr)
    return false;
  std::memcpy(to, bytes, copy.bytes);
  return true;
}

// The copies of all groups before this one.
Step do_copies_before(std::uint32_t group, Thread& thread) {
  std::vector<PendingCopy>& copies = thread.copies;
  const auto end = std::ranges::find_if(
      copies, [group](const PendingCopy& copy) { return copy.group >= group; });
  for (auto copy = copies.begin(); copy != end; ++copy)
    if (!do_copy(*copy, thread))
      return Step::stop;
  copies.erase(copies.begin(), end);
  return Step::next;
}

Step commit_group(const Instruction& /*in*/, Thread& thread) {
  ++thread.copy_groups;
  return Step::next;
}

// `constant`: how many of the groups may still be on their way.
Step wait_group(const Instruction& in, Thread& thread) {
  const std::int64_t last = std::int64_t{thread.copy_groups} - in.constant;
  return last <= 0 ? Step::next : do_copies_before(static_cast<std::uint32_t>(last), thread);
}

Step wait_all(const Instruction& in, Thread& thread) {
  (void)commit_group(in, thread);
  return do_copies_before(thread.copy_groups, thread);
}

// ---- decoding ----

// 4, 8 or 16 bytes; those that pass the first cache by are 16.
std::uint32_t take_bytes(Decoding& in, bool passes_by) {
  const std::int64_t bytes = in.immediate().value_or(0);
  if (bytes != 16 && (passes_by || (bytes != 4 && bytes != 8)))
    in.fail(lyk::str("a copy of ", bytes, " bytes"));
  return static_cast<std::uint32_t>(bytes);
}

bool is_predicate(Decoding& in, const Operand& operand) {
  const std::optional<Symbol> symbol = in.function().find(operand.name);
  return operand.kind == OperandKind::name && symbol &&
         symbol->kind == SymbolKind::variable_register && symbol->type == Type::pred;
}

// The slot of how many bytes come from the source: the fourth operand says it, or whether none do.
std::uint32_t take_source_bytes(Decoding& in, Instruction& parts) {
  if (!is_predicate(in, *in.peek_operand()))
    return in.source(Type::u32);
  in.require({"", {7, 5}});
  parts.flags |= ignores_source;
  parts.d = in.predicate(parts.flags, negated_flag);
  return in.function().constant(parts.b);
}

void decode_copy(Decoding& in, bool passes_by) {
  (void)in.choose({"shared", "shared::cta"});
  const MemoryWords words = take_memory_words(in);  // global, and hints
  const AddressOperand to = in.address();
  const AddressOperand from = in.address();
  Instruction parts{.a = to.slot, .constant = to.offset};
  parts.flags = to.narrow ? narrow_flag : 0;
  parts.b = take_bytes(in, passes_by);
  std::uint32_t source_bytes = in.function().constant(parts.b);
  const std::size_t policies = words.has_policy ? 1 : 0;
  if (in.operands_left() > policies)
    source_bytes = take_source_bytes(in, parts);
  take_policy(in, words);
  const std::uint32_t slots[] = {
      from.slot, in.function().constant(static_cast<std::uint64_t>(from.offset)), source_bytes};
  parts.list = in.add_list(slots);
  in.emit(start_copy, parts);
}

void decode_async(Decoding& in) {
  (void)in.choose({"async"});
  if (in.take("commit_group"))
    in.emit(commit_group);
  else if (in.take("wait_all"))
    in.emit(wait_all);
  else if (in.take("wait_group"))
    in.emit(wait_group, {.constant = in.immediate().value_or(0)});
  else
    decode_copy(in, in.choose({"ca", "cg"}) == 1);
}

}  // namespace

void add_async_copy(DecodeTable& table) {
  table["cp"] = decode_async;
}

}  // namespace softcuda::ptx
