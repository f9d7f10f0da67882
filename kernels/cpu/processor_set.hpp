// The processors that the system lets a thread run on.
//
// "The processors of a process" are those of its first thread: what a launcher, taskset or a
// container gave the process, and what it may have set for itself since. Its other threads may each
// be pinned to one of them, and speak for themselves only.
//
// Thread rule: values; the functions are safe from any thread.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <vector>

namespace lyk::cpu {

class ProcessorSet {
public:
  // Empty where the system does not tell.
  static ProcessorSet of_process();
  static ProcessorSet of_calling_thread();

  std::size_t count() const;
  bool operator==(const ProcessorSet& other) const;

  // Lets a thread of this process run on these and no others. Where the system does not allow it,
  // the thread stays where it is.
  void confine(pthread_t thread) const;

private:
  static ProcessorSet of(pid_t thread);
  std::size_t bytes() const { return parts_.size() * sizeof(cpu_set_t); }

  std::vector<cpu_set_t> parts_;
};

}  // namespace lyk::cpu
