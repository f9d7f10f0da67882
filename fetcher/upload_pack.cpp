#include "fetcher/upload_pack.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

constexpr std::size_t length_digits = 4;

Error bad_answer(std::string_view why) {
  return Error{Code::protocol, str("git: ", why)};
}

std::optional<std::size_t> parse_length(std::string_view digits) {
  std::size_t length = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), length, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size())
    return std::nullopt;
  return length;
}

// The next line of a whole answer; a flush is an empty line. nullopt: malformed, or nothing is
// left.
std::optional<std::string_view> take_line(std::string_view& rest) {
  if (rest.size() < length_digits)
    return std::nullopt;
  const auto length = parse_length(rest.substr(0, length_digits));
  if (!length || (*length != 0 && *length < length_digits) || *length > rest.size())
    return std::nullopt;
  const std::string_view line =
      *length == 0 ? std::string_view{} : rest.substr(length_digits, *length - length_digits);
  rest.remove_prefix(std::max(*length, length_digits));
  return line;
}

std::string_view without_newline(std::string_view line) {
  if (line.ends_with('\n'))
    line.remove_suffix(1);
  return line;
}

std::vector<std::string> split(std::string_view words) {
  std::vector<std::string> out;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (end > 0)
      out.emplace_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out;
}

Error server_error(std::string_view words) {
  const bool absent = words.find("not our ref") != std::string_view::npos ||
                      words.find("no such remote ref") != std::string_view::npos;
  return Error{absent ? Code::not_found : Code::remote_status,
               str("git: the server says ", quoted(without_newline(words)))};
}

}  // namespace

Result<std::vector<std::string>> advertised_capabilities(std::string_view advertisement) {
  if (advertisement.empty())
    return bad_answer("the server's list of refs is empty");
  std::optional<std::vector<std::string>> capabilities;
  bool ended = false;
  while (!advertisement.empty()) {
    const auto line = take_line(advertisement);
    if (!line)
      return bad_answer(capabilities ? "the server's list of refs ends in the middle"
                                     : "the server's list of refs is not git's");
    if (line->starts_with("ERR "))
      return server_error(line->substr(4));
    ended = line->empty();
    if (capabilities || line->empty() || line->starts_with('#'))
      continue;
    const auto nul = line->find('\0');
    if (nul == std::string_view::npos)
      return bad_answer("the server's first ref has no capabilities");
    capabilities = split(without_newline(line->substr(nul + 1)));
  }
  if (!capabilities || !ended)
    return bad_answer("the server's list of refs ends too early");
  for (const std::string& capability : *capabilities)
    if (capability.starts_with("object-format=") && capability != "object-format=sha1")
      return Error{Code::refused, str("git: the repo's object ids are not SHA-1 but ",
                                      quoted(capability.substr(capability.find('=') + 1)))};
  return std::move(*capabilities);
}

Result<void> UploadPackReader::add_line() {
  if (line_.empty())
    return bad_answer("the server sends an empty line");
  const char band = line_.front();
  if (band == '\1') {
    pack_begun_ = true;
    return guard_.feed(std::as_bytes(std::span{line_}.subspan(1)));
  }
  other_bytes_ += line_.size();
  if (other_bytes_ > limits::git_progress_bytes_max)
    return bad_answer(str("the server talks on without sending a pack: more than ",
                          limits::git_progress_bytes_max, " bytes"));
  if (band == '\3')
    return server_error(std::string_view{line_}.substr(1));
  if (band == '\2')  // progress, for people at a terminal
    return {};
  if (line_.starts_with("ERR "))
    return server_error(std::string_view{line_}.substr(4));
  if (line_.starts_with("NAK") || line_.starts_with("ACK ") || line_.starts_with("shallow "))
    return {};
  return bad_answer(str("the server sends the unknown line ", quoted(line_)));
}

Result<void> UploadPackReader::begin_line() {
  any_line_ = true;
  if (length_ == "PACK") {
    bare_pack_ = pack_begun_ = true;
    return guard_.feed(std::as_bytes(std::span{length_}));
  }
  const auto length = parse_length(length_);
  if (!length || (*length != 0 && *length <= length_digits))
    return bad_answer(str("the server's answer has ", quoted(length_), " for a line's length"));
  length_.clear();
  if (*length == 0)
    return {};  // a flush
  line_left_ = *length - length_digits;
  line_.clear();
  in_line_ = true;
  return {};
}

Result<void> UploadPackReader::feed(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (bare_pack_)
      return guard_.feed(bytes);
    if (!in_line_) {
      length_ += static_cast<char>(bytes.front());
      bytes = bytes.subspan(1);
      if (length_.size() == length_digits)
        LYK_TRY(begin_line());
      continue;
    }
    const std::size_t part = std::min(line_left_, bytes.size());
    for (const std::byte byte : bytes.first(part))
      line_ += static_cast<char>(byte);
    bytes = bytes.subspan(part);
    line_left_ -= part;
    if (line_left_ == 0) {
      in_line_ = false;
      LYK_TRY(add_line());
    }
  }
  return {};
}

Result<void> UploadPackReader::finish() const {
  if (!any_line_)
    return bad_answer("the server's answer is empty");
  if (in_line_ || (!bare_pack_ && !length_.empty()))
    return bad_answer("the server's answer ends in the middle of a line");
  return pack_begun_ ? guard_.finish() : Result<void>{};
}

}  // namespace lyk::fetcher
