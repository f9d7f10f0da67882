#include "daemon/process.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <utility>
#include <vector>

namespace lyk::daemon {
namespace {

// Signals and limits belong to a process, so each test looks at them in a child.
template <typename Body>
void in_a_child(Body body) {
  EXPECT_EXIT(
      {
        body();
        ::_exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(Process, SignalsComeAsWishes) {
  in_a_child([] {
    const auto signals = take_signals();
    ASSERT_TRUE(signals);
    EXPECT_EQ(read_wish(signals->get(), Keyboard::stops_us), Wish::none);
    const std::vector<std::pair<int, Wish>> rows{
        {SIGTERM, Wish::stop}, {SIGINT, Wish::stop}, {SIGHUP, Wish::reload}};
    for (const auto& [number, wish] : rows) {
      ASSERT_EQ(::raise(number), 0);
      EXPECT_EQ(read_wish(signals->get(), Keyboard::stops_us), wish) << number;
    }
  });
}

TEST(Process, WhatIsTypedIsForTheCallerOfAPrivateInstance) {
  in_a_child([] {
    const auto signals = take_signals();
    ASSERT_TRUE(signals);
    const std::vector<std::pair<int, Wish>> rows{
        {SIGTERM, Wish::stop}, {SIGINT, Wish::none}, {SIGHUP, Wish::none}};
    for (const auto& [number, wish] : rows) {
      ASSERT_EQ(::raise(number), 0);
      EXPECT_EQ(read_wish(signals->get(), Keyboard::is_our_callers), wish) << number;
    }
  });
}

TEST(Process, BeforeSignalsAreTakenAWishToStopEndsIt) {
  for (const Keyboard keyboard : {Keyboard::stops_us, Keyboard::is_our_callers})
    EXPECT_EXIT(
        {
          hold_other_signals(keyboard);
          (void)::raise(SIGTERM);
        },
        ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(
      {
        hold_other_signals(Keyboard::stops_us);
        (void)::raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

TEST(Process, WhatIsNoWishToStopWaitsUntilSignalsAreTaken) {
  in_a_child([] {
    hold_other_signals(Keyboard::stops_us);
    ASSERT_EQ(::raise(SIGHUP), 0);
    const auto signals = take_signals();
    ASSERT_TRUE(signals);
    EXPECT_EQ(read_wish(signals->get(), Keyboard::stops_us), Wish::reload);
  });
  in_a_child([] {
    hold_other_signals(Keyboard::is_our_callers);
    ASSERT_EQ(::raise(SIGHUP), 0);
    ASSERT_EQ(::raise(SIGINT), 0);
  });
}

TEST(Process, DescriptorsAreRaisedToFit) {
  in_a_child([] {
    ::rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 64;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(make_room_for_connections(100), 100U);
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_GE(limit.rlim_cur, 100U);
  });
}

TEST(Process, FewerConnectionsFitUnderAHardLimit) {
  in_a_child([] {
    ASSERT_TRUE(::geteuid() != 0 || ::setuid(65534) == 0);  // root may raise a hard limit
    ::rlimit limit{.rlim_cur = 64, .rlim_max = 64};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(make_room_for_connections(4096), 32U);
  });
}

}  // namespace
}  // namespace lyk::daemon
