// The words of PTX, one at a time. A word is a name (letters, digits, _ $ % . and :: are taken
// together, so `.param`, `.u64`, `sm_90a` and `9.0` are words), a string with its quotes, or any
// other single character. Comments and preprocessor lines count as blanks.
//
// Thread rule: a PtxTokens is used by one thread at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace lyk::image {

class PtxTokens {
public:
  explicit PtxTokens(std::string_view text) : text_(text) {}

  // The next word; empty at the end.
  std::string_view next();
  // The next word without taking it.
  std::string_view peek() const { return PtxTokens{*this}.next(); }
  // Takes the next word if it is `word`.
  bool take(std::string_view word);
  // After an opening '{' or '(': takes everything up to and with its closing partner. False if the
  // text ends before.
  bool skip_block(char open, char close);

private:
  void skip_blanks();
  std::string_view cut(std::size_t size);

  std::string_view text_;
  bool at_line_start_ = true;
};

}  // namespace lyk::image
