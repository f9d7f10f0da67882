// Waiting for a flight on behalf of a connection: until it is done, the time is over, or the caller
// has gone. Thread rule: a call belongs to its connection's thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "daemon/connection.hpp"
#include "daemon/flights.hpp"
#include "fetcher/progress.hpp"

namespace lyk::daemon {

enum class WaitEnd { done, deadline, caller_gone };

struct Waiting {
  std::optional<std::chrono::steady_clock::time_point> deadline;  // absent: as long as it takes
  // Called for every step of every file since the last look, with its latest bytes. Looks are
  // limits::progress_period apart, and one is at the end. May be empty.
  std::function<void(const fetcher::Progress&)> on_progress;
};

WaitEnd wait_for_flight(const Flights::Ticket& ticket,
                        const Connection& connection,
                        const Waiting& waiting);

}  // namespace lyk::daemon
