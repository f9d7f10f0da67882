// The threads of the implementation `cpu`, from the first call on which needs them: as many as
// OMP_NUM_THREADS, the process's processors and its cgroup grant it then.
// Thread rule: safe from any thread, but the destructor. A child of fork starts its own.
#pragma once

#include <atomic>
#include <memory>

#include "kernels/cpu/granted_threads.hpp"
#include "kernels/cpu/workers.hpp"

namespace lyk::client {

class HostThreads {
public:
  HostThreads() = default;
  ~HostThreads() { const std::unique_ptr<cpu::Workers> ended{workers_.load()}; }
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;
  HostThreads(HostThreads&&) = delete;
  HostThreads& operator=(HostThreads&&) = delete;

  cpu::Workers& get() {
    cpu::Workers* known = workers_.load(std::memory_order_acquire);
    if (known != nullptr)
      return *known;
    // No lock, which a child of a fork in between would inherit: several may come here at once, and
    // one of them wins.
    auto made = std::make_unique<cpu::Workers>(cpu::granted_threads());
    if (!workers_.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel))
      return *known;
    return *made.release();
  }

private:
  std::atomic<cpu::Workers*> workers_{nullptr};
};

}  // namespace lyk::client
