// The threads of the implementation `cpu`: as many as OMP_NUM_THREADS, the process's processors and
// its cgroup grant. The variable is what the environment was when it was last read; the system is
// asked by the first call of `cpu` after that, small as it may be and whichever thread makes it,
// and by that of a child of fork, which starts its own.
// Thread rule: safe from any thread, but the destructor.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>

#include "kernels/cpu/granted_threads.hpp"
#include "kernels/cpu/workers.hpp"
#include "proto/fork_mark.hpp"

namespace lyk::client {

class HostThreads {
public:
  // What the environment wishes, whenever it is read.
  void set_wish(std::optional<std::size_t> threads) {
    const std::lock_guard lock{mutex_};
    wish_ = threads;
    is_decided_.store(false, std::memory_order_release);
  }

  cpu::Workers& get() {
    if (is_decided()) [[likely]]
      return workers_;
    const std::lock_guard lock{mutex_};
    if (!is_decided()) {
      workers_.set_threads(cpu::granted_threads(wish_));
      decided_here_.set();
      is_decided_.store(true, std::memory_order_release);
    }
    return workers_;
  }

  // Around a fork, so that the child does not inherit a locked mutex.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

private:
  bool is_decided() const {
    return is_decided_.load(std::memory_order_acquire) && !decided_here_.is_inherited();
  }

  std::mutex mutex_;  // of what is written here
  std::optional<std::size_t> wish_;
  std::atomic<bool> is_decided_{false};
  ForkMark decided_here_;  // not by the parent that this process is a copy of
  cpu::Workers workers_{1};
};

}  // namespace lyk::client
