// What a 206 answer holds (RFC 9110 section 14.4). Thread rule: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lyk::fetcher {

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;              // inclusive
  std::optional<std::uint64_t> total;  // absent: `*`
};

// "bytes 5-9/10"; nullopt for anything else, also for ranges that contradict themselves.
std::optional<ContentRange> parse_content_range(std::string_view value);

// What becomes of an answer to a request for the bytes from `asked` on.
enum class RangeVerdict {
  append,      // exactly the rest that was asked for
  start_over,  // the whole file: what is here is thrown away
  useless,     // a part that does not fit: ask again, for the whole file
};
// `status` is 200 or 206; `total` is the size that the proof names, if it does.
RangeVerdict judge_range(int status,
                         std::string_view content_range,
                         std::uint64_t asked,
                         std::optional<std::uint64_t> total);

}  // namespace lyk::fetcher
