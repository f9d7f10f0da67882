// One HTTP request and its answer, by libcurl: no redirects, no retries, no tokens of its own. All
// that curl would take from an environment, a netrc or a cookie jar is switched off or set from
// Settings, so that git and downloads reach the network in one and the same way.
//
// Thread rule: one thread at a time; the callbacks run on the thread that called `exchange`.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fetcher/progress.hpp"
#include "fetcher/settings.hpp"
#include "fetcher/url.hpp"
#include "proto/result.hpp"

namespace lyk::fetcher {

enum class Method { get, head, post };
std::string_view name(Method method);  // "GET"

// Status and headers of an answer.
struct Head {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case

  // The first header of that name (in lower case); empty if there is none.
  std::string_view get(std::string_view lower_case_name) const;
};

struct Hop {
  Method method = Method::get;
  Url url;
  std::vector<std::string> header_lines;  // "Name: value"
  std::string_view body;                  // of a post; borrowed for the call
};

enum class Flow { go_on, enough };  // `enough`: the rest of the body is not wanted

// Where an answer goes. An Error ends the transfer and is what `exchange` returns.
struct Sink {
  std::function<Result<void>(const Head&)> head;  // once, before the body; may be empty
  std::function<Result<Flow>(std::span<const std::byte>)> body;
};

class Connection {
public:
  // The settings are borrowed and must outlive the connection.
  static Result<Connection> open(const Settings& settings, CancelToken cancel);
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Success is a whole answer of whatever status. network, timeout: it did not come or broke off;
  // refused: a certificate is not trusted; protocol: it is no HTTP; cancelled.
  Result<Head> exchange(const Hop& hop, const Sink& sink);

private:
  struct State;
  explicit Connection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lyk::fetcher
