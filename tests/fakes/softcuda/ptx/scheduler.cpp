#include "tests/fakes/softcuda/ptx/scheduler.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "proto/text.hpp"

namespace softcuda::ptx {

namespace {

void run_turn(Thread& thread) {
  Run& run = *thread.block->run;
  for (std::uint32_t i = 0; i < turn_instructions; ++i) {
    const Instruction& in = thread.code[thread.pc++];
    if (run.instructions_left-- == 0) [[unlikely]] {
      run.instructions_left = 0;
      (void)fail(in, thread, FaultKind::timeout,
                 lyk::str("more than ", run.launch->instructions_max, " instructions"));
      return;
    }
    if ((thread.r[in.guard] ^ in.guard_inverted) != 0 && in.execute(in, thread) == Step::stop)
      return;
  }
}

std::span<Thread> warp_of(Block& block, std::uint32_t warp) {
  const std::size_t first = std::size_t{warp} * warp_threads;
  return std::span{block.threads}.subspan(
      first, std::min<std::size_t>(warp_threads, block.threads.size() - first));
}

void go_on(std::span<Thread* const> members) {
  for (Thread* const member : members) {
    member->state = ThreadState::ready;
    member->waits_at = nullptr;
  }
}

// ---- warp operations ----

// Whether two threads wait for the same thing: the same instruction, or any two plain warp
// barriers.
bool wait_together(const Thread& one, const Thread& other) {
  return one.members == other.members &&
         (one.waits_at == other.waits_at ||
          (one.waits_at->execute == other.waits_at->execute && one.waits_at->complete == nullptr &&
           other.waits_at->complete == nullptr));
}

// Those who wait for the same thing as `thread`; empty if some of its members are not there yet. A
// thread that waits for anyone goes on with those who are there when nobody else can run.
std::vector<Thread*> gathered(std::span<Thread> warp, const Thread& thread) {
  std::vector<Thread*> out;
  for (std::uint32_t lane = 0; lane < warp.size(); ++lane) {
    Thread& other = warp[lane];
    const bool named = (thread.members >> lane & 1) != 0;
    const bool here = other.state == ThreadState::at_warp_operation && wait_together(thread, other);
    if (here && (named || thread.members == 0))
      out.push_back(&other);
    else if (named && other.state != ThreadState::exited)
      return {};
  }
  return out;
}

// True if some threads of the warp can go on.
bool complete_warp_operation(Block& block, std::uint32_t number) {
  const std::span<Thread> warp = warp_of(block, number);
  for (const Thread& thread : warp) {
    if (thread.state != ThreadState::at_warp_operation)
      continue;
    const std::vector<Thread*> members = gathered(warp, thread);
    if (members.empty())
      continue;
    const Instruction& in = *thread.waits_at;
    if (in.complete != nullptr)
      in.complete(in, members);
    if (thread.members != 0)
      ++block.warp_epochs[number];
    go_on(members);
    return true;
  }
  return false;
}

// A turn for each thread of a warp that can run, and again after each warp operation. True if any
// ran.
bool run_warp(Block& block, std::uint32_t number, std::span<const std::uint32_t> lanes) {
  const std::span<Thread> warp = warp_of(block, number);
  bool ran = false;
  bool turn_over = false;
  do {
    for (const std::uint32_t lane : lanes) {
      if (lane >= warp.size() || warp[lane].state != ThreadState::ready)
        continue;
      ran = true;
      run_turn(warp[lane]);
      if (block.run->fault)
        return true;
      turn_over = turn_over || warp[lane].state == ThreadState::ready;
    }
  } while (!turn_over && complete_warp_operation(block, number));
  return ran;
}

// ---- barriers ----

// Lets the threads at a barrier go on if all are there. True if they do.
bool complete_barrier(Block& block, std::uint32_t number) {
  std::vector<Thread*> waiting;
  std::uint32_t live = 0;
  for (Thread& thread : block.threads) {
    live += thread.state != ThreadState::exited ? 1 : 0;
    if (thread.state == ThreadState::at_barrier && thread.barrier == number)
      waiting.push_back(&thread);
  }
  if (waiting.empty())
    return false;
  // Threads that give different counts, or wait in different ways, never meet.
  const Thread& first = *waiting[0];
  for (const Thread* thread : waiting)
    if (thread->barrier_count != first.barrier_count ||
        thread->waits_at->complete != first.waits_at->complete)
      return false;
  Barrier& barrier = block.barriers[number];
  const std::uint32_t wanted = first.barrier_count != 0 ? first.barrier_count : live;
  if (waiting.size() + barrier.arrived_early < wanted)
    return false;
  barrier.arrived_early = 0;
  ++block.barrier_epoch;
  // Each by its own instruction: the code of a barrier may exist twice.
  if (first.waits_at->complete != nullptr)
    first.waits_at->complete(*first.waits_at, waiting);
  go_on(waiting);
  return true;
}

bool complete_barriers(Block& block) {
  bool any = false;
  for (std::uint32_t number = 0; number < barriers_max; ++number)
    any = complete_barrier(block, number) || any;
  return any;
}

std::string describe_waiting(const Block& block) {
  std::string out;
  std::uint32_t exited = 0;
  // The first thread at each place.
  std::vector<const Instruction*> seen;
  for (const Thread& thread : block.threads) {
    exited += thread.state == ThreadState::exited ? 1 : 0;
    if (thread.state == ThreadState::exited || std::ranges::count(seen, thread.waits_at) != 0)
      continue;
    seen.push_back(thread.waits_at);
    const auto count = std::ranges::count(block.threads, thread.waits_at, &Thread::waits_at);
    out += lyk::str(out.empty() ? "" : ", ", count, " wait at ptx line ", thread.waits_at->line);
  }
  return lyk::str("threads wait for others that never come: ", out, ", ", exited, " have exited");
}

void report_standstill(Block& block) {
  const auto waiting = std::ranges::find_if(
      block.threads, [](const Thread& thread) { return thread.state != ThreadState::exited; });
  (void)fail(*waiting->waits_at, *waiting, FaultKind::divergent_barrier, describe_waiting(block));
}

bool all_exited(const Block& block) {
  return std::ranges::all_of(
      block.threads, [](const Thread& thread) { return thread.state == ThreadState::exited; });
}

}  // namespace

void run_block(Block& block, Mixer& mixer) {
  std::vector<std::uint32_t> warps(block.warp_epochs.size());
  std::iota(warps.begin(), warps.end(), 0);
  std::vector<std::uint32_t> lanes(warp_threads);
  std::iota(lanes.begin(), lanes.end(), 0);
  const bool mixed = block.run->launch->seed != 0;
  while (true) {
    if (mixed) {
      shuffle(warps, mixer);
      shuffle(lanes, mixer);
    }
    bool ran = false;
    for (const std::uint32_t warp : warps) {
      ran = run_warp(block, warp, lanes) || ran;
      if (block.run->fault)
        return;
    }
    if (complete_barriers(block) || ran)
      continue;
    if (!all_exited(block))
      report_standstill(block);
    return;
  }
}

}  // namespace softcuda::ptx
