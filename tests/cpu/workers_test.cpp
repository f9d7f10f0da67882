#include "kernels/cpu/workers.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cfenv>
#include <csignal>
#include <filesystem>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "kernels/cpu/fake_quant_fp4.hpp"
#include "kernels/cpu/processor_set.hpp"
#include "kernels/cpu/tasks.hpp"
#include "tests/cpu/values.hpp"
#include "tests/support/threads.hpp"

namespace lyk::cpu::test {
namespace {

using lyk::test::StartedThreads;

int exit_code_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// For a child, which has none that has just ended and is still listed: in a namespace of its own
// they cannot be told by their names.
std::size_t threads_of_process() {
  const std::filesystem::directory_iterator tasks{"/proc/self/task"};
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// Returns when so many tasks have come here, to which only different threads can have brought them.
void meet(std::atomic<int>& come, int count) {
  ++come;
  come.notify_all();
  for (int seen = come; seen < count; seen = come)
    come.wait(seen);
}

TEST(Workers, EveryTaskIsDoneOnce) {
  for (const std::size_t threads : {1U, 2U, 7U}) {
    Workers workers{threads};
    for (const std::size_t tasks : {0U, 1U, 2U, 100U}) {
      std::vector<std::atomic<int>> done(tasks);
      workers.run(tasks, [&](std::size_t task, std::size_t) { ++done[task]; });
      for (const std::atomic<int>& times : done)
        EXPECT_EQ(times, 1);
    }
  }
}

TEST(Workers, NoThreadIsStartedBeforeThereIsSomethingToDivide) {
  const StartedThreads started;
  Workers workers{4};
  workers.run(1, [](std::size_t, std::size_t) {});
  EXPECT_EQ(started.count(), 0U);
  workers.run(2, [](std::size_t, std::size_t) {});
  EXPECT_EQ(started.count(), 3U);
}

TEST(Workers, SmallCallsStayOnTheThreadOfTheCaller) {
  Workers workers{4};
  const std::thread::id caller = std::this_thread::get_id();
  for_each_range({.count = divided_elements_min - 1}, workers,
                 [&](std::size_t first, std::size_t last) {
                   EXPECT_EQ(std::this_thread::get_id(), caller);
                   EXPECT_EQ(first, 0U);
                   EXPECT_EQ(last, divided_elements_min - 1);
                 });
}

TEST(Workers, TasksRunAtTheSameTimeUnderNumbersOfTheirOwn) {
  Workers workers{3};
  std::atomic<int> begun{0};
  std::mutex mutex;
  std::set<std::size_t> numbers;
  std::set<std::thread::id> threads;
  workers.run(3, [&](std::size_t, std::size_t worker) {
    meet(begun, 3);
    const std::lock_guard lock{mutex};
    numbers.insert(worker);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(numbers, (std::set<std::size_t>{0, 1, 2}));
  EXPECT_EQ(threads.size(), 3U);
}

TEST(Workers, CallsOfSeveralThreadsAreAllDone) {
  Workers workers{3};
  std::array<std::atomic<std::size_t>, 4> sums{};
  std::vector<std::thread> callers;
  callers.reserve(sums.size());
  for (std::atomic<std::size_t>& sum : sums)
    callers.emplace_back([&workers, &sum] {
      for (int round = 0; round < 200; ++round)
        workers.run(10, [&sum](std::size_t task, std::size_t) { sum += task; });
    });
  for (std::thread& caller : callers)
    caller.join();
  for (const std::atomic<std::size_t>& sum : sums)
    EXPECT_EQ(sum, 200U * 45U);
}

// Whichever threads take tasks: those that may are numbered anew in each call.
TEST(Workers, NumbersAreBelowThoseOfTasksAndOfThreads) {
  Workers workers{6};
  for (const Division division : {Division{6, 6}, Division{3, 6}, Division{40, 2}})
    for (int round = 0; round < 20; ++round) {
      std::array<std::atomic<int>, 6> at_work{};
      workers.run(division, [&](std::size_t, std::size_t worker) {
        ASSERT_LT(worker, division.workers());
        EXPECT_EQ(++at_work[worker], 1);
        std::this_thread::yield();
        --at_work[worker];
      });
    }
}

TEST(Workers, MayBecomeMoreAndFewer) {
  const StartedThreads started;
  Workers workers{1};
  workers.run(4, [](std::size_t, std::size_t) {});
  EXPECT_EQ(started.count(), 0U);
  workers.set_threads(3);
  workers.run(4, [](std::size_t, std::size_t) {});
  EXPECT_EQ(started.count(), 2U);
  workers.set_threads(2);
  // By twos, so that both are at work until the end, and a third would come to it.
  std::atomic<int> begun{0};
  workers.run(100, [&](std::size_t task, std::size_t worker) {
    EXPECT_LT(worker, 2U);
    meet(begun, static_cast<int>(task / 2 * 2 + 2));
  });
  EXPECT_EQ(begun, 100);
}

// The caller is pinned to one of them; the thread that it starts is not.
TEST(Workers, ThreadsRunOnTheProcessorsOfTheProcess) {
  const ProcessorSet of_process = ProcessorSet::of_process();
  if (of_process.count() == 1)
    GTEST_SKIP() << "this process has one processor";
  Workers workers{2};
  std::thread{[&] {
    lyk::test::pin_to_one_processor();
    std::atomic<int> begun{0};
    workers.run(2, [&](std::size_t, std::size_t worker) {
      meet(begun, 2);
      EXPECT_EQ(ProcessorSet::of_calling_thread() == of_process, worker != 0);
    });
  }}.join();
}

// So many that not even a list of them can be made.
TEST(Workers, CallsAreDoneWithoutThreadsWhereNoneCanBeStarted) {
  Workers workers{std::numeric_limits<std::size_t>::max()};
  for (int round = 0; round < 2; ++round) {
    std::size_t done = 0;
    workers.run(8, [&](std::size_t, std::size_t worker) {
      EXPECT_EQ(worker, 0U);
      ++done;
    });
    EXPECT_EQ(done, 8U);
  }
}

TEST(Workers, AChildOfForkStartsItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow threads into a child";
#endif
  Workers workers{3};
  workers.run(3, [](std::size_t, std::size_t) {});
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int> done{0};
    for (int round = 0; round < 3; ++round)
      workers.run(8, [&](std::size_t, std::size_t) { ++done; });
    ::_exit(done == 24 && threads_of_process() == 3 ? 0 : 1);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  std::atomic<int> done{0};
  workers.run(8, [&](std::size_t, std::size_t) { ++done; });
  EXPECT_EQ(done, 8);
}

constexpr int no_namespace = 77;

// What `body` returns in a process that is number 1 of a namespace of its own.
template <typename Body>
int exit_code_of_number_one(const Body& body) {
  const pid_t maker = ::fork();
  if (maker != 0)
    return exit_code_of(maker);
  if (::unshare(CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
    ::_exit(no_namespace);
  const pid_t number_one = ::fork();
  ::_exit(number_one == 0 ? body() : exit_code_of(number_one));
}

// As in a container whose first process makes another one.
TEST(Workers, AChildThatHasTheNumberOfItsParentStartsItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow threads into a child";
#endif
  Workers workers{3};
  const auto has_own_threads = [&] {
    workers.run(3, [](std::size_t, std::size_t) {});
    return ::getpid() == 1 && threads_of_process() == 3;
  };
  const int code = exit_code_of_number_one([&] {
    if (!has_own_threads())
      return 1;
    return exit_code_of_number_one([&] { return has_own_threads() ? 0 : 2; });
  });
  if (code == no_namespace)
    GTEST_SKIP() << "this process may make no namespaces";
  EXPECT_EQ(code, 0);
}

// A child that was forked by another thread in the middle of a call, whose locks it inherits.
TEST(Workers, AChildIsNotStuckInACallOfItsParent) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers do not allow a fork among threads";
#endif
  Workers workers{2};
  std::atomic<bool> is_running{false};
  std::atomic<bool> may_end{false};
  std::thread caller{[&] {
    workers.run(2, [&](std::size_t, std::size_t) {
      is_running = true;
      is_running.notify_all();
      may_end.wait(false);
    });
  }};
  is_running.wait(false);
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<int> done{0};
    workers.run(4, [&](std::size_t, std::size_t) { ++done; });
    ::_exit(done == 4 ? 0 : 1);
  }
  may_end = true;
  may_end.notify_all();
  caller.join();
  EXPECT_EQ(exit_code_of(child), 0);
}

TEST(Workers, ThreadsBlockAllSignalsButThoseOfAFault) {
  Workers workers{2};
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> begun{0};
  std::atomic<int> blocked{0};
  workers.run(2, [&](std::size_t, std::size_t) {
    meet(begun, 2);
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    if (std::this_thread::get_id() != caller)
      blocked = 1 * sigismember(&mask, SIGTERM) + 2 * sigismember(&mask, SIGINT) +
                4 * sigismember(&mask, SIGBUS) + 8 * sigismember(&mask, SIGSEGV);
  });
  EXPECT_EQ(blocked, 1 + 2);
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0);
}

// A host that rounds upwards, on the thread of the caller and on those that are started then.
TEST(StandardArithmetic, TheHostsRoundingChangesNothingAndIsPutBack) {
  const Floats x = values(200000, 61, 3);
  const slots::FakeQuantMxfp4 call{.x = x, .rows = 1, .columns = x.size()};
  Workers workers{3};
  Floats expected(x.size());
  fake_quant_mxfp4(call, expected, {.workers = workers});
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  Workers started_now{3};
  Floats output(x.size());
  fake_quant_mxfp4(call, output, {.workers = started_now});
  const int rounding = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(rounding, FE_UPWARD);
  expect_same(output, expected);
}

#if defined(__x86_64__)
TEST(StandardArithmetic, DenormalsAreKeptWhereTheHostFlushesThem) {
  constexpr unsigned flush = 0x8040;  // of results and of operands
  const Floats x(64, 1);
  const Floats grad_output(64, 0x1p-130F);
  const slots::FakeQuantNvfp4Weight call{
      .weight = x, .rows = 1, .columns = x.size(), .tensor_amax = 1};
  Workers workers{1};
  Floats expected(x.size());
  Floats gradient(x.size());
  fake_quant_nvfp4_weight_backward(call, grad_output, expected, {.workers = workers});
  ASSERT_GT(expected[0], 0x1p-131F);
  const unsigned before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | flush);
  fake_quant_nvfp4_weight_backward(call, grad_output, gradient, {.workers = workers});
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before);
  EXPECT_EQ(after & flush, flush);
  expect_same(gradient, expected);
}
#endif

}  // namespace
}  // namespace lyk::cpu::test
