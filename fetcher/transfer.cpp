#include "fetcher/transfer.hpp"

#include <curl/curl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "fetcher/white_space.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"
#include "proto/unique.hpp"

namespace lyk::fetcher {

namespace {

using CurlHandle = UniqueHandle<CURL, curl_easy_cleanup>;
using CurlLines = UniqueHandle<curl_slist, curl_slist_free_all>;
using Clock = std::chrono::steady_clock;

// The progress of a transfer over the last minute: a peer that sends a byte now and then is a stall
// too, though curl's own limit never sees it.
constexpr std::chrono::seconds slow_window{60};
constexpr curl_off_t slow_window_bytes = 61'440;

std::string lower(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

// curl's own words, which may quote a peer: one line of printable ASCII.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 240))
    out += c >= 0x20 && c < 0x7f ? c : ' ';
  return std::string{trim(out)};
}

// "HTTP/1.1 206 Partial Content" -> 206.
int status_of(std::string_view line) {
  const auto space = line.find(' ');
  if (space == std::string_view::npos || line.size() < space + 4)
    return 0;
  int status = 0;
  for (const char c : line.substr(space + 1, 3)) {
    if (c < '0' || c > '9')
      return 0;
    status = status * 10 + (c - '0');
  }
  return status;
}

// The state of one exchange, which curl's callbacks see. Each of them is noexcept, keeps what went
// wrong here and returns curl's abort value.
struct Exchange {
  const Sink* sink = nullptr;
  const CancelToken* cancel = nullptr;
  Head head;
  bool head_complete = false;
  std::size_t header_bytes = 0;
  std::optional<Error> error;
  bool enough = false;
  std::uint64_t body_bytes = 0;
  Clock::time_point window_begin = Clock::now();
  curl_off_t window_bytes = 0;
};

size_t on_header(char* data, size_t, size_t size, void* user) noexcept {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::string_view line = trim({data, size});
  exchange.header_bytes += size;
  if (exchange.header_bytes > limits::header_bytes_max) {
    exchange.error = Error{Code::protocol, str("the answer's headers are longer than ",
                                               limits::header_bytes_max, " bytes")};
    return 0;
  }
  if (line.starts_with("HTTP/")) {  // also after a 100 Continue
    exchange.head = Head{status_of(line), {}};
    return size;
  }
  if (!line.empty()) {
    const auto colon = line.find(':');
    if (colon != std::string_view::npos)
      exchange.head.headers.emplace_back(lower(trim(line.substr(0, colon))),
                                         std::string{trim(line.substr(colon + 1))});
    return size;
  }
  if (exchange.head.status < 200)
    return size;  // an interim answer
  exchange.head_complete = true;
  if (exchange.sink->head)
    if (auto accepted = exchange.sink->head(exchange.head); !accepted) {
      exchange.error = std::move(accepted).error();
      return 0;
    }
  return size;
}

size_t on_body(char* data, size_t, size_t size, void* user) noexcept {
  auto& exchange = *static_cast<Exchange*>(user);
  auto flow = exchange.sink->body(std::as_bytes(std::span{data, size}));
  if (!flow) {
    exchange.error = std::move(flow).error();
    return CURL_WRITEFUNC_ERROR;
  }
  exchange.body_bytes += size;
  exchange.enough = *flow == Flow::enough;
  return exchange.enough ? size_t{CURL_WRITEFUNC_ERROR} : size;
}

int on_progress(void* user, curl_off_t, curl_off_t down, curl_off_t, curl_off_t up) noexcept {
  auto& exchange = *static_cast<Exchange*>(user);
  if (exchange.cancel->stop_requested()) {
    exchange.error = Error{Code::cancelled, "stopped"};
    return 1;
  }
  const Clock::time_point now = Clock::now();
  if (now - exchange.window_begin < slow_window)
    return 0;
  if (down + up - exchange.window_bytes < slow_window_bytes && down + up > 0) {
    exchange.error =
        Error{Code::timeout, str("less than ", slow_window_bytes, " bytes came in a minute")};
    return 1;
  }
  exchange.window_begin = now;
  exchange.window_bytes = down + up;
  return 0;
}

}  // namespace

std::string_view name(Method method) {
  switch (method) {
    case Method::get:
      return "GET";
    case Method::head:
      return "HEAD";
    case Method::post:
      return "POST";
  }
  LYK_CHECK(false);
}

std::string_view Head::get(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers)
    if (name == lower_case_name)
      return value;
  return {};
}

