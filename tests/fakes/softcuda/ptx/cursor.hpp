// A place in a row of tokens, and what every part of the parser asks of it.
//
// Thread rule: belongs to one parse.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/ptx/decode.hpp"
#include "tests/fakes/softcuda/ptx/tokens.hpp"

namespace softcuda::ptx {

class Cursor {
public:
  explicit Cursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  [[nodiscard]] const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& next() {
    const Token& token = peek();
    at_ = std::min(at_ + 1, tokens_.size() - 1);
    return token;
  }
  [[nodiscard]] bool at_end() const { return peek().kind == TokenKind::end; }
  [[nodiscard]] std::uint32_t line() const { return peek().line; }

  // Moves on if the next token is this one.
  bool take(char mark) {
    if (!peek().is(mark))
      return false;
    (void)next();
    return true;
  }
  bool take(std::string_view word) {
    if (!peek().is(word))
      return false;
    (void)next();
    return true;
  }
  lyk::Result<void> expect(char mark) {
    if (!take(mark))
      return unexpected(lyk::str('\'', mark, '\''));
    return {};
  }
  lyk::Result<std::string_view> expect_name() {
    if (peek().kind != TokenKind::word || peek().text[0] == '.')
      return unexpected("a name");
    return next().text;
  }
  lyk::Result<std::uint64_t> expect_integer() {
    if (peek().kind != TokenKind::integer)
      return unexpected("a whole number");
    return next().bits;
  }
  [[nodiscard]] lyk::Error unexpected(std::string_view wanted) const {
    const std::string found = at_end() ? "the end" : lyk::quoted(peek().text);
    return error_at(line(), lyk::str(wanted, " expected, not ", found));
  }

  void skip_line() {
    const std::uint32_t line = peek().line;
    while (!at_end() && peek().line == line)
      (void)next();
  }
  // Up to and with the next semicolon.
  void skip_statement() {
    while (!at_end() && !next().is(';')) {
    }
  }

private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

// `add.f32 %f1, %f2, %f3;` without a guard, with the semicolon.
[[nodiscard]] lyk::Result<Statement> parse_statement(Cursor& cursor);

// A variable, register or parameter: `.align 8 .b8 name[4][2]`, from `.align` on, without
// what may follow.
struct Declaration {
  std::uint32_t line = 0;
  std::string_view name;
  Type type = Type::b8;
  std::uint32_t alignment = 1;
  std::uint64_t bytes = 0;
  bool open = false;  // name[]
};
[[nodiscard]] lyk::Result<Declaration> parse_declaration(Cursor& cursor);

// `value` raised to a multiple of `alignment`, a power of two.
[[nodiscard]] constexpr std::uint64_t aligned(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace softcuda::ptx
