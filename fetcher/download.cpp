#include "fetcher/download.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "fetcher/content_range.hpp"
#include "fetcher/hub_json.hpp"
#include "fetcher/hub_paths.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

std::optional<std::uint64_t> content_length(const Head& head) {
  const std::string_view text = head.get("content-length");
  std::uint64_t length = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size())
    return std::nullopt;
  return length;
}

// The bytes of one file on their way into a staging file, over as many requests as it takes.
class Incoming {
public:
  Incoming(cache::Store& store, const Download& wanted) : store_(store), wanted_(wanted) {}

  // The request for what is still missing.
  Request next(Request request) {
    asked_from_ = 0;
    if (staging_ && resumes_ && staging_->bytes_so_far() > 0 &&
        staging_->bytes_so_far() != total()) {
      asked_from_ = staging_->bytes_so_far();
      request.header_lines.push_back(str("Range: bytes=", asked_from_, "-"));
    }
    return request;
  }

  Result<void> begin(const Head& head) {
    is_html_ = head.get("content-type").starts_with("text/html");
    std::uint64_t present = 0;
    if (asked_from_ > 0) {
      const std::string_view range = head.get("content-range");
      switch (judge_range(head.status, range, asked_from_, total())) {
        case RangeVerdict::append:
          present = asked_from_;
          break;
        case RangeVerdict::start_over:
          break;
        case RangeVerdict::useless:
          resumes_ = false;
          return Error{Code::network,
                       str("asked for the bytes from ", asked_from_, ", answered ", quoted(range))};
      }
    } else if (head.status != 200) {
      return Error{Code::protocol, str("status ", head.status, " to a request for the whole file")};
    }
    const auto length = content_length(head);
    announced_.reset();
    if (length) {
      LYK_TRY(check_total(present + *length));
      announced_ = present + *length;
    }
    if (!staging_)
      return stage(length);
    return present > 0 ? Result<void>{} : staging_->restart();
  }

  Result<Flow> add(std::span<const std::byte> bytes) {
    if (const auto whole = total(); whole && staging_->bytes_so_far() + bytes.size() > *whole)
      return wrong_size("more bytes come than the ", *whole);
    LYK_TRY(check_unannounced(staging_->bytes_so_far() + bytes.size()));
    LYK_TRY(staging_->write(bytes));
    if (wanted_.progress)
      wanted_.progress({staging_->bytes_so_far(), total() ? total() : announced_});
    return Flow::go_on;
  }

  Result<void> finish() const {
    const auto whole = total();
    if (!whole || staging_->bytes_so_far() == *whole)
      return {};
    if (is_html_)
      return html_error();
    return Error{Code::network, str("the answer ended after ", staging_->bytes_so_far(), " of ",
                                    *whole, " bytes")};
  }

  Result<cache::Blob> commit() {
    LYK_CHECK(staging_.has_value());
    auto blob = store_.commit(std::move(*staging_), wanted_.entry, cache::now());
    staging_.reset();
    if (!blob && blob.error().code == Code::digest_mismatch && is_html_)
      return html_error();
    return blob;
  }

private:
  std::optional<std::uint64_t> total() const { return wanted_.entry.proof.bytes; }

  Result<void> stage(std::optional<std::uint64_t> length) {
    const auto whole = total();
    const cache::StageSize size =
        whole ? cache::StageSize::exactly(*whole)
              : cache::StageSize{length.value_or(unannounced_max()), length.value_or(0)};
    LYK_TRY_ASSIGN(staging_, store_.stage(size));
    return {};
  }

  // A proof by digests alone names no size, and an answer need not either: then the store's own
  // limit is the only one that its owner has set.
  std::uint64_t unannounced_max() const {
    return std::min(limits::file_bytes_max, store_.bytes_max());
  }

  Result<void> check_unannounced(std::uint64_t bytes) const {
    if (total() || bytes <= unannounced_max())
      return {};
    if (unannounced_max() == limits::file_bytes_max)
      return Error{Code::refused,
                   str("more than ", limits::file_bytes_max, " bytes, and more are never fetched")};
    return Error{Code::no_space, str("more than ", unannounced_max(),
                                     " bytes come, and cache_max_bytes is ", store_.bytes_max())};
  }

  // What the answer promises, before its first byte.
  Result<void> check_total(std::uint64_t promised) const {
    const auto whole = total();
    if (!whole && promised > limits::file_bytes_max)
      return Error{Code::refused, str(promised, " bytes, and more than ", limits::file_bytes_max,
                                      " are never fetched")};
    if (!whole || promised == *whole)
      return {};
    if (is_html_)
      return html_error();
    return wrong_size(str(promised, " bytes are announced, not the "), *whole);
  }

  static Error wrong_size(std::string_view what, std::uint64_t whole) {
    return Error{Code::size_mismatch, str(what, whole, " that the proof names")};
  }

  static Error html_error() {
    return Error{
        Code::protocol,
        "a web page came where the file should be; is a proxy's or login page in between?"};
  }

  cache::Store& store_;
  const Download& wanted_;
  std::optional<cache::Staging> staging_;
  std::optional<std::uint64_t> announced_;  // by the present answer, of the whole file
  std::uint64_t asked_from_ = 0;
  bool resumes_ = true;
  bool is_html_ = false;
};