struct Connection::State {
  const Settings* settings = nullptr;
  CancelToken cancel;
  CurlHandle curl;
  std::array<char, CURL_ERROR_SIZE> error_text{};
};

namespace {

template <typename Value>
void set(CURL* curl, CURLoption option, Value value) {
  // Fails only for options that this libcurl was built without; those used here all exist in 7.88.
  LYK_CHECK(curl_easy_setopt(curl, option, value) == CURLE_OK);
}

template <typename Duration>
long milliseconds_of(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

// What is the same for every request of a connection.
void configure(CURL* curl, const Settings& settings) {
  set(curl, CURLOPT_NOSIGNAL, 1L);
  set(curl, CURLOPT_FOLLOWLOCATION, 0L);
  set(curl, CURLOPT_PATH_AS_IS, 1L);  // Url decides what a path is
  set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  set(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  set(curl, CURLOPT_USERAGENT, settings.user_agent.c_str());
  set(curl, CURLOPT_BUFFERSIZE, limits::transfer_buffer_bytes);
  set(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  set(curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds_of(settings.connect_timeout));
  set(curl, CURLOPT_TIMEOUT_MS, milliseconds_of(limits::transfer_deadline));
  set(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(curl, CURLOPT_LOW_SPEED_TIME, long{settings.stall_timeout.count()});
  set(curl, CURLOPT_NOPROXY, settings.proxies.no_proxy.c_str());
  if (!settings.certificates.file.empty()) {
    set(curl, CURLOPT_CAINFO, settings.certificates.file.c_str());
    set(curl, CURLOPT_PROXY_CAINFO, settings.certificates.file.c_str());
  }
  if (!settings.certificates.folder.empty()) {
    set(curl, CURLOPT_CAPATH, settings.certificates.folder.c_str());
    set(curl, CURLOPT_PROXY_CAPATH, settings.certificates.folder.c_str());
  }
  set(curl, CURLOPT_HEADERFUNCTION, on_header);
  set(curl, CURLOPT_WRITEFUNCTION, on_body);
  set(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  set(curl, CURLOPT_NOPROGRESS, 0L);
}

CurlLines lines_of(const std::vector<std::string>& header_lines) {
  CurlLines lines;
  const auto append = [&](const char* line) {
    curl_slist* longer = curl_slist_append(lines.get(), line);
    LYK_CHECK(longer != nullptr);  // out of memory
    (void)lines.release();         // it is the head of `longer`
    lines.reset(longer);
  };
  append("Accept-Encoding: identity");
  append("Expect:");  // no pause before the body of a post
  for (const std::string& line : header_lines)
    append(line.c_str());
  return lines;
}

// Where certificates were looked for, for a message.
std::string trust_of(const Certificates& certificates) {
  const std::string& path = certificates.file.empty() ? certificates.folder : certificates.file;
  return path.empty() ? std::string{"the system's certificates"}
                      : str(certificates.source, " ", quoted(path));
}

// OpenSSL opens the file by itself, and would wait for the writer of a named pipe where nothing can
// stop it. Everything else that is wrong with it is told when it is used.
Result<void> check_certificates(const Certificates& certificates) {
  struct ::stat found {};
  if (!certificates.file.empty() && ::stat(certificates.file.c_str(), &found) == 0 &&
      !S_ISREG(found.st_mode))
    return Error{Code::invalid_argument,
                 str(trust_of(certificates), " cannot be used: not a regular file")};
  return {};
}

Error certificate_error(CURL* curl, std::string_view reason, const Settings& settings) {
  long proxy_result = 0;
  (void)curl_easy_getinfo(curl, CURLINFO_PROXY_SSL_VERIFYRESULT, &proxy_result);  // 0 if unknown
  return Error{Code::refused,
               str("the certificate of the ", proxy_result != 0 ? "proxy" : "server",
                   " is not trusted by ", trust_of(settings.certificates), ": ", reason)};
}

Error timeout_error(CURL* curl, const Settings& settings, const Exchange& exchange) {
  curl_off_t connected_us = 0;
  (void)curl_easy_getinfo(curl, CURLINFO_APPCONNECT_TIME_T, &connected_us);  // stays 0 over http
  curl_off_t sent_us = 0;
  (void)curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &sent_us);
  if (connected_us == 0 && sent_us == 0)
    return Error{Code::timeout,
                 str("no connection within ", settings.connect_timeout.count(), " s")};
  const auto seconds = settings.stall_timeout.count();
  return Error{Code::timeout,
               exchange.head_complete
                   ? str("no byte came for ", seconds, " s after the first ", exchange.body_bytes)
                   : str("no answer came for ", seconds, " s")};
}

// "Failed to connect to host port 443 after 3 ms: refused" without the time: it says nothing, and
// one failure is to read the same however often it is met.
std::string without_time(std::string text) {
  constexpr std::string_view before = " after ";
  constexpr std::string_view unit = " ms";
  const std::size_t begin = text.find(before);
  if (begin == std::string::npos)
    return text;
  const std::size_t number = begin + before.size();
  const std::size_t end = text.find_first_not_of("0123456789", number);
  if (end != std::string::npos && end > number && text.compare(end, unit.size(), unit) == 0)
    text.erase(begin, end + unit.size() - begin);
  return text;
}

// The one place that turns curl's errors into ours; `text` is its error buffer.
Error curl_error(CURL* curl,
                 CURLcode code,
                 std::string_view text,
                 const Settings& settings,
                 const Exchange& exchange) {
  const std::string reason = without_time(one_line(text.empty() ? curl_easy_strerror(code) : text));
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return timeout_error(curl, settings, exchange);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return certificate_error(curl, reason, settings);
    case CURLE_SSL_CACERT_BADFILE:
      return Error{Code::invalid_argument,
                   str(trust_of(settings.certificates), " cannot be used: ", reason)};
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
      return Error{Code::protocol, str("the answer is not proper HTTP: ", reason)};
    case CURLE_OUT_OF_MEMORY:
      // This curl says the same of a header line that is longer than it takes.
      return exchange.head_complete
                 ? Error{Code::internal, "out of memory"}
                 : Error{Code::protocol, "a header line of the answer is too long"};
    default:  // NOLINT(clang-diagnostic-covered-switch-default): a foreign enum that grows
      return Error{Code::network, reason};
  }
}

}  // namespace

Connection::Connection(std::unique_ptr<State> state) : state_(std::move(state)) {}
Connection::~Connection() = default;
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;

Result<Connection> Connection::open(const Settings& settings, CancelToken cancel) {
  LYK_TRY(check_certificates(settings.certificates));
  auto state = std::make_unique<State>();
  state->settings = &settings;
  state->cancel = std::move(cancel);
  state->curl.reset(curl_easy_init());
  if (!state->curl)
    return Error{Code::internal, "curl cannot be started: out of memory"};
  configure(state->curl.get(), settings);
  return Connection{std::move(state)};
}

Result<Head> Connection::exchange(const Hop& hop, const Sink& sink) {
  CURL* curl = state_->curl.get();
  const Settings& settings = *state_->settings;
  const auto failed = [&](Error error) {
    return annotate(std::move(error), str(name(hop.method), " ", hop.url.redacted()));
  };
  Exchange exchange;
  exchange.sink = &sink;
  exchange.cancel = &state_->cancel;
  const std::string url = hop.url.text();
  const CurlLines lines = lines_of(hop.header_lines);
  set(curl, CURLOPT_URL, url.c_str());
  set(curl, CURLOPT_HTTPHEADER, lines.get());
  set(curl, CURLOPT_PROXY,
      (hop.url.is_https() ? settings.proxies.https : settings.proxies.http).c_str());
  set(curl, CURLOPT_HTTPGET, 1L);  // also ends what an earlier post or head had set
  set(curl, CURLOPT_NOBODY, hop.method == Method::head ? 1L : 0L);
  if (hop.method == Method::post) {
    set(curl, CURLOPT_POST, 1L);
    set(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(hop.body.size()));
    set(curl, CURLOPT_POSTFIELDS, hop.body.data());
  }
  set(curl, CURLOPT_HEADERDATA, &exchange);
  set(curl, CURLOPT_WRITEDATA, &exchange);
  set(curl, CURLOPT_XFERINFODATA, &exchange);
  state_->error_text.fill('\0');
  set(curl, CURLOPT_ERRORBUFFER, state_->error_text.data());
  if (state_->cancel.stop_requested())
    return failed(Error{Code::cancelled, "stopped"});
  const CURLcode code = curl_easy_perform(curl);
  if (exchange.error)
    return failed(std::move(*exchange.error));
  if (code != CURLE_OK && !exchange.enough)
    return failed(curl_error(curl, code, state_->error_text.data(), settings, exchange));
  if (!exchange.head_complete)
    return failed(Error{Code::network, "the connection closed within the headers of the answer"});
  return std::move(exchange.head);
}

}  // namespace lyk::fetcher
