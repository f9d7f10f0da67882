// Tells a process from the children that it forks, without a system call: a mark that children see
// and that says whether it was set by them or by an ancestor. A driver that was used before a fork
// works in no child, threads are not there, and every call has to know.
// Thread rule: safe from any thread, also in a child of a process with many.
#pragma once

#include <sys/types.h>

#include <atomic>

namespace lyk {

class ForkMark {
public:
  ForkMark();
  ~ForkMark();
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;
  ForkMark(ForkMark&&) = delete;
  ForkMark& operator=(ForkMark&&) = delete;

  void set() noexcept;
  // True in every descendant of the process that has called set().
  bool is_inherited() const noexcept;

private:
  // One byte in memory that the kernel wipes in a child, however it was made; null where the kernel
  // cannot do that, and then the process's number must do. Both are set while others ask.
  std::atomic<unsigned char>* alive_ = nullptr;
  std::atomic<pid_t> owner_ = 0;
  std::atomic<bool> is_set_{false};
};

}  // namespace lyk
