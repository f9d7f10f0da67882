#include "fetcher/retry.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "fetcher/white_space.hpp"

namespace lyk::fetcher {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

// Wrong bytes may come from one bad machine behind a load balancer: worth a second try, not a
// fifth.
constexpr int mismatch_attempts_max = 2;
// A signed link that expired on the way: the next attempt asks the Hub for a new one.
constexpr int link_attempts_max = 3;

template <typename Number>
std::optional<Number> parse_number(std::string_view digits) {
  Number number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || digits.front() == '-' || parsed.ec != std::errc{} ||
      parsed.ptr != digits.data() + digits.size())
    return std::nullopt;
  return number;
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the one form that senders must use (RFC 9110 section 5.6.7).
std::optional<system_clock::time_point> parse_http_date(std::string_view text) {
  static constexpr std::array<std::string_view, 12> months{
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text.substr(25) != " GMT" || text[19] != ':' || text[22] != ':')
    return std::nullopt;
  const auto day = parse_number<unsigned>(text.substr(5, 2));
  const auto* month = std::find(months.begin(), months.end(), text.substr(8, 3));
  const auto year = parse_number<int>(text.substr(12, 4));
  const auto hour = parse_number<int>(text.substr(17, 2));
  const auto minute = parse_number<int>(text.substr(20, 2));
  const auto second = parse_number<int>(text.substr(23, 2));
  if (!day || month == months.end() || !year || !hour || !minute || !second)
    return std::nullopt;
  const std::chrono::year_month_day date{
      std::chrono::year{*year},
      std::chrono::month{static_cast<unsigned>(month - months.begin()) + 1},
      std::chrono::day{*day}};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60)
    return std::nullopt;
  return std::chrono::sys_days{date} + std::chrono::hours{*hour} + std::chrono::minutes{*minute} +
         seconds{*second};
}

// How many attempts a failure of this kind is worth; 1: none after the first.
int attempts_for(const Failure& failure, int attempts_max) {
  if (failure.status == 0) {
    if (info(failure.code).retryable == Retryable::no)
      return 1;
    const bool mismatch =
        failure.code == Code::size_mismatch || failure.code == Code::digest_mismatch;
    return mismatch ? std::min(mismatch_attempts_max, attempts_max) : attempts_max;
  }
  if (failure.status == 403 && failure.answerer == Answerer::elsewhere)
    return std::min(link_attempts_max, attempts_max);
  return is_transient(failure.status) ? attempts_max : 1;
}

}  // namespace

bool is_transient(int status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 ||
         status == 504;
}

std::optional<milliseconds> parse_retry_after(const std::string& value,
                                              system_clock::time_point now) {
  const std::string_view text = trim(value);
  if (const auto count = parse_number<std::uint32_t>(text))
    return seconds{*count};
  const auto date = parse_http_date(text);
  if (!date)
    return std::nullopt;
  return std::max(duration_cast<milliseconds>(*date - now), milliseconds{0});
}

std::optional<seconds> parse_rate_limit(const std::string& value) {
  std::optional<std::uint32_t> left;
  std::optional<std::uint32_t> reset;
  std::string_view rest = value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view part = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.starts_with("r="))
      left = parse_number<std::uint32_t>(part.substr(2));
    else if (part.starts_with("t="))
      reset = parse_number<std::uint32_t>(part.substr(2));
  }
  if (left != 0U || !reset)
    return std::nullopt;
  return seconds{*reset};
}

std::optional<milliseconds> retry_delay(const Failure& failure, const RetryState& state) {
  if (state.attempt >= attempts_for(failure, state.attempts_max))
    return std::nullopt;
  if (failure.status == 403)
    return milliseconds{0};
  const int doublings = std::min(state.attempt - 1, 16);
  const milliseconds full =
      std::min(limits::retry_delay_first * (1 << doublings), limits::retry_delay_max);
  // Half of it is random: many machines that failed together do not come back together.
  const auto backoff = duration_cast<milliseconds>(full * (0.5 + state.random / 2));
  std::optional<milliseconds> asked;
  if (const auto reset = parse_rate_limit(failure.rate_limit))
    asked = *reset + seconds{1};  // the window is over only after its last second
  else
    asked = parse_retry_after(failure.retry_after, state.now);
  if (!asked)
    return backoff;
  if (*asked > limits::retry_after_max)
    return std::nullopt;
  return std::max(backoff, *asked + milliseconds{static_cast<int>(state.random * 1000)});
}

}  // namespace lyk::fetcher
