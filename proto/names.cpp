#include "proto/names.hpp"

#include <algorithm>

#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk {

namespace {

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_repo_char(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.' || c == '-';
}

// One half of a repo id.
bool is_repo_part(std::string_view part) {
  const auto edge = [](char c) { return c == '-' || c == '.'; };
  return !part.empty() && !edge(part.front()) && !edge(part.back()) &&
         std::all_of(part.begin(), part.end(), is_repo_char);
}

}  // namespace

std::size_t utf8_sequence_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = at(0);
  if (lead < 0x80)
    return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length)
    return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((at(i) & 0xc0U) != 0x80U)
      return 0;
  const unsigned second = at(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second > 0x9f;
  const bool too_large = lead == 0xf4 && second > 0x8f;
  return overlong || surrogate || too_large ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_bytes(text);
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

Result<SlotName> SlotName::parse(std::string_view text) {
  const bool good = !text.empty() && text.size() <= 64 && is_lower(text.front()) &&
                    std::all_of(text.begin(), text.end(),
                                [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
  if (!good)
    return Error{Code::invalid_argument,
                 str("slot ", quoted(text),
                     ": a slot name is 1 to 64 of a-z, 0-9 and _, beginning with a letter")};
  return SlotName{std::string{text}};
}

std::string_view name(RepoType type) {
  return type == RepoType::kernel ? "kernel" : "model";
}

Result<RepoType> parse_repo_type(std::string_view text) {
  if (text == "kernel")
    return RepoType::kernel;
  if (text == "model")
    return RepoType::model;
  return Error{Code::invalid_argument,
               str("repo type ", quoted(text), ": it is 'kernel' or 'model'")};
}

Result<RepoId> RepoId::parse(std::string_view text) {
  const auto slash = text.find('/');
  const bool good = text.size() <= 96 && slash != std::string_view::npos &&
                    is_repo_part(text.substr(0, slash)) && is_repo_part(text.substr(slash + 1)) &&
                    text.find("--") == std::string_view::npos &&
                    text.find("..") == std::string_view::npos && !text.ends_with(".git");
  if (!good)
    return Error{Code::invalid_argument,
                 str("repo ", quoted(text), ": write it as namespace/name, as on the Hub")};
  return RepoId{std::string{text}};
}

Result<RepoPath> RepoPath::parse(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return Error{Code::invalid_argument, str("path ", quoted(text), ": ", why)};
  };
  if (text.empty() || text.size() > limits::repo_path_bytes_max)
    return bad("it must have 1 to 1024 bytes");
  if (!is_utf8(text))
    return bad("it is not UTF-8");
  if (std::any_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\\';
      }))
    return bad("it has a backslash or a control character");
  std::string_view rest = text;
  while (true) {
    const auto slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == "..")
      return bad("every component must be a plain name");
    if (slash == std::string_view::npos)
      return RepoPath{std::string{text}};
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace lyk
