#include "proto/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <utility>
#include <vector>

namespace lyk {

std::string quoted(std::string_view text) {
  constexpr std::size_t shown_max = 120;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "'";
  for (const char c : text.substr(0, shown_max)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '\'' || c == '\\') {
      out += "\\x";
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    } else {
      out += c;
    }
  }
  out += text.size() > shown_max ? "...'" : "'";
  return out;
}

std::string shortest(double number) {
  std::array<char, 32> text{};  // 24 are the most
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table "distance of the first i of a from the first j of b": i - 1, i and i
  // + 1.
  std::vector<std::size_t> before;
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<std::size_t> next(b.size() + 1);
    next[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      next[j + 1] = std::min({row[j + 1] + 1, next[j] + 1, row[j] + (a[i] == b[j] ? 0U : 1U)});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
    }
    before = std::exchange(row, std::move(next));
  }
  return row.back();
}

std::string toml_quoted(std::string_view text) {
  static constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += hex[byte >> 4U];
      out += hex[byte & 15U];
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace lyk
