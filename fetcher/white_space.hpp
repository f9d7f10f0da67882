// White space around what people and servers write. Thread rule: pure.
#pragma once

#include <string_view>

namespace lyk::fetcher {

inline std::string_view trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n\v\f";
  const auto begin = text.find_first_not_of(blank);
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

}  // namespace lyk::fetcher
