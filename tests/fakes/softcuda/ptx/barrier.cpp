// Barriers of a block, and fences. The threads wait here; scheduler.cpp lets them go on.
#include "proto/text.hpp"
#include "tests/fakes/softcuda/ptx/checks.hpp"
#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/handover.hpp"

namespace softcuda::ptx {

namespace {

// `a`: the barrier's number, `b`: how many threads, 0 for all. `c`: the predicate of bar.red.
constexpr std::uint32_t negated_flag = 1;

Step arrive_at(const Instruction& in, Thread& thread) {
  thread.barrier = get<std::uint32_t>(thread, in.a);
  thread.barrier_count = get<std::uint32_t>(thread, in.b);
  if (thread.barrier >= barriers_max)
    return fail(in, thread, FaultKind::illegal_instruction,
                lyk::str("barrier ", thread.barrier, " of ", barriers_max));
  if (thread.barrier_count % warp_threads != 0)
    return fail(in, thread, FaultKind::illegal_instruction,
                lyk::str("barrier for ", thread.barrier_count, " threads: no whole warps"));
  return Step::next;
}

Step wait_at_barrier(const Instruction& in, Thread& thread) {
  if (arrive_at(in, thread) == Step::stop)
    return Step::stop;
  thread.state = ThreadState::at_barrier;
  thread.waits_at = &in;
  return Step::stop;
}

Step arrive_only(const Instruction& in, Thread& thread) {
  if (arrive_at(in, thread) == Step::stop)
    return Step::stop;
  ++thread.block->barriers[thread.barrier].arrived_early;
  return Step::next;
}

Step do_fence(const Instruction& /*in*/, Thread& thread) {
  fence(thread);
  return Step::next;
}

std::uint32_t holding(const Instruction& in, std::span<Thread* const> members) {
  std::uint32_t count = 0;
  for (const Thread* member : members)
    count += (member->r[in.c] != 0) != ((in.flags & negated_flag) != 0) ? 1 : 0;
  return count;
}

void count_holding(const Instruction& in, std::span<Thread* const> members) {
  const std::uint32_t count = holding(in, members);
  for (Thread* const member : members)
    member->r[in.d] = count;
}
void all_hold(const Instruction& in, std::span<Thread* const> members) {
  const bool all = holding(in, members) == members.size();
  for (Thread* const member : members)
    member->r[in.d] = all ? 1 : 0;
}
void any_holds(const Instruction& in, std::span<Thread* const> members) {
  const bool any = holding(in, members) != 0;
  for (Thread* const member : members)
    member->r[in.d] = any ? 1 : 0;
}

// ---- decoding ----

// The barrier and how many threads it is for; what a number says must be right already here.
void take_barrier(Decoding& in, Instruction& parts, std::size_t operands_after) {
  const auto exceeds = [&](auto is_wrong) {
    const Operand* const operand = in.peek_operand();
    return operand != nullptr && operand->kind == OperandKind::integer && is_wrong(operand->bits);
  };
  if (exceeds([](std::uint64_t number) { return number >= barriers_max; }))
    in.fail(lyk::str("barrier ", in.peek_operand()->bits, " of ", barriers_max));
  parts.a = in.source(Type::u32);
  parts.b = in.function().constant(0);
  if (in.operands_left() == operands_after)
    return;
  if (exceeds([](std::uint64_t threads) { return threads % warp_threads != 0; }))
    in.fail(lyk::str("a barrier for ", in.peek_operand()->bits, " threads: no whole warps"));
  parts.b = in.source(Type::u32);
}

void decode_reduction(Decoding& in) {
  const std::size_t operation = in.choose({"popc", "and", "or"});
  (void)in.take("aligned");
  constexpr Complete completes[] = {count_holding, all_hold, any_holds};
  const Type type = in.take_type();
  Instruction parts{.complete = completes[operation], .d = in.destination(type)};
  take_barrier(in, parts, 1);
  parts.c = in.predicate(parts.flags, negated_flag);
  in.emit(wait_at_barrier, parts);
}

// bar{.cta}.sync and barrier{.cta}.sync{.aligned}, .arrive, .red; bar.warp.sync is warp.cpp's.
void decode_bar(Decoding& in) {
  if (in.take("warp"))
    return decode_warp_barrier(in);
  (void)in.take("cta");
  const std::size_t kind = in.choose({"sync", "arrive", "red"});
  if (kind == 2)
    return decode_reduction(in);
  (void)in.take("aligned");
  Instruction parts;
  take_barrier(in, parts, 0);
  in.emit(kind == 0 ? wait_at_barrier : arrive_only, parts);
}

// Of whatever kind and scope: all threads see one memory here.
void decode_fence(Decoding& in) {
  while (!in.next_word().empty())
    in.skip_word();
  in.emit(do_fence);
}

}  // namespace

void add_barrier(DecodeTable& table) {
  table["bar"] = decode_bar;
  table["barrier"] = decode_bar;
  table["membar"] = decode_fence;
  table["fence"] = decode_fence;
}

}  // namespace softcuda::ptx
