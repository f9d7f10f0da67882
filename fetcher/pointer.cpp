#include "fetcher/pointer.hpp"

#include <charconv>

#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

constexpr std::string_view version_line = "version https://git-lfs.github.com/spec/v1\n";
constexpr std::string_view oid_key = "oid sha256:";
constexpr std::string_view size_key = "size ";

Error refuse(std::string_view why) {
  return Error{Code::refused, str("lfs pointer: ", why)};
}

// Takes one line, with its end, off the front of `rest`; empty if there is none.
std::string_view take_line(std::string_view& rest) {
  const auto end = rest.find('\n');
  if (end == std::string_view::npos)
    return {};
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return line;
}

// Decimal without sign or leading zeros: the one encoding that the format allows.
Result<std::uint64_t> parse_size(std::string_view digits) {
  std::uint64_t bytes = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  const bool leading_zero = digits.size() > 1 && digits.front() == '0';
  if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size() || leading_zero)
    return refuse(str("size ", quoted(digits), " is not a plain decimal number"));
  return bytes;
}

}  // namespace

bool looks_like_pointer(std::string_view content) {
  return content.size() <= limits::pointer_bytes_max &&
         (content.starts_with("version https://git-lfs") ||
          content.starts_with("version https://hawser"));
}

Result<Pointer> parse_pointer(std::string_view content) {
  if (content.size() > limits::pointer_bytes_max)
    return refuse(str("longer than ", limits::pointer_bytes_max, " bytes"));
  if (!content.starts_with(version_line))
    return refuse(str("its first line is ", quoted(content.substr(0, content.find('\n'))),
                      ", not the version line of the specification"));
  std::string_view rest = content.substr(version_line.size());
  if (rest.starts_with("ext-"))
    return refuse("it has an extension line: what is stored is not the file itself");
  const std::string_view oid = take_line(rest);
  if (!oid.starts_with(oid_key))
    return refuse(str("its second line is ", quoted(oid), ", not 'oid sha256:...'"));
  const auto sha256 = Digest::parse(oid.substr(oid_key.size()));
  if (!sha256)
    return refuse(str("oid ", quoted(oid.substr(oid_key.size())), " is not a sha256"));
  if (rest.find('\n') == std::string_view::npos)
    return refuse("its last line has no end");
  const std::string_view size = take_line(rest);
  if (!size.starts_with(size_key))
    return refuse(str("its third line is ", quoted(size), ", not 'size ...'"));
  LYK_TRY_ASSIGN(const std::uint64_t bytes, parse_size(size.substr(size_key.size())));
  if (!rest.empty())
    return refuse("it has more than three lines");
  return Pointer{*sha256, bytes};
}

}  // namespace lyk::fetcher
