// PTX text as a row of words, numbers and marks, each with its line.
//
// Thread rule: values and pure functions; a Token points into the text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "proto/result.hpp"

namespace softcuda::ptx {

enum class TokenKind : std::uint8_t {
  word,     // names, instructions with their modifiers, directives with their dot
  integer,  // `bits` holds the value, modulo 2^64
  real32,   // 0f3f800000: `bits` as written
  real64,   // 0d3ff0000000000000 or 1.5: `bits` of the double
  text,     // without the quotes
  mark,     // one character
  end,      // after the last one
};

struct Token {
  TokenKind kind;
  std::uint32_t line;
  std::string_view text;
  std::uint64_t bits = 0;

  [[nodiscard]] bool is(char mark) const { return kind == TokenKind::mark && text[0] == mark; }
  [[nodiscard]] bool is(std::string_view word) const {
    return kind == TokenKind::word && text == word;
  }
};

// Always ends in a Token of kind `end`. Comments are left out. Fails on a character that is no part
// of PTX, and on a number or text that does not end as it should.
[[nodiscard]] lyk::Result<std::vector<Token>> tokens_of(std::string_view text);

// `ptx line 17: ...`, for every Error of the parser.
[[nodiscard]] lyk::Error error_at(std::uint32_t line, std::string_view what);

}  // namespace softcuda::ptx
