#include "kernels/cpu/workers.hpp"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/cpu/processor_set.hpp"
#include "kernels/cpu/standard_arithmetic.hpp"
#include "proto/check.hpp"
#include "proto/fork_mark.hpp"

namespace lyk::cpu {
namespace {

struct Job {
  Task task;
  std::size_t tasks = 0;
  std::size_t joiners_max = 0;  // threads beside the caller's that may take some
  std::size_t joined = 0;       // of those, so far; the mutex of the crew is held
  std::atomic<std::size_t> next{0};
};

void take_tasks(Job& job, std::size_t worker) {
  for (;;) {
    const std::size_t task = job.next.fetch_add(1, std::memory_order_relaxed);
    if (task >= job.tasks)
      return;
    job.task(task, worker);
  }
}

// Blocks signals while threads are started, which inherit the mask. Not those of a fault, which go
// to the thread at fault: were they blocked, the kernel would end the process past the host's
// handler.
class SignalsBlocked {
public:
  SignalsBlocked() {
    sigset_t blocked;
    (void)sigfillset(&blocked);  // none of these can fail for valid arguments
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
      (void)sigdelset(&blocked, fault);
    (void)pthread_sigmask(SIG_SETMASK, &blocked, &of_host_);
  }
  ~SignalsBlocked() { (void)pthread_sigmask(SIG_SETMASK, &of_host_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  SignalsBlocked(SignalsBlocked&&) = delete;
  SignalsBlocked& operator=(SignalsBlocked&&) = delete;

private:
  sigset_t of_host_{};
};

}  // namespace

// The threads of one process. Whoever has set `is_taken` may divide a job.
struct Workers::Crew {
  explicit Crew(Crew* of_parent) : inherited(of_parent) { mark.set(); }

  // Starts what is missing of `count` threads. A system that gives fewer, or no memory for them, is
  // worked with.
  void start(std::size_t count) noexcept;
  void divide(Job& divided);
  void stop();
  void work();

  // Whose it is: a number tells no process from its parent where each is the first of a namespace.
  ForkMark mark;
  // What the parent had when it forked, perhaps in the middle of a call: never looked at, and kept
  // only so that it is not taken for lost.
  Crew* const inherited;
  std::atomic<bool> is_taken{false};
  std::vector<std::thread> threads;  // belongs to whoever has set is_taken

  std::mutex mutex;  // of what follows
  std::condition_variable job_came;
  std::condition_variable last_left;
  Job* job = nullptr;
  std::uint64_t jobs = 0;   // so far: tells a thread whether it has seen this one
  std::size_t working = 0;  // threads that may still touch the job
  bool is_closing = false;
};

void Workers::Crew::start(std::size_t count) noexcept {
  if (threads.size() >= count)
    return;
  const SignalsBlocked guard;
  try {
    threads.reserve(count);
    // A thread inherits those of the one that starts it, which may be a single one.
    const ProcessorSet processors = ProcessorSet::of_process();
    const bool is_at_home = processors == ProcessorSet::of_calling_thread();
    while (threads.size() < count) {
      threads.emplace_back(&Crew::work, this);
      (void)pthread_setname_np(threads.back().native_handle(), "lyk-cpu");  // for people only
      if (!is_at_home)
        processors.confine(threads.back().native_handle());
    }
  } catch (const std::exception&) {
    return;  // system_error of a thread, bad_alloc or length_error of their list
  }
}

void Workers::Crew::work() {
  const StandardArithmetic arithmetic;
  std::unique_lock lock{mutex};
  for (std::uint64_t seen = 0;;) {
    job_came.wait(lock, [&] {
      return is_closing || (job != nullptr && jobs != seen && job->joined < job->joiners_max);
    });
    if (is_closing)
      return;
    seen = jobs;
    Job& taken = *job;
    const std::size_t worker = ++taken.joined;  // the caller is 0
    ++working;
    lock.unlock();
    take_tasks(taken, worker);
    lock.lock();
    if (--working == 0)
      last_left.notify_one();
  }
}

void Workers::Crew::divide(Job& divided) {
  {
    const std::lock_guard lock{mutex};
    job = &divided;
    ++jobs;
  }
  // One by one: a job with few tasks need not wake everybody.
  const std::size_t wanted = std::min(threads.size(), divided.joiners_max);
  for (std::size_t i = 0; i < wanted; ++i)
    job_came.notify_one();
  take_tasks(divided, 0);
  std::unique_lock lock{mutex};
  job = nullptr;  // a thread that wakes up only now finds nothing
  last_left.wait(lock, [&] { return working == 0; });
}

void Workers::Crew::stop() {
  {
    const std::lock_guard lock{mutex};
    is_closing = true;
  }
  job_came.notify_all();
  for (std::thread& thread : threads)
    thread.join();
}

Workers::Workers(std::size_t threads) : threads_(threads) {
  LYK_CHECK(threads > 0);
}

void Workers::set_threads(std::size_t threads) {
  LYK_CHECK(threads > 0);
  threads_.store(threads, std::memory_order_relaxed);
}

Workers::~Workers() {
  Crew* crew = crew_.load();
  // The threads of a parent can be neither joined nor forgotten here: its crew is left alone.
  if (crew == nullptr || crew->mark.is_inherited())
    return;
  crew->stop();
  const std::unique_ptr<Crew> stopped{crew};
}

Workers::Crew& Workers::crew_of_this_process() {
  Crew* crew = crew_.load();
  if (crew != nullptr && !crew->mark.is_inherited())
    return *crew;
  auto fresh = std::make_unique<Crew>(crew);
  // Several threads may come here at once: one of them wins.
  if (!crew_.compare_exchange_strong(crew, fresh.get()))
    return *crew;
  return *fresh.release();
}

void Workers::run(const Division& division, Task task) {
  Job job{.task = task, .tasks = division.tasks};
  if (division.workers() > 1) {
    job.joiners_max = division.workers() - 1;
    Crew& crew = crew_of_this_process();
    if (!crew.is_taken.exchange(true, std::memory_order_acquire)) {
      crew.start(division.threads - 1);
      crew.divide(job);
      crew.is_taken.store(false, std::memory_order_release);
      return;
    }
  }
  take_tasks(job, 0);
}

}  // namespace lyk::cpu
