// How the network is reached: endpoint, mirrors, token, proxies, certificates, offline or not.
//
// An environment is a value that is passed in: a user's instance makes Settings from its process's
// environment, the system service from an empty one and its own configuration, so nobody's
// environment reaches it by accident (DESIGN section 4). Thread rule: values.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fetcher/url.hpp"
#include "proto/limits.hpp"
#include "proto/result.hpp"

namespace lyk::fetcher {

using Environment = std::map<std::string, std::string, std::less<>>;
// The environment of this process, copied once.
Environment process_environment();

// A secret and where it came from. The value never gets into a message; the source does.
struct Token {
  std::string value;   // empty: none
  std::string source;  // "HF_TOKEN", "/home/x/.cache/huggingface/token"
};

struct Proxies {
  std::string http;      // for http:// requests; empty: none
  std::string https;     // for https:// requests; empty: none
  std::string no_proxy;  // hosts that are asked directly, as in `no_proxy`
};

// Where trusted certificates come from; both empty: the system's. For servers and proxies alike.
struct Certificates {
  std::string file;
  std::string folder;
  std::string source;  // "SSL_CERT_FILE", "ca_file in daemon.toml"; for messages
};

struct Settings {
  Url endpoint;
  std::vector<Url>
      mirrors;  // asked for files after the endpoint, in this order, never with a token
  Token token;
  Proxies proxies;
  Certificates certificates;
  std::optional<std::string> offline;  // what makes it offline: "HF_HUB_OFFLINE=1"
  std::string user_agent;
  std::vector<std::filesystem::path> hf_caches;  // looked through for files that are there already
  std::chrono::seconds connect_timeout = limits::connect_timeout;
  std::chrono::seconds stall_timeout = limits::stall_timeout;
  int attempts_max = limits::attempts_max;

  // https://huggingface.co, no token, no proxy, the system's certificates, no Hub cache.
  static Settings defaults();
};

// Facts hub-protocol 5, in its order of precedence; what is not set stays as in defaults(). Reads
// the token's file, which may be absent. Fails with invalid_argument on a value that makes no
// sense.
Result<Settings> settings_from_environment(const Environment& environment);

// Reads a token's file: its text without surrounding white space. A file that is not there is an
// empty token; one that cannot be read or holds no token is an error.
Result<Token> read_token_file(const std::filesystem::path& path);

}  // namespace lyk::fetcher
