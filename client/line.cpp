#include "client/line.hpp"

#include <algorithm>

#include "proto/names.hpp"

namespace lyk::client {

namespace {

// What stands for the character at the start of `text`, which has `bytes` bytes.
std::string_view shown(std::string_view text, std::size_t bytes) {
  const auto first = static_cast<unsigned char>(text.front());
  if (bytes == 1 && first >= '\t' && first <= '\r')
    return " ";
  const bool is_control =
      bytes == 1 ? first < 0x20 || first == 0x7F
                 : bytes == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
  if (bytes == 0 || is_control)
    return "?";
  return text.substr(0, bytes);
}

}  // namespace

Line& Line::add(std::string_view text) noexcept {
  while (!text.empty() && !is_full_) {
    const std::size_t bytes = utf8_sequence_bytes(text);
    const std::string_view character = shown(text, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
    is_full_ = size_ + character.size() > limits::line_bytes_max;
    if (is_full_)
      break;
    std::copy(character.begin(), character.end(),
              text_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += character.size();
  }
  text_[size_] = '\0';
  return *this;
}

}  // namespace lyk::client