// Failures that no other source can mend.
bool is_final(const Error& error) {
  switch (error.code) {
    case Code::cancelled:
    case Code::no_space:
    case Code::io:
    case Code::corrupt_store:
    case Code::internal:
      return true;
    default:  // NOLINT(clang-diagnostic-switch-enum): the rest may be the source's
      return false;
  }
}

// One source. Wrong bytes are asked for once more: they may come from one bad machine of many.
Result<cache::Blob> from_source(cache::Store& store,
                                const Download& wanted,
                                const Request& request,
                                HttpClient& http) {
  constexpr int mismatches_max = 2;
  for (int mismatches = 1;; ++mismatches) {
    Incoming incoming{store, wanted};
    HttpClient::Exchange exchange;
    exchange.make_request = [&] { return incoming.next(request); };
    exchange.sink.head = [&](const Head& head) { return incoming.begin(head); };
    exchange.sink.body = [&](std::span<const std::byte> bytes) { return incoming.add(bytes); };
    exchange.finish = [&] { return incoming.finish(); };
    LYK_TRY_ASSIGN(const Answer answer, http.send(exchange));
    auto blob = incoming.commit();
    if (blob)
      return blob;
    if (blob.error().code != Code::digest_mismatch || mismatches == mismatches_max)
      return annotate(std::move(blob).error(),
                      str(name(request.method), " ", answer.url.redacted()));
  }
}

Result<cache::Blob> from_lfs(cache::Store& store,
                             const Download& wanted,
                             const Context& context,
                             HttpClient& http) {
  const cache::Entry& entry = wanted.entry;
  const Pointer object{*entry.proof.sha256, *entry.proof.bytes};
  const cache::Origin& origin = entry.name.origin;
  const Request batch{
      Method::post,
      lfs_batch_url(context.settings.endpoint, origin.type, origin.repo),
      {"Accept: application/vnd.git-lfs+json", "Content-Type: application/vnd.git-lfs+json"},
      {},
      lfs_batch_request(object),
      Credential::basic};
  LYK_TRY_ASSIGN(const HttpClient::Text text, http.text(batch, limits::api_bytes_max));
  LYK_TRY_ASSIGN(const LfsAction action, parse_lfs_batch(text.body, object));
  if (context.settings.endpoint.is_https() && !action.href.is_https())
    return Error{Code::refused,
                 str("lfs batch: a link from https to http refused: ", action.href.redacted())};
  Request request{Method::get, action.href, {}, {}, {}, Credential::none};
  for (const auto& [header, value] : action.headers)
    request.origin_header_lines.push_back(str(header, ": ", value));
  return from_source(store, wanted, request, http);
}

// The LFS batch can help where the link failed, not where the endpoint itself did, gives no access,
// or answered something that nobody should go on with.
bool is_lfs_worth_it(const cache::Proof& proof, const Error& error, const Failure& failure) {
  const bool endpoint_failed =
      error.code == Code::network || error.code == Code::timeout || error.code == Code::refused ||
      (failure.answerer == Answerer::origin &&
       (is_transient(failure.status) || failure.status == 401 || failure.status == 403));
  return proof.sha256 && proof.bytes && !endpoint_failed;
}

}  // namespace

Result<cache::Blob> download(cache::Store& store,
                             const Download& wanted,
                             const Context& context,
                             HttpClient& http) {
  const cache::FileName& name = wanted.entry.name;
  const auto request = [&](const Url& base, Credential credential) {
    return Request{
        Method::get,
        resolve_url(base, name.origin.type, name.origin.repo, name.origin.commit, name.path),
        {},
        {},
        {},
        credential};
  };
  http.forget_failure();
  auto blob =
      from_source(store, wanted, request(context.settings.endpoint, Credential::bearer), http);
  if (blob || is_final(blob.error()))
    return blob;
  Error error = std::move(blob).error();
  const auto add = [&](std::string_view source, const Error& another) {
    const bool same = error.message.find(another.message) != std::string::npos;
    error.message += str("; ", source, ": ", same ? "the same" : another.message);
  };
  if (is_lfs_worth_it(wanted.entry.proof, error, http.last_failure())) {
    blob = from_lfs(store, wanted, context, http);
    if (blob || is_final(blob.error()))
      return blob;
    add("then by LFS batch", blob.error());
  }
  for (const Url& mirror : context.settings.mirrors) {
    blob = from_source(store, wanted, request(mirror, Credential::none), http);
    if (blob || is_final(blob.error()))
      return blob;
    add("then from the mirror", blob.error());
  }
  return error;
}

cache::Visibility visibility_of(const cache::FileName& file, const Context& context) {
  Context anonymous{context.settings, {}, context.cancel, context.pause};
  anonymous.settings.token = {};
  auto http = HttpClient::open(anonymous);
  if (!http)
    return cache::Visibility::gated;
  const auto head = http->peek(Request{Method::head,
                                       resolve_url(context.settings.endpoint, file.origin.type,
                                                   file.origin.repo, file.origin.commit, file.path),
                                       {},
                                       {},
                                       {},
                                       Credential::none});
  // The Hub's own words, not any redirect: a login page in between must not make a gated file open.
  const bool redirected =
      head && head->status >= 300 && head->status < 400 &&
      (!head->get("x-repo-commit").empty() ||
       head->get("location").find("/api/resolve-cache/") != std::string_view::npos);
  const bool open = head && (head->status == 200 || redirected);
  return open ? cache::Visibility::open : cache::Visibility::gated;
}

}  // namespace lyk::fetcher
