#include "client/process_registry.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "client/registry.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/quantization_call.hpp"

namespace lyk::client {
namespace {

// So many variables that reading them takes a while, which is when the process forks.
std::vector<char*> large_environment() {
  static std::array<char, 40> variable{"A_VARIABLE_THAT_NEEDS_THE_HEAP=1"};
  std::vector<char*> out(400'000, variable.data());
  out.push_back(nullptr);
  return out;
}

TEST(ProcessRegistry, WorksInAChildThatWasForkedDuringTheFirstCall) {
  if constexpr (test::is_thread_sanitizer)
    GTEST_SKIP() << "the thread sanitizer cannot follow such a fork";
  if constexpr (test::is_address_sanitizer)
    GTEST_SKIP() << test::forks_among_threads;
  const std::string said = test::in_child({}, []() -> std::string {
    std::vector<char*> variables = large_environment();
    ::environ = variables.data();
    std::atomic<bool> has_begun{false};
    std::thread first{[&] {
      has_begun = true;
      has_begun.notify_one();
      (void)process_registry();
    }};
    has_begun.wait(false);
    std::string wrong;
    for (int i = 0; i < 4 && wrong.empty(); ++i) {
      wrong = test::in_child({}, []() -> std::string {
        (void)::alarm(20);  // ends a child that waits for a thread which it does not have
        return process_registry().states("ms_deform_attn").size() == 3 ? ""
                                                                       : "something is missing";
      });
    }
    first.join();
    return wrong;
  });
  EXPECT_EQ(said, "");
}

TEST(ProcessRegistry, IsOneForThreadsThatComeAtOnce) {
  const std::string said = test::in_child({}, []() -> std::string {
    std::array<Registry*, 8> seen{};
    std::vector<std::thread> threads;
    for (Registry*& registry : seen)
      threads.emplace_back([&registry] { registry = &process_registry(); });
    for (std::thread& thread : threads)
      thread.join();
    for (const Registry* registry : seen)
      if (registry != seen[0])
        return "there are two";
    return {};
  });
  EXPECT_EQ(said, "");
}

// Whether a thread waits for something, as "S" behind its name says.
bool is_waiting(pid_t thread) {
  std::ifstream file{"/proc/self/task/" + std::to_string(thread) + "/stat"};
  std::string line;
  std::getline(file, line);
  const auto state = line.rfind(')') + 2;
  return state < line.size() && line[state] == 'S';
}

std::atomic<bool> fork_has_begun{false};

TEST(ProcessRegistry, IsNotLockedInAChildOfAForkWhileItWas) {
  if constexpr (test::is_thread_sanitizer)
    GTEST_SKIP() << "the thread sanitizer cannot follow such a fork";
  const std::string said = test::in_child({}, []() -> std::string {
    // Handlers that came last run first: before the library's own, which has to wait.
    if (::pthread_atfork([] { fork_has_begun = true; }, nullptr, nullptr) != 0)
      return "there is no handler";
    const pid_t forking = ::gettid();
    std::atomic<bool> is_locked{false};
    std::thread other{[&] {
      process_registry().lock();
      is_locked = true;
      is_locked.notify_one();
      while (!fork_has_begun || !is_waiting(forking))
        std::this_thread::yield();
      process_registry().unlock();
    }};
    is_locked.wait(false);
    const std::string wrong = test::in_child({}, []() -> std::string {
      (void)::alarm(20);
      process_registry().set_message_callback(nullptr, nullptr);
      return process_registry().reload({}) ? "" : "the environment is refused";
    });
    other.join();
    return wrong;
  });
  EXPECT_EQ(said, "");
}

// The first of `cpu` after an environment was read: it asks how many threads there may be.
bool read_environment_and_call() {
  test::QuantizationCall call{"fake_quant_fp8"};
  call.add({8}, test::Floats(8, 1));
  call.add({1}, {1});
  call.add_output({8});
  return process_registry().reload({}) && process_registry().call(call.slot, call.arguments());
}

// A call holds the lock of the threads and no other while it asks. Some of so many forks come upon
// that.
TEST(ProcessRegistry, WorksInAChildThatWasForkedWhileThreadsWereDecided) {
  if constexpr (test::is_thread_sanitizer)
    GTEST_SKIP() << "the thread sanitizer cannot follow such a fork";
  if constexpr (test::is_address_sanitizer)
    GTEST_SKIP() << test::forks_among_threads;
  const std::string said = test::in_child({}, []() -> std::string {
    if (!read_environment_and_call())
      return "the call fails";
    std::atomic<bool> is_over{false};
    std::thread other{[&] {
      while (!is_over)
        (void)read_environment_and_call();  // seen in the children
    }};
    std::string wrong;
    for (int i = 0; i < 32 && wrong.empty(); ++i)
      wrong = test::in_child({}, []() -> std::string {
        (void)::alarm(20);
        return read_environment_and_call() ? "" : "the call fails";
      });
    is_over = true;
    other.join();
    return wrong;
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::client
