#include "tests/fakes/softcuda/ptx/checks.hpp"

namespace softcuda::ptx {

namespace {

std::uint32_t block_threads(const Thread& thread) {
  return static_cast<std::uint32_t>(thread.block->run->launch->block.count());
}

// Whether the access of `earlier` is over for whoever `thread` is.
bool ordered(const Stamp& earlier, const Thread& thread, const Stamp& now) {
  if (earlier.thread == 0 || earlier.thread == now.thread)
    return true;
  if (is_strong(earlier.access) && is_strong(now.access))
    return true;
  const std::uint32_t index = earlier.thread - 1;
  const std::uint32_t threads = block_threads(thread);
  if (index / threads == thread.block->number) {
    if (earlier.barrier_epoch < now.barrier_epoch)
      return true;
    const bool same_warp = index % threads / warp_threads == thread.index / warp_threads;
    if (same_warp && earlier.warp_epoch < now.warp_epoch)
      return true;
  }
  return earlier.fences < thread.block->run->fences[index];
}

}  // namespace

Stamp Shadow::note(const Instruction& in,
                   const Thread& thread,
                   std::uint64_t offset,
                   Access access) {
  std::unique_ptr<Page>& page = pages_[offset / page_bytes];
  if (!page)
    page = std::make_unique<Page>();
  Byte& byte = (*page)[offset % page_bytes];
  const Stamp now{thread.block->number * block_threads(thread) + thread.index + 1,
                  thread.block->barrier_epoch,
                  thread.block->warp_epochs[thread.index / warp_threads],
                  thread.fences,
                  in.line,
                  access};
  Stamp race;
  if (!ordered(byte.written, thread, now))
    race = byte.written;
  if (!writes(access)) {
    if (byte.read.thread != now.thread)
      byte.read_before = byte.read;
    byte.read = now;
    return race;
  }
  for (const Stamp& read : {byte.read, byte.read_before})
    if (!ordered(read, thread, now))
      race = read;
  byte.written = now;
  return race;
}

void fence(Thread& thread) {
  ++thread.fences;
  std::vector<std::uint32_t>& all = thread.block->run->fences;
  if (!all.empty())
    all[thread.block->number * block_threads(thread) + thread.index] = thread.fences;
}

void Shadow::clear() {
  for (std::unique_ptr<Page>& page : pages_)
    page.reset();
}

}  // namespace softcuda::ptx
