// URLs and references. What was accepted is stable: its text parses to the same URL, its parts hold
// no character that could end a line or begin another part, and a relative reference never changes
// the origin.
//
// Input: a base URL, a line feed, a reference.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fetcher/url.hpp"
#include "proto/check.hpp"

namespace {

using lyk::fetcher::Url;

void check(const Url& url) {
  const std::string text = url.text();
  LYK_CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; }));
  LYK_CHECK(url.scheme() == "http" || url.scheme() == "https");
  LYK_CHECK(!url.host().empty() && url.host().find_first_of("/?#@\\") == std::string::npos);
  LYK_CHECK(url.port() != 0 && url.path().starts_with('/'));
  LYK_CHECK(url.path().find_first_of("?#") == std::string::npos);
  LYK_CHECK(url.query().empty() || url.query().starts_with('?'));
  LYK_CHECK(url.redacted().find('?') == std::string::npos);
  const auto again = Url::parse(text);
  LYK_CHECK(again && *again == url && again->same_origin(url));
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{data, data + size};
  const auto end = std::min(text.find('\n'), text.size());
  const std::string base_text = text.substr(0, end);
  const std::string reference = text.substr(std::min(end + 1, text.size()));
  const auto base = Url::parse(base_text);
  if (!base)
    return 0;
  check(*base);
  const auto url = base->resolve(reference);
  if (!url)
    return 0;
  check(*url);
  const bool may_leave = reference.find(':') != std::string::npos || reference.starts_with("//");
  LYK_CHECK(may_leave || url->same_origin(*base));
  return 0;
}
