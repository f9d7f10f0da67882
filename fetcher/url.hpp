// A URL that may be asked: http or https, a host, no credentials. Values, parsed strictly once, so
// that curl and we never disagree about where a request goes.
//
// Path and query are kept byte for byte as they came: signed links and the `%2F` in the Hub's own
// redirects do not survive any normalisation (facts hub-protocol 2.2). A fragment is dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/result.hpp"

namespace lyk::fetcher {

class Url {
public:
  // An absolute http or https URL. User names and passwords in it are refused: they would end up in
  // messages.
  static Result<Url> parse(std::string_view text);

  // RFC 3986 section 5.2 with this URL as the base: what a `Location` or `Link` header names.
  Result<Url> resolve(std::string_view reference) const;

  // This URL's path with `suffix` ("/a/b?c=d") behind it; a slash at the path's end is not doubled.
  // For building requests below a configured endpoint. REQUIRES: `suffix` begins with '/' and is
  // escaped already.
  Url below(std::string_view suffix) const;

  const std::string& scheme() const { return scheme_; }  // "http" or "https"
  const std::string& host() const { return host_; }      // lower case; IPv6 in brackets
  std::uint16_t port() const { return port_; }           // the scheme's own if none is written
  const std::string& path() const { return path_; }      // begins with '/'
  const std::string& query() const { return query_; }    // with its '?', or empty
  bool is_https() const { return scheme_ == "https"; }

  // Scheme, host and port are equal: the only place where a token may go.
  bool same_origin(const Url& other) const;
  std::string origin() const;    // "https://host" or "https://host:8443"
  std::string text() const;      // what is asked
  std::string redacted() const;  // for messages: without the query, which may carry a signature

  bool operator==(const Url&) const = default;

private:
  Url() = default;
  Result<void> set_authority(std::string_view authority);
  void set_target(std::string_view target);

  std::string scheme_;
  std::string host_;
  std::uint16_t port_ = 0;
  std::string path_ = "/";
  std::string query_;
};

// What stands before the colon of an absolute reference; empty for a relative one.
std::string_view scheme_of(std::string_view reference);
bool is_web_scheme(std::string_view scheme);  // http or https, in any case

// Percent-encodes everything but RFC 3986's unreserved characters; with `Slash::kept`, '/' too.
enum class Slash { encoded, kept };
std::string percent_encode(std::string_view text, Slash slash);

}  // namespace lyk::fetcher
