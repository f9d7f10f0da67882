#include "fetcher/http.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "fetcher/hub_json.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

bool is_success(int status) {
  return status >= 200 && status < 300;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// git and files are asked for as they are; compressed, neither sizes nor ranges would fit.
Result<void> check_encoding(const Head& head) {
  const std::string_view encoding = head.get("content-encoding");
  if (encoding.empty() || encoding == "identity")
    return {};
  return Error{Code::protocol, str("the body comes compressed (", quoted(encoding),
                                   ") although that was not asked for")};
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
    };
    const unsigned group = (at(0) << 16U) | (at(1) << 8U) | at(2);
    out += digits[(group >> 18U) & 63U];
    out += digits[(group >> 12U) & 63U];
    out += i + 1 < bytes.size() ? digits[(group >> 6U) & 63U] : '=';
    out += i + 2 < bytes.size() ? digits[group & 63U] : '=';
  }
  return out;
}

// Any user name does for the Hub's git (facts hub-protocol 3.1); the token is the password.
std::string authorization(const Token& token, Credential credential) {
  return credential == Credential::basic
             ? str("Authorization: Basic ", base64(str("hf_user:", token.value)))
             : str("Authorization: Bearer ", token.value);
}

// The next URL of a redirect, if it may be followed.
Result<Url> redirect_target(const Head& head, const Request& request, const Url& from) {
  const std::string_view location = head.get("location");
  const auto refuse = [&](Code code, std::string_view why) {
    return Error{code, str(name(request.method), " ", from.redacted(), ": redirect (", head.status,
                           ") ", why)};
  };
  if (location.empty())
    return refuse(Code::protocol, "without a Location");
  if (request.method == Method::post && head.status != 307 && head.status != 308)
    return refuse(Code::protocol, "of a POST that would lose its body");
  if (const std::string_view scheme = scheme_of(location);
      !scheme.empty() && !is_web_scheme(scheme))
    return refuse(Code::refused,
                  str("to ", quoted(scheme), " refused: only http and https are followed"));
  auto target = from.resolve(location);
  if (!target)
    return refuse(Code::protocol, str("to nowhere: ", target.error().message));
  if (from.is_https() && !target->is_https())
    return refuse(Code::refused, str("from https to http refused: ", target->redacted()));
  return target;
}

Failure failure_of(const Result<Answer>& result) {
  if (!result)
    return Failure{result.error().code, 0, Answerer::origin, {}, {}};
  const Head& head = result->head;
  return Failure{Code::remote_status, head.status, result->answerer,
                 std::string{head.get("retry-after")}, std::string{head.get("ratelimit")}};
}

// What the status means where the Hub's own words do not say it.
std::string_view hint_of(const Answer& answer) {
  if (answer.credential == Credential::none)
    return "";  // asked without a token on purpose
  if (answer.answerer == Answerer::elsewhere)
    return " (the storage behind the Hub answered, not the Hub)";
  switch (answer.head.status) {
    case 401:
      return answer.token_sent ? " (the token was not accepted)"
                               : " (missing, private or gated; no token was sent)";
    case 403:
      return answer.token_sent ? " (the token has no access)" : " (no token was sent)";
    case 429:
      return " (rate limit; a token has a higher one)";
    default:
      return "";
  }
}

}  // namespace

Error status_error(const Answer& answer, std::string_view method) {
  const Head& head = answer.head;
  const std::string_view hub_code = head.get("x-error-code");
  std::string words{head.get("x-error-message")};
  if (words.empty())
    words = error_text(answer.error_body);
  std::string text = str(method, " ", answer.url.redacted(), ": status ", head.status);
  if (!hub_code.empty())
    text += str(" ", quoted(hub_code));
  if (!words.empty())
    text += str(" ", quoted(words));
  text += hint_of(answer);
  if (const std::string_view id = head.get("x-request-id"); !id.empty() && head.status >= 500)
    text += str(" (request id ", quoted(id), ")");
  const bool absent = head.status == 404 || head.status == 410;
  const bool gated = hub_code == "GatedRepo";
  return Error{absent  ? Code::not_found
               : gated ? Code::refused
                       : Code::remote_status,
               std::move(text)};
}

HttpClient::HttpClient(const Context& context, Connection connection)
    : context_(&context), connection_(std::move(connection)), random_(std::random_device{}()) {}

Result<HttpClient> HttpClient::open(const Context& context) {
  LYK_TRY_ASSIGN(Connection connection, Connection::open(context.settings, context.cancel));
  return HttpClient{context, std::move(connection)};
}

bool HttpClient::has_token() const {
  return !context_->settings.token.value.empty() && !token_rejected_;
}

void HttpClient::warn(std::string line) {
  if (std::find(warnings_.begin(), warnings_.end(), line) == warnings_.end())
    warnings_.push_back(std::move(line));
}

// `X-HF-Warning: topic; message` may come with any answer.
void HttpClient::note_warnings(const Head& head) {
  for (const auto& [header, value] : head.headers)
    if (header == "x-hf-warning" && warnings_.size() < limits::fetch_warnings_max)
      warn(str("the Hub says: ", quoted(value)));
}

Result<Head> HttpClient::hop(const Hop& hop, const Sink& sink, std::string& error_body) {
  bool good = false;
  Sink inner;
  inner.head = [&](const Head& head) -> Result<void> {
    good = is_success(head.status);
    if (!good)
      return {};
    LYK_TRY(check_encoding(head));
    return sink.head ? sink.head(head) : Result<void>{};
  };
  inner.body = [&](std::span<const std::byte> bytes) -> Result<Flow> {
    if (good)
      return sink.body(bytes);
    const std::size_t room = limits::error_body_bytes_max - error_body.size();
    for (const std::byte byte : bytes.first(std::min(room, bytes.size())))
      error_body += static_cast<char>(byte);
    return bytes.size() > room ? Flow::enough : Flow::go_on;
  };
  return connection_.exchange(hop, inner);
}

