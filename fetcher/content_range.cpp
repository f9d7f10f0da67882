#include "fetcher/content_range.hpp"

#include <charconv>

namespace lyk::fetcher {

namespace {

// Takes a decimal number off the front of `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc{})
    return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view value) {
  ContentRange range;
  if (!take(value, "bytes "))
    return std::nullopt;
  const auto first = take_number(value);
  if (!first || !take(value, "-"))
    return std::nullopt;
  const auto last = take_number(value);
  if (!last || !take(value, "/") || *last < *first)
    return std::nullopt;
  range.first = *first;
  range.last = *last;
  if (value == "*")
    return range;
  range.total = take_number(value);
  if (!range.total || !value.empty() || *range.total <= *last)
    return std::nullopt;
  return range;
}

RangeVerdict judge_range(int status,
                         std::string_view content_range,
                         std::uint64_t asked,
                         std::optional<std::uint64_t> total) {
  if (status != 206)
    return RangeVerdict::start_over;
  const auto range = parse_content_range(content_range);
  if (!range || range->first != asked)
    return RangeVerdict::useless;
  if (total && ((range->total && *range->total != *total) || range->last >= *total))
    return RangeVerdict::useless;
  return RangeVerdict::append;
}

}  // namespace lyk::fetcher
