// Names that come from outside and end up in paths, URLs and SQL: parsed strictly, once.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "proto/result.hpp"

namespace lyk {

// A slot: 1 to 64 of [a-z0-9_], beginning with a letter.
class SlotName {
public:
  static Result<SlotName> parse(std::string_view text);
  const std::string& text() const { return text_; }
  auto operator<=>(const SlotName&) const = default;

private:
  explicit SlotName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

enum class RepoType { kernel, model };
std::string_view name(RepoType type);  // "kernel", "model"
Result<RepoType> parse_repo_type(std::string_view text);

// `namespace/name` by the Hub's rules (facts hub-protocol 1.1): at most 96 of [A-Za-z0-9_.-],
// exactly one slash, no "--", no "..", no part beginning or ending with '-' or '.', not ending in
// ".git".
class RepoId {
public:
  static Result<RepoId> parse(std::string_view text);
  const std::string& text() const { return text_; }
  std::string_view owner() const { return std::string_view{text_}.substr(0, text_.find('/')); }
  auto operator<=>(const RepoId&) const = default;

private:
  explicit RepoId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// A path inside a repo: relative, '/'-separated, no empty, "." or ".." component, no '\\', no
// control characters or NUL, valid UTF-8, at most 1,024 bytes (facts hub-protocol 4.11).
class RepoPath {
public:
  static Result<RepoPath> parse(std::string_view text);
  const std::string& text() const { return text_; }
  std::string_view file_name() const {
    return std::string_view{text_}.substr(text_.rfind('/') + 1);  // npos + 1 is 0
  }
  auto operator<=>(const RepoPath&) const = default;

private:
  explicit RepoPath(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

bool is_utf8(std::string_view text);
// Length of the UTF-8 sequence at the start of `text`, which is not empty; 0 if it is not a valid
// one.
std::size_t utf8_sequence_bytes(std::string_view text);

}  // namespace lyk
