#include "kernels/cpu/processor_set.hpp"

#include <unistd.h>

namespace lyk::cpu {

ProcessorSet ProcessorSet::of(pid_t thread) {
  // The system call says by an error that the machine has more processors than the set holds.
  constexpr std::size_t processors_max = 65536;
  ProcessorSet set;
  for (std::size_t count = 1024; count <= processors_max; count *= 2) {
    set.parts_.assign(count / (8 * sizeof(cpu_set_t)), cpu_set_t{});
    if (::sched_getaffinity(thread, set.bytes(), set.parts_.data()) == 0)
      return set;
  }
  return {};
}

ProcessorSet ProcessorSet::of_process() {
  return of(::getpid());
}

ProcessorSet ProcessorSet::of_calling_thread() {
  return of(0);
}

std::size_t ProcessorSet::count() const {
  return static_cast<std::size_t>(CPU_COUNT_S(bytes(), parts_.data()));
}

bool ProcessorSet::operator==(const ProcessorSet& other) const {
  return bytes() == other.bytes() && CPU_EQUAL_S(bytes(), parts_.data(), other.parts_.data());
}

void ProcessorSet::confine(pthread_t thread) const {
  (void)::pthread_setaffinity_np(thread, bytes(), parts_.data());  // see above
}

}  // namespace lyk::cpu
