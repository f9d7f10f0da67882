// A text of one line in a room of its own: what somebody else said, made fit for a log, and put
// together without allocating.
// Thread rule: values.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "proto/limits.hpp"

namespace lyk::client {

class Line {
public:
  // Empty, but for what is behind its end: zeros cost more than a call of the registry may.
  struct Unwritten {};

  constexpr Line() noexcept : text_{} {}
  explicit Line(Unwritten /*how*/) noexcept { text_[0] = '\0'; }  // NOLINT(*-member-init)
  explicit Line(std::string_view text) noexcept : text_{} { add(text); }

  // Line breaks and other blanks become spaces, other control characters and what is not UTF-8 a
  // question mark. Once a character has no room, nothing more is added.
  Line& add(std::string_view text) noexcept;

  void clear() noexcept {
    size_ = 0;
    is_full_ = false;
    text_[0] = '\0';
  }
  bool empty() const noexcept { return size_ == 0; }
  std::string_view view() const noexcept { return {text_.data(), size_}; }
  const char* c_str() const noexcept { return text_.data(); }

private:
  std::size_t size_ = 0;
  bool is_full_ = false;
  std::array<char, limits::line_bytes_max + 1> text_;
};

}  // namespace lyk::client
