#include "fetcher/url.hpp"

#include <algorithm>
#include <charconv>

#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower(c); });
  return out;
}

// Printable ASCII without the characters that no URL may hold unescaped and that parsers of URLs
// disagree about. Everything else must come percent-encoded.
bool is_url_char(char c) {
  return c > 0x20 && c < 0x7f && c != '"' && c != '<' && c != '>' && c != '\\' && c != '^' &&
         c != '`' && c != '{' && c != '}' && c != '|';
}

std::uint16_t default_port(std::string_view scheme) {
  return scheme == "https" ? 443 : 80;
}

bool is_host(std::string_view host) {
  if (host.empty() || host.size() > 255)
    return false;
  if (host.front() == '[')
    return host.size() > 2 && host.back() == ']' &&
           std::all_of(host.begin() + 1, host.end() - 1, [](char c) {
             return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f') || c == ':' || c == '.';
           });
  return std::all_of(host.begin(), host.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_';
  });
}

// RFC 3986 section 5.2.4, for a path that begins with '/'.
std::string remove_dot_segments(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const auto end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, end);  // with its leading '/'
    path.remove_prefix(end);
    if (segment == "/." || segment == "/..") {
      if (segment == "/..")
        out.erase(std::min(out.rfind('/'), out.size()));
      if (path.empty())
        out += '/';
    } else {
      out += segment;
    }
  }
  return out.empty() ? "/" : out;
}

Error bad_url(std::string_view text, std::string_view why) {
  // The query may be a signature: it does not belong into a message.
  return Error{Code::invalid_argument,
               str("url ", quoted(text.substr(0, text.find('?'))), ": ", why)};
}

}  // namespace

std::string_view scheme_of(std::string_view reference) {
  const auto end = reference.find_first_of(":/?#");
  if (end == std::string_view::npos || reference[end] != ':' || end == 0 ||
      !is_letter(reference[0]))
    return {};
  const std::string_view scheme = reference.substr(0, end);
  const bool good = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
  });
  return good ? scheme : std::string_view{};
}

bool is_web_scheme(std::string_view scheme) {
  const std::string small = lower(scheme);
  return small == "http" || small == "https";
}

Result<Url> Url::parse(std::string_view text) {
  if (text.size() > limits::url_bytes_max)
    return bad_url(text.substr(0, 80), "it is too long");
  if (!std::all_of(text.begin(), text.end(), is_url_char))
    return bad_url(text, "it has a character that must be percent-encoded");
  Url url;
  url.scheme_ = lower(scheme_of(text));
  if (!is_web_scheme(url.scheme_))
    return bad_url(text, "it must begin with https:// or http://");
  text.remove_prefix(url.scheme_.size() + 1);
  if (!text.starts_with("//"))
    return bad_url(text, "it must begin with https:// or http://");
  text.remove_prefix(2);
  const std::size_t authority_end = std::min(text.find_first_of("/?#"), text.size());
  LYK_TRY(url.set_authority(text.substr(0, authority_end)));
  url.set_target(text.substr(authority_end));
  return url;
}

Result<void> Url::set_authority(std::string_view authority) {
  if (authority.find('@') != std::string_view::npos)
    return Error{Code::invalid_argument,
                 "url: a user name or password in it is refused; use a token instead"};
  std::string_view host = authority;
  port_ = default_port(scheme_);
  const auto colon = authority.rfind(':');
  const auto bracket = authority.rfind(']');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    host = authority.substr(0, colon);
    const std::string_view digits = authority.substr(colon + 1);
    if (!digits.empty()) {  // "host:" means the scheme's own port
      const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port_);
      if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size() || port_ == 0)
        return bad_url(authority, "the port must be 1 to 65535");
    }
  }
  if (!is_host(host))
    return bad_url(authority, "this is not a host name");
  host_ = lower(host);
  return {};
}

void Url::set_target(std::string_view target) {
  target = target.substr(0, target.find('#'));
  const std::size_t path_end = std::min(target.find('?'), target.size());
  path_ = path_end == 0 ? "/" : std::string{target.substr(0, path_end)};
  query_ = target.substr(path_end);
}

Result<Url> Url::resolve(std::string_view reference) const {
  if (reference.size() > limits::url_bytes_max)
    return bad_url(reference.substr(0, 80), "it is too long");
  if (!std::all_of(reference.begin(), reference.end(), is_url_char))
    return bad_url(reference, "it has a character that must be percent-encoded");
  if (!scheme_of(reference).empty())
    return parse(reference);
  if (reference.starts_with("//"))
    return parse(str(scheme_, ":", reference));
  Url url = *this;
  const std::string_view target = reference.substr(0, reference.find('#'));
  if (target.empty())
    return url;
  if (target.starts_with('?')) {
    url.query_ = target;
    return url;
  }
  const std::size_t path_end = std::min(target.find('?'), target.size());
  const std::string_view path = target.substr(0, path_end);
  url.query_ = target.substr(path_end);
  url.path_ = path.starts_with('/')
                  ? remove_dot_segments(path)
                  : remove_dot_segments(str(path_.substr(0, path_.rfind('/') + 1), path));
  return url;
}

Url Url::below(std::string_view suffix) const {
  LYK_CHECK(suffix.starts_with('/'));
  Url url = *this;
  std::string_view base = path_;
  if (base.ends_with('/'))
    base.remove_suffix(1);
  url.set_target(str(base, suffix));
  return url;
}

bool Url::same_origin(const Url& other) const {
  return scheme_ == other.scheme_ && host_ == other.host_ && port_ == other.port_;
}

std::string Url::origin() const {
  return port_ == default_port(scheme_) ? str(scheme_, "://", host_)
                                        : str(scheme_, "://", host_, ":", port_);
}

std::string Url::text() const {
  return str(origin(), path_, query_);
}

std::string Url::redacted() const {
  return str(origin(), path_);
}

std::string percent_encode(std::string_view text, Slash slash) {
  static constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~' ||
        (c == '/' && slash == Slash::kept)) {
      out += c;
    } else {
      out += '%';
      out += hex[byte >> 4U];
      out += hex[byte & 15U];
    }
  }
  return out;
}

}  // namespace lyk::fetcher
