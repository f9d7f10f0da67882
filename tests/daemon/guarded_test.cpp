#include "daemon/guarded.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace lyk::daemon {
namespace {

TEST(Guarded, ThreadsDoNotLoseEachOthersChanges) {
  Guarded<int> count;
  std::array<std::thread, 4> threads;
  for (std::thread& thread : threads)
    thread = std::thread{[&count] {
      for (int n = 0; n < 1000; ++n)
        ++*count.lock();
    }};
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(*count.lock(), 4000);
}

TEST(Guarded, AWaitEndsWhenThePredicateHolds) {
  Guarded<int> value;
  std::condition_variable changed;
  std::thread setter([&] {
    const auto locked = value.lock();
    *locked = 7;
    changed.notify_all();
  });
  auto locked = value.lock();
  locked.wait(changed, [](int now) { return now == 7; });
  EXPECT_EQ(*locked, 7);
  setter.join();
}

TEST(Guarded, AWaitEndsAtItsDeadline) {
  Guarded<int> value;
  std::condition_variable changed;
  EXPECT_FALSE(value.lock().wait_until(changed, std::chrono::steady_clock::now(),
                                       [](int now) { return now == 7; }));
}

}  // namespace
}  // namespace lyk::daemon
