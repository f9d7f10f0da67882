#include "daemon/waiting.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <climits>

#include "proto/limits.hpp"

namespace lyk::daemon {
namespace {

using std::chrono::steady_clock;

// How long poll may sleep: to the deadline, and no longer than to the next look at the progress.
int sleep_ms(const Waiting& waiting) {
  std::chrono::milliseconds sleep{-1};
  if (waiting.deadline)
    sleep = std::max(
        std::chrono::ceil<std::chrono::milliseconds>(*waiting.deadline - steady_clock::now()),
        std::chrono::milliseconds{0});
  if (waiting.on_progress && (sleep.count() < 0 || sleep > limits::progress_period))
    sleep = limits::progress_period;
  return static_cast<int>(std::min<std::chrono::milliseconds::rep>(sleep.count(), INT_MAX));
}

}  // namespace

WaitEnd wait_for_flight(const Flights::Ticket& ticket,
                        const Connection& connection,
                        const Waiting& waiting) {
  std::uint64_t told = 0;
  const auto tell_news = [&] {
    if (!waiting.on_progress)
      return;
    for (const Flights::Ticket::News& news : ticket.news_after(told)) {
      if (connection.is_broken)
        return;
      waiting.on_progress(news.progress);
      told = news.number;
    }
  };
  std::array<::pollfd, 2> fds{
      ::pollfd{ticket.done_fd(), POLLIN, 0},
      ::pollfd{connection.channel.fd(), 0, 0}};  // hang-up is always reported
  while (true) {
    const int ready = ::poll(fds.data(), fds.size(), sleep_ms(waiting));
    if (ready > 0 && fds[0].revents != 0) {
      tell_news();
      return WaitEnd::done;
    }
    if ((ready > 0 && fds[1].revents != 0) || connection.is_broken)
      return WaitEnd::caller_gone;
    tell_news();
    if (waiting.deadline && steady_clock::now() >= *waiting.deadline)
      return WaitEnd::deadline;
  }
}

}  // namespace lyk::daemon