Result<Answer> HttpClient::walk(const Request& request, const Sink& sink) {
  const Settings& settings = context_->settings;
  Answer answer{{}, request.url, request.credential, false, Answerer::origin, {}};
  std::vector<std::string> visited;
  while (true) {
    if (!answer.url.same_origin(request.url))
      answer.answerer = Answerer::elsewhere;  // for good: see the header
    Hop next{request.method, answer.url, request.header_lines, request.body};
    const bool at_home = answer.answerer == Answerer::origin;
    if (at_home)
      next.header_lines.insert(next.header_lines.end(), request.origin_header_lines.begin(),
                               request.origin_header_lines.end());
    if (at_home && has_token() && request.credential != Credential::none &&
        answer.url.same_origin(settings.endpoint)) {
      next.header_lines.push_back(authorization(settings.token, request.credential));
      answer.token_sent = true;
    }
    answer.error_body.clear();
    LYK_TRY_ASSIGN(answer.head, hop(next, sink, answer.error_body));
    note_warnings(answer.head);
    if (!is_redirect(answer.head.status))
      return answer;
    LYK_TRY_ASSIGN(Url target, redirect_target(answer.head, request, answer.url));
    visited.push_back(answer.url.text());
    if (std::find(visited.begin(), visited.end(), target.text()) != visited.end())
      return Error{Code::protocol, str(name(request.method), " ", request.url.redacted(),
                                       ": redirects lead in a circle at ", target.redacted())};
    if (visited.size() > static_cast<std::size_t>(limits::redirects_max))
      return Error{Code::protocol, str(name(request.method), " ", request.url.redacted(),
                                       ": more than ", limits::redirects_max, " redirects")};
    answer.url = std::move(target);
  }
}

Result<Answer> HttpClient::attempt(const Request& request, const Sink& sink) {
  LYK_TRY_ASSIGN(Answer answer, walk(request, sink));
  if (answer.head.status != 401 || !answer.token_sent || answer.answerer != Answerer::origin)
    return answer;
  // A bad token is refused even where none is needed: once more without it.
  token_rejected_ = true;
  warn(str("the token from ", context_->settings.token.source, " was rejected by ",
           answer.url.origin(), "; going on without a token"));
  LYK_TRY_ASSIGN(Answer anonymous, walk(request, sink));
  if (is_success(anonymous.head.status))
    return anonymous;
  return Error{Code::remote_status,
               str(status_error(anonymous, name(request.method)).message, "; the token from ",
                   context_->settings.token.source,
                   " was rejected: ", status_error(answer, name(request.method)).message)};
}

Result<void> HttpClient::pause(std::chrono::milliseconds delay) {
  if (context_->pause) {
    context_->pause(delay);
  } else {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock{mutex};
    (void)never.wait_for(lock, context_->cancel, delay, [] { return false; });  // told below
  }
  if (context_->cancel.stop_requested())
    return Error{Code::cancelled, "stopped while waiting for another attempt"};
  return {};
}

Result<Answer> HttpClient::send(const Exchange& exchange) {
  RetryState state;
  state.attempts_max = context_->settings.attempts_max;
  int attempts = 0;
  while (true) {
    std::uint64_t bytes = 0;
    Sink counted{exchange.sink.head, [&](std::span<const std::byte> part) {
                   bytes += part.size();
                   return exchange.sink.body(part);
                 }};
    const Request request = exchange.make_request();
    Result<Answer> result = attempt(request, counted);
    ++attempts;
    if (result && is_success(result->head.status)) {
      Result<void> whole = exchange.finish ? exchange.finish() : Result<void>{};
      if (whole) {
        last_failure_ = {};
        return result;
      }
      result = annotate(std::move(whole).error(),
                        str(name(request.method), " ", result->url.redacted()));
    }
    if (bytes >= limits::retry_progress_bytes)
      state.attempt = 1;
    state.now = std::chrono::system_clock::now();
    state.random = std::uniform_real_distribution<>{0, 1}(random_);
    last_failure_ = failure_of(result);
    const auto delay = retry_delay(last_failure_, state);
    if (!delay) {
      Error error = result ? status_error(*result, name(request.method)) : result.error();
      if (attempts > 1)
        error.message += str(" (", attempts, " attempts)");
      return error;
    }
    LYK_TRY(pause(*delay));
    ++state.attempt;
  }
}

Result<Head> HttpClient::peek(const Request& request) {
  const Sink nothing{{}, [](std::span<const std::byte>) -> Result<Flow> { return Flow::enough; }};
  std::string error_body;
  return hop(Hop{request.method, request.url, request.header_lines, request.body}, nothing,
             error_body);
}

Result<HttpClient::Text> HttpClient::text(const Request& request, std::size_t bytes_max) {
  std::string body;
  Exchange exchange;
  exchange.make_request = [&] {
    body.clear();
    return request;
  };
  exchange.sink.body = [&](std::span<const std::byte> bytes) -> Result<Flow> {
    if (bytes.size() > bytes_max - body.size())
      return Error{Code::protocol, str("the answer is longer than ", bytes_max, " bytes")};
    for (const std::byte byte : bytes)
      body += static_cast<char>(byte);
    return Flow::go_on;
  };
  LYK_TRY_ASSIGN(Answer answer, send(exchange));
  return Text{std::move(answer), std::move(body)};
}

}  // namespace lyk::fetcher
