#include "tests/fakes/softcuda/ptx/tokens.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include "proto/text.hpp"

namespace softcuda::ptx {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool starts_word(char c) {
  return is_letter(c) || c == '_' || c == '$' || c == '%' || c == '.';
}
bool continues_word(char c) {
  return starts_word(c) || is_digit(c);
}
bool is_mark(char c) {
  return std::string_view{",;:()[]{}<>@!|=+-*"}.find(c) != std::string_view::npos;
}

class Reader {
public:
  explicit Reader(std::string_view text) : text_(text) {}

  lyk::Result<std::vector<Token>> all() {
    std::vector<Token> out;
    while (true) {
      LYK_TRY(skip_blanks());
      if (at_ == text_.size())
        break;
      LYK_TRY_ASSIGN(Token token, next());
      out.push_back(token);
    }
    out.push_back({TokenKind::end, line_, {}});
    return out;
  }

private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  lyk::Result<void> skip_blanks() {
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == '\n')
        ++line_;
      if (c == ' ' || (c >= '\t' && c <= '\r'))
        ++at_;
      else if (c == '/' && peek(1) == '/')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == '/' && peek(1) == '*')
        LYK_TRY(skip_long_comment());
      else
        break;
    }
    return {};
  }

  lyk::Result<void> skip_long_comment() {
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos)
      return error_at(line_, "comment without end");
    for (; at_ < end + 2; ++at_)
      line_ += text_[at_] == '\n' ? 1U : 0U;
    return {};
  }

  lyk::Result<Token> next() {
    const char c = peek();
    if (starts_word(c))
      return word();
    if (is_digit(c))
      return number();
    if (c == '"')
      return quoted_text();
    if (is_mark(c))
      return Token{TokenKind::mark, line_, text_.substr(at_++, 1)};
    return error_at(line_, lyk::str("unexpected character ", lyk::quoted(text_.substr(at_, 1))));
  }

  // A double colon belongs to the word (`L2::128B`), a single one ends a label. A directive ends at
  // the next dot (`.reg.b32`), an instruction has its modifiers with it.
  Token word() {
    const std::size_t begin = at_++;
    const bool is_directive = text_[begin] == '.';
    while ((continues_word(peek()) && !(is_directive && peek() == '.')) ||
           (peek() == ':' && peek(1) == ':'))
      at_ += peek() == ':' ? 2U : 1U;
    return {TokenKind::word, line_, text_.substr(begin, at_ - begin)};
  }

  lyk::Result<Token> quoted_text() {
    const std::size_t end = text_.find_first_of("\"\n", at_ + 1);
    if (end == std::string_view::npos || text_[end] == '\n')
      return error_at(line_, "text without closing quote");
    const Token token{TokenKind::text, line_, text_.substr(at_ + 1, end - at_ - 1)};
    at_ = end + 1;
    return token;
  }

  lyk::Result<Token> number() {
    const std::size_t begin = at_;
    while (is_digit(peek()) || is_letter(peek()) || peek() == '.' ||
           ((peek() == '+' || peek() == '-') && exponent_goes_on(begin)))
      ++at_;
    const std::string_view text = text_.substr(begin, at_ - begin);
    const std::optional<Token> token = number_of(text);
    if (!token)
      return error_at(line_, lyk::str("bad number ", lyk::quoted(text)));
    return *token;
  }

  // Whether the sign at hand follows the e of a decimal number.
  [[nodiscard]] bool exponent_goes_on(std::size_t begin) const {
    const std::string_view so_far = text_.substr(begin, at_ - begin);
    return so_far.find('.') != std::string_view::npos &&
           (so_far.back() == 'e' || so_far.back() == 'E');
  }

  [[nodiscard]] std::optional<Token> number_of(std::string_view text) const {
    if (text.size() > 1 && text[0] == '0') {
      const char form = text[1];
      if (form == 'f' || form == 'F')
        return real(text, TokenKind::real32, 8);
      if (form == 'd' || form == 'D')
        return real(text, TokenKind::real64, 16);
    }
    if (text.find('.') != std::string_view::npos) {
      double value = 0;
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (code != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
      return Token{TokenKind::real64, line_, text, std::bit_cast<std::uint64_t>(value)};
    }
    return integer(text);
  }

  [[nodiscard]] std::optional<Token> real(std::string_view text,
                                          TokenKind kind,
                                          std::size_t digits) const {
    const std::optional<std::uint64_t> bits = whole(text.substr(2), 16);
    if (!bits || text.size() != digits + 2)
      return std::nullopt;
    return Token{kind, line_, text, *bits};
  }

  [[nodiscard]] std::optional<Token> integer(std::string_view text) const {
    std::string_view digits = text;
    if (digits.back() == 'U' || digits.back() == 'u')
      digits.remove_suffix(1);
    int base = 10;
    if (digits.size() > 1 && digits[0] == '0') {
      const char form = digits[1];
      base = form == 'x' || form == 'X' ? 16 : form == 'b' || form == 'B' ? 2 : 8;
      digits.remove_prefix(base == 8 ? 1 : 2);
    }
    const std::optional<std::uint64_t> bits = whole(digits, base);
    if (!bits)
      return std::nullopt;
    return Token{TokenKind::integer, line_, text, *bits};
  }

  static std::optional<std::uint64_t> whole(std::string_view digits, int base) {
    std::uint64_t value = 0;
    const auto [end, code] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (digits.empty() || code != std::errc{} || end != digits.data() + digits.size())
      return std::nullopt;
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

}  // namespace

lyk::Result<std::vector<Token>> tokens_of(std::string_view text) {
  // The text in a fatbin ends in zero bytes.
  const std::size_t last = text.find_last_not_of('\0');
  return Reader{text.substr(0, last == std::string_view::npos ? 0 : last + 1)}.all();
}

lyk::Error error_at(std::uint32_t line, std::string_view what) {
  return {lyk::Code::invalid_argument, lyk::str("ptx line ", line, ": ", what)};
}

}  // namespace softcuda::ptx
