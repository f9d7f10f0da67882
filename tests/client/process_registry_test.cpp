#include "client/process_registry.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "client/registry.hpp"
#include "tests/client/in_child.hpp"

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
    std::thread first{[] { (void)process_registry(); }};
    std::string wrong;
    for (int i = 0; i < 4 && wrong.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
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

TEST(ProcessRegistry, IsNotLockedInAChildOfAForkWhileItWas) {
  if constexpr (test::is_thread_sanitizer)
    GTEST_SKIP() << "the thread sanitizer cannot follow such a fork";
  const std::string said = test::in_child({}, []() -> std::string {
    process_registry().lock();
    std::thread other{[] {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      process_registry().unlock();
    }};
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

}  // namespace
}  // namespace lyk::client
