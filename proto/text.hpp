// Small text building: GCC 12 has no <format>, and the client library carries no formatting
// library.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace lyk {

namespace detail {
inline void append(std::string& out, std::string_view part) {
  out += part;
}
inline void append(std::string& out, char part) {
  out += part;
}
template <std::integral T>
requires(!std::same_as<T, char> && !std::same_as<T, bool>) void append(std::string& out, T part) {
  out += std::to_string(part);
}
}  // namespace detail

// Concatenates text, characters and integers: str("open '", path, "': ", 3).
template <typename... Parts>
[[nodiscard]] std::string str(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

// `text` in single quotes with control characters, quotes and bytes above 0x7e as \xNN, cut after
// 120 characters: what came from outside goes into an error message only like this.
[[nodiscard]] std::string quoted(std::string_view text);
// Exact matches, so that argument-dependent lookup never prefers std::quoted of <iomanip>.
[[nodiscard]] inline std::string quoted(const std::string& text) {
  return quoted(std::string_view{text});
}
[[nodiscard]] inline std::string quoted(std::string& text) {
  return quoted(std::string_view{text});
}
[[nodiscard]] inline std::string quoted(const char* text) {
  return quoted(std::string_view{text});
}

// The shortest decimal number that reads as the same double: "1.2e-07", "inf".
[[nodiscard]] std::string shortest(double number);

// Insertions, deletions, replacements and exchanges of neighbours that make `b` of `a`.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// The entry of `known` that is nearest to `word`, if at most a third of the word's letters are
// wrong: more is another word, not a typing error. Else empty. `known` is any range of things that
// convert to string_view.
template <typename Range>
[[nodiscard]] std::string_view nearest(std::string_view word, const Range& known) {
  std::string_view best;
  std::size_t best_distance = word.size() / 3 + 1;
  for (const auto& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

// `text` as a TOML basic string, with its quotes.
[[nodiscard]] std::string toml_quoted(std::string_view text);

}  // namespace lyk
