// The race check: who last wrote and who last read each byte, and whether something orders the
// accesses of two threads.
//
// Ordered are: accesses of one thread; of threads of one block with a barrier between; of threads
// of one warp with a warp operation (__syncwarp, a shuffle, a vote) between; and whatever the
// earlier thread published with a fence, or with an instruction that acts as one, after its access.
// Everything else that touches one byte, at least one writing and not both strong (atomic,
// volatile, relaxed and stronger), is a race.
//
// A barrier for a part of a block and a warp operation for a part of a warp count for the whole,
// and a fence counts whoever reads: the check may miss a race, and never reports one that is none.
//
// Thread rule: one Shadow belongs to one run.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/fakes/softcuda/ptx/state.hpp"

namespace softcuda::ptx {

// An atomic operation is a strong write that reads as well.
enum class Access : std::uint8_t { read, write, strong_read, strong_write, atomic };

[[nodiscard]] constexpr bool writes(Access access) {
  return access == Access::write || access == Access::strong_write || access == Access::atomic;
}
[[nodiscard]] constexpr bool is_strong(Access access) {
  return access == Access::strong_read || access == Access::strong_write ||
         access == Access::atomic;
}

// One access to one byte. `thread` counts through the grid, from 1; 0 is nobody.
struct Stamp {
  std::uint32_t thread = 0;
  std::uint32_t barrier_epoch = 0;
  std::uint32_t warp_epoch = 0;
  std::uint32_t fences = 0;
  std::uint32_t line = 0;
  Access access = Access::read;
};

// What a thread did before is published: later accesses of others do not race with it.
void fence(Thread& thread);

class Shadow {
public:
  explicit Shadow(std::uint64_t bytes) : pages_((bytes + page_bytes - 1) / page_bytes) {}

  // Notes an access and returns the earlier one that it races with; a Stamp of nobody if none.
  Stamp note(const Instruction& in, const Thread& thread, std::uint64_t offset, Access access);
  // A new block: shared memory starts afresh.
  void clear();

private:
  static constexpr std::uint64_t page_bytes = 1024;
  // The last reads of two different threads: a writer is another thread than at least one.
  struct Byte {
    Stamp written;
    Stamp read;
    Stamp read_before;
  };
  using Page = std::array<Byte, page_bytes>;

  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace softcuda::ptx
