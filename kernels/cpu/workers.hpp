// The threads that large calls are divided among.
//
// Nothing is started before the first call that is worth dividing; then the threads stay, asleep,
// until the object dies, on the processors that the process had when they were started: a host's
// thread that is pinned to one of them starts them for all. The caller takes tasks like any of
// them, so a call never waits for a thread to wake up, only for those that have taken a task to
// finish it. Nobody spins. Tasks are claimed in order, and what a task is must not depend on the
// number of threads: then neither does the result.
//
// One call is divided at a time: a call that comes while another is running is done by its own
// thread alone, and so neither waits nor crowds the processors.
//
// A child of fork has none of its parent's threads; its first large call starts its own, and what
// the parent had is left as it is. The threads block all signals but those of their own faults: the
// host's other handlers run on the host's threads. They are joined by the destructor, so an object
// that lives as long as its process is best never destroyed: at exit sleeping threads hurt nobody,
// and another thread may be in run().
//
// Thread rule: all of it from any thread, but the destructor.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <type_traits>

namespace lyk::cpu {

// A view of a callable `void(std::size_t task, std::size_t worker)`, which must outlive it. Tasks
// do not throw and do not call run() of the workers that run them. `worker` is below
// Division::workers() and no two tasks have the same at one time.
class Task {
public:
  template <typename Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, Task>)
      // NOLINTNEXTLINE(google-explicit-constructor): a view, as string_view is
      Task(const Callable& callable)
      : callable_(&callable), call_([](const void* self, std::size_t task, std::size_t worker) {
          (*static_cast<const Callable*>(self))(task, worker);
        }) {}

  void operator()(std::size_t task, std::size_t worker) const { call_(callable_, task, worker); }

private:
  const void* callable_;
  void (*call_)(const void* self, std::size_t task, std::size_t worker);
};

// How one call is divided.
struct Division {
  std::size_t tasks = 0;
  std::size_t threads = 1;  // that may take them, the caller's included

  // How many can be at work at one time.
  std::size_t workers() const { return std::min(tasks, threads); }
};

class Workers {
public:
  // `threads` includes the caller's; 1 means that nothing is ever started.
  explicit Workers(std::size_t threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  Workers(Workers&&) = delete;
  Workers& operator=(Workers&&) = delete;

  std::size_t threads() const { return threads_.load(std::memory_order_relaxed); }
  // For calls that begin later. Threads that are too many stay, and stay asleep.
  void set_threads(std::size_t threads);

  // Calls `task` with 0 to tasks - 1, in any order and on several threads, and returns when all are
  // done. What they wrote is visible to the caller.
  void run(const Division& division, Task task);
  void run(std::size_t tasks, Task task) { run({.tasks = tasks, .threads = threads()}, task); }

private:
  struct Crew;

  Crew& crew_of_this_process();

  std::atomic<std::size_t> threads_;
  std::atomic<Crew*> crew_{nullptr};
};

}  // namespace lyk::cpu
