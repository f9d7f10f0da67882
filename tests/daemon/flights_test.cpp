#include "daemon/flights.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "daemon/guarded.hpp"
#include "proto/limits.hpp"

namespace lyk::daemon {
namespace {

fetcher::FetchReport report() {
  return {.origin = {.type = RepoType::kernel,
                     .repo = RepoId::parse("ns/name").value(),
                     .commit = GitId{}},
          .proof = cache::ProofKind::git,
          .visibility = cache::Visibility::open,
          .files = {},
          .downloaded_bytes = 7,
          .adopted_bytes = 0,
          .warnings = {},
          .archs = {}};
}

// Work that lasts until the test lets it go, or until it is cancelled.
class Gate {
public:
  FlightPlan plan(const std::string& key, uid_t uid = 1) {
    return {.key = key,
            .slot = "slot_" + key,
            .uid = uid,
            .work = [this](const fetcher::ProgressCallback& progress,
                           const fetcher::CancelToken& cancel) {
              ++runs;
              progress({.step = fetcher::Step::downloading, .file = "a", .bytes_done = 5});
              // Under the lock: else it might come between the look at `cancel` and the wait.
              const std::stop_callback wake(cancel, [this] {
                const std::lock_guard lock(mutex_);
                changed_.notify_all();
              });
              std::unique_lock lock(mutex_);
              changed_.wait(lock, [&] { return open_ || cancel.stop_requested(); });
              if (cancel.stop_requested()) {
                ++cancelled;
                return FlightResult{Error{Code::cancelled, "stopped"}};
              }
              return FlightResult{report()};
            }};
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  std::atomic<int> runs{0};
  std::atomic<int> cancelled{0};

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

constexpr int test_patience_ms = 30'000;

bool is_done(const Flights::Ticket& ticket, int timeout_ms = test_patience_ms) {
  ::pollfd fd{ticket.done_fd(), POLLIN, 0};
  return ::poll(&fd, 1, timeout_ms) == 1;
}

TEST(Flights, ManyWhoWantOneThingShareOneFlight) {
  Gate gate;
  Flights flights(16);
  std::vector<Flights::Ticket> tickets;
  for (uid_t uid = 0; uid < 50; ++uid)
    tickets.push_back(flights.join(gate.plan("a", uid)).value());
  EXPECT_EQ(flights.running(), 1U);
  EXPECT_FALSE(is_done(tickets.front(), 0));
  EXPECT_EQ(tickets.front().result(), nullptr);
  gate.open();
  for (const Flights::Ticket& ticket : tickets) {
    ASSERT_TRUE(is_done(ticket));
    ASSERT_NE(ticket.result(), nullptr);
    EXPECT_EQ((*ticket.result())->downloaded_bytes, 7U);
  }
  EXPECT_EQ(gate.runs, 1);
}

TEST(Flights, DifferentThingsFlyAtOnce) {
  Gate gate;
  Flights flights(16);
  const auto a = flights.join(gate.plan("a"));
  const auto b = flights.join(gate.plan("b"));
  EXPECT_EQ(flights.running(), 2U);
  EXPECT_TRUE(flights.is_running("slot_a"));
  EXPECT_FALSE(flights.is_running("slot_c"));
  gate.open();
  flights.wait_until_idle();
  EXPECT_EQ(gate.runs, 2);
  EXPECT_FALSE(flights.is_running("slot_a"));
}

TEST(Flights, TheLastToLeaveCancels) {
  Gate gate;
  Flights flights(16);
  {
    auto first = flights.join(gate.plan("a"));
    { const auto second = flights.join(gate.plan("a")); }
    EXPECT_EQ(flights.running(), 1U);  // the first still waits
  }
  flights.wait_until_idle();
  EXPECT_EQ(gate.cancelled, 1);
}

TEST(Flights, AFlightThatGoesOnOutlivesItsTickets) {
  Gate gate;
  Flights flights(16);
  {
    const auto ticket = flights.join(gate.plan("a"));
    ticket->go_on();
  }
  EXPECT_EQ(flights.running(), 1U);
  const auto later = flights.join(gate.plan("a"));  // joins it
  gate.open();
  ASSERT_TRUE(is_done(*later));
  EXPECT_TRUE(later->result()->has_value());
  EXPECT_EQ(gate.runs, 1);
  EXPECT_EQ(gate.cancelled, 0);
}

TEST(Flights, WhatRunsCanBeJoinedWithoutAPlan) {
  Gate gate;
  Flights flights(16);
  EXPECT_FALSE(flights.join_running("a"));
  std::optional<Flights::Ticket> second;
  {
    const auto first = flights.join(gate.plan("a"));
    second = flights.join_running("a");
    ASSERT_TRUE(second);
  }
  EXPECT_EQ(flights.running(), 1U);  // the second still waits
  gate.open();
  ASSERT_TRUE(is_done(*second));
  EXPECT_TRUE(second->result()->has_value());
}

TEST(Flights, NobodyJoinsWhatIsBeingCancelled) {
  Gate gate;
  Flights flights(16);
  { const auto ticket = flights.join(gate.plan("a")); }
  gate.open();
  const auto next = flights.join(gate.plan("a"));
  ASSERT_TRUE(is_done(*next));
  EXPECT_TRUE(next->result()->has_value());
}

TEST(Flights, AFinishedFlightIsForgotten) {
  Gate gate;
  gate.open();
  Flights flights(16);
  const auto first = flights.join(gate.plan("a"));
  ASSERT_TRUE(is_done(*first));
  const auto second = flights.join(gate.plan("a"));
  ASSERT_TRUE(is_done(*second));
  EXPECT_EQ(gate.runs, 2);
  EXPECT_TRUE(first->result()->has_value());  // who holds a ticket keeps the result
}

TEST(Flights, OneUserCannotTakeAllPlaces) {
  Gate gate;
  Flights flights(2);
  const auto a = flights.join(gate.plan("a", 1));
  const auto b = flights.join(gate.plan("b", 1));
  const auto c = flights.join(gate.plan("c", 1));
  ASSERT_FALSE(c);
  EXPECT_EQ(c.error().code, Code::busy);
  EXPECT_EQ(c.error().message,
            "fetch: user 1 has 2 fetches running, and no more may at once; wait for one to end");
  EXPECT_TRUE(flights.join(gate.plan("a", 1)));  // joining takes no place
  EXPECT_TRUE(flights.join(gate.plan("c", 2)));
  gate.open();
}

// Tells these steps, and ends when it is let go.
FlightPlan telling(std::vector<fetcher::Progress> steps, Gate& gate) {
  FlightPlan plan = gate.plan("a");
  plan.work = [steps = std::move(steps), work = std::move(plan.work)](
                  const fetcher::ProgressCallback& progress, const fetcher::CancelToken& cancel) {
    for (const fetcher::Progress& step : steps)
      progress(step);
    return work([](const fetcher::Progress&) {}, cancel);
  };
  return plan;
}

fetcher::Progress step_of(const char* file, std::uint64_t bytes) {
  return {.step = fetcher::Step::downloading, .file = file, .bytes_done = bytes};
}

std::string text_of(const std::vector<Flights::Ticket::News>& all) {
  std::string text;
  for (const Flights::Ticket::News& news : all)
    text += news.progress.file + std::to_string(news.progress.bytes_done) + ' ';
  return text;
}

TEST(Flights, NewsHasEveryStepOfEveryFileAndTheLatestBytesOfEach) {
  Gate gate;
  gate.open();
  Flights flights(16);
  const auto ticket = flights.join(telling(
      {step_of("", 0), step_of("a", 1), step_of("a", 2), step_of("b", 3), step_of("b", 4)}, gate));
  ASSERT_TRUE(is_done(*ticket));
  const std::vector<Flights::Ticket::News> all = ticket->news_after(0);
  EXPECT_EQ(text_of(all), "0 a2 b4 ");
  EXPECT_EQ(text_of(ticket->news_after(all[1].number)), "b4 ");
  EXPECT_TRUE(ticket->news_after(all[2].number).empty());
}

TEST(Flights, NewsOfManyFilesIsBounded) {
  Gate gate;
  gate.open();
  Flights flights(16);
  std::vector<fetcher::Progress> steps;
  for (std::size_t i = 0; i < limits::flight_news_max + 10; ++i)
    steps.push_back(step_of(i % 2 == 0 ? "a" : "b", i));
  const auto ticket = flights.join(telling(steps, gate));
  ASSERT_TRUE(is_done(*ticket));
  const std::vector<Flights::Ticket::News> all = ticket->news_after(0);
  ASSERT_EQ(all.size(), limits::flight_news_max);
  EXPECT_EQ(all.back().progress.bytes_done, steps.back().bytes_done);
}

TEST(Flights, WhoJoinsLateHearsWhatIsBeingDoneNow) {
  Gate gate;
  Flights flights(16);
  const auto first = flights.join(telling({step_of("a", 1), step_of("b", 2)}, gate));
  ASSERT_TRUE(first);
  while (gate.runs == 0)
    std::this_thread::yield();  // the steps are told before that
  const auto late = flights.join_running("a");
  ASSERT_TRUE(late);
  EXPECT_EQ(text_of(first->news_after(0)), "a1 b2 ");
  EXPECT_EQ(text_of(late->news_after(0)), "b2 ");
  gate.open();
}

TEST(Flights, AForeignExceptionIsAnInternalError) {
  Flights flights(16);
  const auto ticket = flights.join(
      {.key = "a",
       .slot = "a",
       .uid = 1,
       .work = [](const fetcher::ProgressCallback&, const fetcher::CancelToken&) -> FlightResult {
         throw std::runtime_error("out of luck");
       }});
  ASSERT_TRUE(is_done(*ticket));
  ASSERT_FALSE(ticket->result()->has_value());
  EXPECT_EQ(ticket->result()->error().code, Code::internal);
  EXPECT_EQ(ticket->result()->error().message, "fetch a: out of luck");
}

TEST(Flights, ClosingLetsWaitersHaveTheirTimeAndCancelsTheRest) {
  Gate gate;
  Flights flights(16);
  const auto waited_for = flights.join(gate.plan("a"));
  {
    const auto left = flights.join(gate.plan("b"));
    left->go_on();
  }
  flights.close(std::chrono::steady_clock::now());
  flights.wait_until_idle();
  EXPECT_EQ(gate.cancelled, 2);
  const auto late = flights.join(gate.plan("c"));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::busy);
}

TEST(Flights, ClosingDoesNotCancelWhatEndsInTime) {
  Gate gate;
  Flights flights(16);
  const auto ticket = flights.join(gate.plan("a"));
  gate.open();
  flights.close(std::chrono::steady_clock::now() + std::chrono::milliseconds{test_patience_ms});
  EXPECT_EQ(gate.cancelled, 0);
  EXPECT_TRUE(ticket->result()->has_value());
}

TEST(Flights, ATicketIsMovedNotCopied) {
  Gate gate;
  Flights flights(16);
  auto a = flights.join(gate.plan("a")).value();
  auto b = flights.join(gate.plan("b")).value();
  a = std::move(b);  // the flights change places, and nobody has left yet
  EXPECT_EQ(flights.running(), 2U);
  gate.open();
  EXPECT_TRUE(is_done(a));
}

}  // namespace
}  // namespace lyk::daemon
