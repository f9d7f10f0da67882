// The state of a running kernel: the run, its current block, the block's threads. Execute functions
// see it through their thread.
//
// Thread rule: all of it belongs to the one host thread that called run().
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/fakes/softcuda/ptx/fault.hpp"
#include "tests/fakes/softcuda/ptx/program.hpp"
#include "tests/fakes/softcuda/ptx/run.hpp"

namespace softcuda::ptx {

class Shadow;  // who touched which byte, checks.hpp

// Where generic addresses of the other state spaces begin. Each is an offset into its space.
inline constexpr Address shared_window = 0x00e0'0000'0000'0000;
inline constexpr Address local_window = 0x00e1'0000'0000'0000;
inline constexpr Address parameter_window = 0x00e2'0000'0000'0000;
inline constexpr Address code_window = 0x00e3'0000'0000'0000;  // functions, 16 bytes each
inline constexpr std::uint64_t window_bytes = 0x0000'0001'0000'0000;

[[nodiscard]] constexpr bool is_shared(Address generic) {
  return generic - shared_window < window_bytes;
}

inline constexpr std::uint32_t warp_threads = 32;
inline constexpr std::uint32_t barriers_max = 16;
// A device thread may have 512 KiB of local memory.
inline constexpr std::uint32_t local_bytes_max = 512 * 1024;
inline constexpr std::uint32_t frames_max = 4096;

// Consecutive bytes of one state space.
struct Region {
  Address base = 0;
  std::uint64_t bytes = 0;
  std::byte* content = nullptr;
  std::uint8_t* written = nullptr;  // null: not tracked
  Shadow* shadow = nullptr;         // null: not tracked
};

struct Frame {
  const Function* function;
  std::uint32_t return_to;  // index in the caller's code
  std::uint32_t slots;      // where its parts begin in the thread's
  std::uint32_t local;
  std::uint32_t parameters;
};

enum class ThreadState : std::uint8_t { ready, at_barrier, at_warp_operation, exited };

struct Block;

// A copy of cp.async that is not done yet.
struct PendingCopy {
  const Instruction* at;
  Address to;    // in shared memory
  Address from;  // in global memory
  std::uint32_t bytes;
  std::uint32_t source_bytes;  // the others become zero
  std::uint32_t group;
};

struct Thread {
  std::uint64_t* r = nullptr;  // the slots of the current frame
  const Function* function = nullptr;
  const Instruction* code = nullptr;  // of the function
  std::uint32_t pc = 0;               // the next instruction
  ThreadState state = ThreadState::ready;

  // What it waits for, if it waits: the instruction and its evaluated operands.
  const Instruction* waits_at = nullptr;
  std::uint32_t barrier = 0;
  std::uint32_t barrier_count = 0;  // 0: all threads of the block
  std::uint32_t members = 0;        // lanes of a warp operation; 0: whoever comes along

  Block* block = nullptr;
  std::uint32_t index = 0;  // in the block
  Dimensions place;         // threadIdx
  std::uint32_t carry = 0;  // CC.CF of the extended-precision instructions

  // Order of memory accesses, for the race check.
  std::uint32_t fences = 0;

  std::vector<std::uint64_t> slots;
  std::vector<std::byte> local;
  std::vector<std::uint8_t> local_written;
  std::vector<std::byte> parameters;  // of device function calls
  std::vector<Frame> frames;
  std::vector<PendingCopy> copies;  // in the order in which they were started
  std::uint32_t copy_groups = 0;    // committed so far
};

struct Barrier {
  std::uint32_t arrived_early = 0;  // by bar.arrive, which does not wait
};

struct Run;

struct Block {
  Run* run = nullptr;
  Dimensions place;  // blockIdx
  std::uint32_t number = 0;
  Region shared;
  std::vector<Thread> threads;
  std::array<Barrier, barriers_max> barriers{};
  std::uint32_t barrier_epoch = 0;         // how often a barrier has let threads go on
  std::vector<std::uint32_t> warp_epochs;  // likewise for each warp
};

struct Run {
  const Program* program = nullptr;
  const std::vector<std::vector<std::uint64_t>>* images = nullptr;  // with addresses filled in
  const Kernel* kernel = nullptr;
  const Launch* launch = nullptr;
  std::vector<Region> global;    // by address
  std::vector<Region*> nearest;  // for each site: where its last access went
  std::vector<std::byte> parameters;
  std::uint64_t instructions_left = 0;
  std::uint64_t gridid = 0;
  std::vector<std::uint32_t> fences;  // of each thread of the grid, when races are looked for
  std::optional<Fault> fault;
};

// Registers hold little-endian values in their low bytes.
template <typename T>
[[nodiscard]] T get(const Thread& thread, std::uint32_t slot) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  T value;
  std::memcpy(&value, thread.r + slot, sizeof(T));
  return value;
}

template <typename T>
void put(Thread& thread, std::uint32_t slot, T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  thread.r[slot] = bits;
}

// Ends the run with a fault of this thread: adds where it happened to `what`.
Step fail(const Instruction& in, Thread& thread, FaultKind kind, std::string_view what);

// Starts a thread in a function without caller: the kernel.
void start(Thread& thread, std::uint32_t function);

}  // namespace softcuda::ptx
