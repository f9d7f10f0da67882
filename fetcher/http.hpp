// HTTP as the Hub needs it: redirects are walked by hand, the token goes to the endpoint's own
// origin and nowhere else, and what may succeed later is tried again.
//
// Rules of redirects: at most limits::redirects_max; never from https to http; a post is sent again
// with its body (307, 308) or not at all; once another origin was reached the token stays out, also
// when the way leads back.
// Thread rule: as Context: one client, one thread.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "fetcher/context.hpp"
#include "fetcher/retry.hpp"
#include "fetcher/transfer.hpp"

namespace lyk::fetcher {

// How a token is shown, where it may be shown at all.
enum class Credential { none, bearer, basic };

struct Request {
  Method method = Method::get;
  Url url;
  std::vector<std::string> header_lines;         // sent on every hop
  std::vector<std::string> origin_header_lines;  // sent to the first URL's origin only
  std::string body;
  Credential credential = Credential::none;
};

struct Answer {
  Head head;
  Url url;                                   // of the last hop
  Credential credential = Credential::none;  // that the request may show
  bool token_sent = false;                   // to the last hop or one before
  Answerer answerer = Answerer::origin;
  std::string error_body;  // the beginning of it, if the status is not 2xx
};

class HttpClient {
public:
  // The context is borrowed and must outlive the client.
  static Result<HttpClient> open(const Context& context);

  // One attempt, redirects included. Only a 2xx answer reaches the sink; any other final status is
  // an Answer too.
  Result<Answer> attempt(const Request& request, const Sink& sink);

  // As often as retry_delay allows, until a 2xx answer has come whole. `make_request` is asked
  // before each attempt, so that it can ask for the rest of a file; `finish` says whether the whole
  // of it came (may be empty).
  struct Exchange {
    std::function<Request()> make_request;
    Sink sink;
    std::function<Result<void>()> finish;
  };
  Result<Answer> send(const Exchange& exchange);

  // A 2xx answer's body as text, of at most `bytes_max`.
  struct Text {
    Answer answer;
    std::string body;
  };
  Result<Text> text(const Request& request, std::size_t bytes_max);

  // The first answer to a request, redirects not followed and nothing tried again.
  Result<Head> peek(const Request& request);

  // Why the last `send` failed; status 0 if it did not.
  const Failure& last_failure() const { return last_failure_; }
  void forget_failure() { last_failure_ = {}; }

  // Lines for people that have come up so far; each once.
  const std::vector<std::string>& warnings() const { return warnings_; }
  bool has_token() const;

private:
  HttpClient(const Context& context, Connection connection);
  Result<Answer> walk(const Request& request, const Sink& sink);
  Result<Head> hop(const Hop& hop, const Sink& sink, std::string& error_body);
  void note_warnings(const Head& head);
  void warn(std::string line);
  Result<void> pause(std::chrono::milliseconds delay);

  const Context* context_;
  Connection connection_;
  std::mt19937_64 random_;
  bool token_rejected_ = false;
  Failure last_failure_;
  std::vector<std::string> warnings_;
};

// A final status that is not 2xx, in the Hub's own words where there are any (facts
// hub-protocol 2.8). not_found: 404 and 410; refused: a gated repo; remote_status: everything else.
Error status_error(const Answer& answer, std::string_view method);

}  // namespace lyk::fetcher
