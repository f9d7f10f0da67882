// Whether a failed request is made again, and when: a pure function, tested by a table. Time and
// randomness are arguments.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "proto/error.hpp"
#include "proto/limits.hpp"

namespace lyk::fetcher {

// Whose answer it was: the Hub's own (or a mirror's), or that of another origin that it redirected
// to.
enum class Answerer { origin, elsewhere };

struct Failure {
  Code code = Code::network;  // of the transfer; remote_status if there was an answer
  int status = 0;             // 0: there was no answer
  Answerer answerer = Answerer::origin;
  std::string retry_after;  // the header, or empty
  std::string rate_limit;   // the header `RateLimit`, or empty
};

struct RetryState {
  int attempt = 1;  // the one that just failed, from 1
  int attempts_max = limits::attempts_max;
  std::chrono::system_clock::time_point now;
  double random = 0;  // evenly in [0, 1)
};

// How long to wait before the next attempt; nullopt: give up.
std::optional<std::chrono::milliseconds> retry_delay(const Failure& failure,
                                                     const RetryState& state);

// Whether an answer of this status may be another one a little later.
bool is_transient(int status);

// Seconds or an HTTP date, as a time from `now`, never negative; nullopt if it is neither.
std::optional<std::chrono::milliseconds> parse_retry_after(
    const std::string& value, std::chrono::system_clock::time_point now);

// The `t` of `RateLimit: "resolvers";r=0;t=172` if r is 0; nullopt if there is room left.
std::optional<std::chrono::seconds> parse_rate_limit(const std::string& value);

}  // namespace lyk::fetcher
