#include "fetcher/retry.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lyk::fetcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Sun, 06 Nov 1994 08:49:37 GMT
const std::chrono::system_clock::time_point now{seconds{784111777}};

Failure transfer(Code code) {
  return Failure{code, 0, Answerer::origin, {}, {}};
}

Failure answer(int status, std::string retry_after = {}, std::string rate_limit = {}) {
  return Failure{Code::remote_status, status, Answerer::origin, std::move(retry_after),
                 std::move(rate_limit)};
}

struct Case {
  const char* what;
  Failure failure;
  int attempt;
  double random;
  std::optional<milliseconds> delay;
};

TEST(Retry, WaitsAsItsTableSays) {
  Failure cdn = answer(403);
  cdn.answerer = Answerer::elsewhere;
  const std::vector<Case> cases{
      {"first failure of the network", transfer(Code::network), 1, 0, milliseconds{250}},
      {"the same with other dice", transfer(Code::network), 1, 0.5, milliseconds{375}},
      {"second", transfer(Code::network), 2, 0, milliseconds{500}},
      {"third", transfer(Code::timeout), 3, 0, milliseconds{1000}},
      {"fourth", transfer(Code::timeout), 4, 0, milliseconds{2000}},
      {"fifth is the last", transfer(Code::network), 5, 0, std::nullopt},
      {"wrong size once more", transfer(Code::size_mismatch), 1, 0, milliseconds{250}},
      {"wrong size twice", transfer(Code::size_mismatch), 2, 0, std::nullopt},
      {"wrong bytes once more", transfer(Code::digest_mismatch), 1, 0, milliseconds{250}},
      {"wrong bytes twice", transfer(Code::digest_mismatch), 2, 0, std::nullopt},
      {"no proper HTTP", transfer(Code::protocol), 1, 0, std::nullopt},
      {"told to stop", transfer(Code::cancelled), 1, 0, std::nullopt},
      {"no trust", transfer(Code::refused), 1, 0, std::nullopt},
      {"disk full", transfer(Code::no_space), 1, 0, std::nullopt},
      {"408", answer(408), 1, 0, milliseconds{250}},
      {"429", answer(429), 1, 0, milliseconds{250}},
      {"500", answer(500), 1, 0, milliseconds{250}},
      {"502", answer(502), 1, 0, milliseconds{250}},
      {"503", answer(503), 1, 0, milliseconds{250}},
      {"504", answer(504), 1, 0, milliseconds{250}},
      {"400", answer(400), 1, 0, std::nullopt},
      {"401", answer(401), 1, 0, std::nullopt},
      {"404", answer(404), 1, 0, std::nullopt},
      {"501", answer(501), 1, 0, std::nullopt},
      {"507", answer(507), 1, 0, std::nullopt},
      {"403 of the Hub", answer(403), 1, 0, std::nullopt},
      {"403 of a signed link: a new link at once", cdn, 1, 0, milliseconds{0}},
      {"403 of the third signed link", cdn, 3, 0, std::nullopt},
      {"Retry-After in seconds", answer(503, "7"), 1, 0, milliseconds{7000}},
      {"the same, spread", answer(503, "7"), 1, 0.5, milliseconds{7500}},
      {"Retry-After of nothing", answer(503, "0"), 1, 0, milliseconds{250}},
      {"Retry-After as a date", answer(429, "Sun, 06 Nov 1994 08:49:47 GMT"), 1, 0,
       milliseconds{10000}},
      {"Retry-After in the past", answer(429, "Sun, 06 Nov 1994 08:49:00 GMT"), 1, 0,
       milliseconds{250}},
      {"Retry-After of an hour", answer(429, "3600"), 1, 0, std::nullopt},
      {"Retry-After of a year", answer(429, "Mon, 06 Nov 1995 08:49:37 GMT"), 1, 0, std::nullopt},
      {"Retry-After that is neither", answer(429, "soon"), 1, 0, milliseconds{250}},
      {"a window that is used up", answer(429, "", "\"resolvers\";r=0;t=9"), 1, 0,
       milliseconds{10000}},
      {"the window beats Retry-After", answer(429, "2", "\"api\";r=0;t=4"), 1, 0,
       milliseconds{5000}},
      {"a window with room", answer(429, "3", "\"resolvers\";r=10;t=9"), 1, 0, milliseconds{3000}},
      {"a window of an hour", answer(429, "", "\"resolvers\";r=0;t=3600"), 1, 0, std::nullopt},
  };
  for (const Case& each : cases) {
    RetryState state;
    state.attempt = each.attempt;
    state.now = now;
    state.random = each.random;
    EXPECT_EQ(retry_delay(each.failure, state), each.delay) << each.what;
  }
}

TEST(Retry, TheDelayIsBoundedHoweverManyAttempts) {
  RetryState state;
  state.attempt = 1000;
  state.attempts_max = 2000;
  state.random = 1;
  EXPECT_EQ(retry_delay(transfer(Code::network), state), limits::retry_delay_max);
}

TEST(Retry, ReadsBothFormsOfRetryAfter) {
  EXPECT_EQ(parse_retry_after("120", now), seconds{120});
  EXPECT_EQ(parse_retry_after(" 5 ", now), seconds{5});
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), seconds{60});
  for (const char* bad : {"", "-1", "1.5", "99999999999999999999", "Sun, 06 Nov 1994 08:49:37",
                          "Sunday, 06-Nov-94", "Sun, 31 Feb 1994 08:49:37 GMT",
                          "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Xxx 1994 08:49:37 GMT"})
    EXPECT_EQ(parse_retry_after(bad, now), std::nullopt) << bad;
}

TEST(Retry, ReadsTheRateLimitHeader) {
  EXPECT_EQ(parse_rate_limit("\"resolvers\";r=0;t=172"), seconds{172});
  EXPECT_EQ(parse_rate_limit("\"resolvers\"; r=0; t=1"), seconds{1});
  for (const char* none : {"", "\"resolvers\";r=1;t=172", "\"resolvers\";r=0", "r=x;t=1", ";;;"})
    EXPECT_EQ(parse_rate_limit(none), std::nullopt) << none;
}

}  // namespace
}  // namespace lyk::fetcher
