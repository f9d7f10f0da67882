#include "kernels/image/ptx_tokens.hpp"

#include <algorithm>

namespace lyk::image {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

}  // namespace

std::string_view PtxTokens::cut(std::size_t size) {
  size = std::min(size, text_.size());
  const std::string_view out = text_.substr(0, size);
  at_line_start_ = out.find('\n') != std::string_view::npos;
  text_.remove_prefix(size);
  return out;
}

void PtxTokens::skip_blanks() {
  while (!text_.empty()) {
    if (text_.starts_with("//") || (text_.front() == '#' && at_line_start_)) {
      // To the end of the line, not over it: the line's end makes the next one a start.
      text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
    } else if (text_.starts_with("/*")) {
      const std::size_t end = text_.find("*/", 2);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 2);
    } else if (is_blank(text_.front())) {
      at_line_start_ = at_line_start_ || text_.front() == '\n';
      text_.remove_prefix(1);
    } else {
      return;
    }
  }
}

std::string_view PtxTokens::next() {
  skip_blanks();
  if (text_.empty())
    return {};
  if (text_.front() == '"') {
    const std::size_t end = text_.find('"', 1);
    return cut(end == std::string_view::npos ? text_.size() : end + 1);
  }
  const auto* const end = std::ranges::find_if_not(text_, is_word);
  const auto size = static_cast<std::size_t>(end - text_.begin());
  return cut(std::max<std::size_t>(size, 1));
}

bool PtxTokens::take(std::string_view word) {
  PtxTokens ahead = *this;
  if (ahead.next() != word)
    return false;
  *this = ahead;
  return true;
}

bool PtxTokens::skip_block(char open, char close) {
  std::size_t depth = 1;
  while (depth != 0) {
    const std::string_view word = next();
    if (word.empty())
      return false;
    if (word.front() == open)
      ++depth;
    else if (word.front() == close)
      --depth;
  }
  return true;
}

}  // namespace lyk::image
