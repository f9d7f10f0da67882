#include "fetcher/git_transport.hpp"

#include <fcntl.h>
#include <git2.h>
#include <git2/sys/transport.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "fetcher/upload_pack.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"
#include "proto/unique.hpp"

namespace lyk::fetcher {

namespace {

constexpr std::string_view refs_path = "/info/refs";
constexpr std::string_view refs_query = "?service=git-upload-pack";
constexpr std::string_view pack_path = "/git-upload-pack";

// An unnamed temporary file: written once, then read once.
class Spool {
public:
  static Result<Spool> open(const std::filesystem::path& folder) {
    std::string pattern = (folder / "answer.XXXXXX").string();
    UniqueFd fd{::mkostemp(pattern.data(), O_CLOEXEC)};
    if (!fd)
      return os_error(errno, str("create ", quoted(pattern)));
    if (::unlink(pattern.c_str()) != 0)
      return os_error(errno, str("unlink ", quoted(pattern)));
    return Spool{std::move(fd)};
  }

  Result<void> write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::write(fd_.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR)
        continue;
      if (put < 0)
        return os_error(errno, "write a git answer");
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return {};
  }

  Result<void> clear() {
    if (::ftruncate(fd_.get(), 0) != 0)
      return os_error(errno, "truncate a git answer");
    return rewind();
  }

  Result<void> rewind() {
    if (::lseek(fd_.get(), 0, SEEK_SET) != 0)
      return os_error(errno, "rewind a git answer");
    return {};
  }

  Result<std::size_t> read(std::span<char> out) {
    while (true) {
      const ssize_t got = ::read(fd_.get(), out.data(), out.size());
      if (got >= 0)
        return static_cast<std::size_t>(got);
      if (errno != EINTR)
        return os_error(errno, "read a git answer");
    }
  }

private:
  explicit Spool(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

Result<void> check_content_type(const Head& head, std::string_view expected) {
  std::string_view type = head.get("content-type");
  type = type.substr(0, type.find(';'));
  if (type == expected)
    return {};
  return Error{Code::protocol, str("this is not a git server's answer: its type is ", quoted(type),
                                   ", not '", expected, "'")};
}

// GET info/refs into the spool. The repo's URL follows a redirect, so that the POST goes to where
// the refs came from.
Result<void> ask_refs(GitWire& wire, Spool& spool) {
  std::string advertisement;
  HttpClient::Exchange exchange;
  exchange.make_request = [&] {
    advertisement.clear();
    return Request{Method::get,      wire.repo.below(str(refs_path, refs_query)), {}, {}, {},
                   Credential::basic};
  };
  exchange.sink.head = [](const Head& head) {
    return check_content_type(head, "application/x-git-upload-pack-advertisement");
  };
  exchange.sink.body = [&](std::span<const std::byte> bytes) -> Result<Flow> {
    if (bytes.size() > limits::git_advertisement_bytes_max - advertisement.size())
      return Error{Code::refused, str("the list of refs is longer than ",
                                      limits::git_advertisement_bytes_max, " bytes")};
    for (const std::byte byte : bytes)
      advertisement += static_cast<char>(byte);
    return Flow::go_on;
  };
  LYK_TRY_ASSIGN(const Answer answer, wire.http->send(exchange));
  auto capabilities = advertised_capabilities(advertisement);
  if (!capabilities)
    return annotate(std::move(capabilities).error(), answer.url.redacted());
  wire.capabilities = std::move(*capabilities);
  const std::string& path = answer.url.path();
  if (path.ends_with(refs_path)) {
    LYK_TRY_ASSIGN(wire.repo, Url::parse(str(answer.url.origin(),
                                             path.substr(0, path.size() - refs_path.size()))));
  }
  return spool.write(std::as_bytes(std::span{advertisement}));
}

// POST git-upload-pack into the spool.
Result<void> ask_pack(GitWire& wire, const std::string& body, Spool& spool) {
  std::optional<UploadPackReader> reader;
  std::optional<Error> restart_error;
  HttpClient::Exchange exchange;
  exchange.make_request = [&] {
    reader.emplace(wire.bounds);
    if (auto cleared = spool.clear(); !cleared)
      restart_error = std::move(cleared).error();
    return Request{Method::post,
                   wire.repo.below(pack_path),
                   {"Content-Type: application/x-git-upload-pack-request",
                    "Accept: application/x-git-upload-pack-result"},
                   {},
                   body,
                   Credential::basic};
  };
  exchange.sink.head = [&](const Head& head) -> Result<void> {
    if (restart_error)
      return *restart_error;
    return check_content_type(head, "application/x-git-upload-pack-result");
  };
  exchange.sink.body = [&](std::span<const std::byte> bytes) -> Result<Flow> {
    LYK_TRY(reader->feed(bytes));
    LYK_TRY(spool.write(bytes));
    return Flow::go_on;
  };
  exchange.finish = [&] { return reader->finish(); };
  LYK_TRY_ASSIGN(const Answer answer, wire.http->send(exchange));
  return {};
}

// libgit2's structs are the first members, so that a pointer to one is a pointer to ours.
struct Subtransport {
  git_smart_subtransport base{};
  GitWire* wire = nullptr;
};

struct Stream {
  git_smart_subtransport_stream base{};
  GitWire* wire = nullptr;
  bool lists_refs = false;
  std::string request;
  std::optional<Spool> answer;
};

int fail(GitWire& wire, Error error) {
  (void)git_error_set_str(GIT_ERROR_NET, error.message.c_str());  // ours is in the wire
  wire.error = std::move(error);
  return -1;
}

Result<Spool> ask(const Stream& stream) {
  GitWire& wire = *stream.wire;
  LYK_TRY_ASSIGN(Spool spool, Spool::open(wire.folder));
  if (stream.lists_refs)
    LYK_TRY(ask_refs(wire, spool));
  else
    LYK_TRY(ask_pack(wire, stream.request, spool));
  LYK_TRY(spool.rewind());
  return spool;
}

int stream_write(git_smart_subtransport_stream* base, const char* data, size_t size) noexcept {
  auto& stream = *reinterpret_cast<Stream*>(base);  // NOLINT: see Stream
  if (stream.request.size() + size > limits::api_bytes_max)
    return fail(*stream.wire, Error{Code::internal, "git: the request is too long"});
  stream.request.append(data, size);
  return 0;
}

int stream_read(git_smart_subtransport_stream* base,
                char* out,
                size_t size,
                size_t* read_bytes) noexcept {
  auto& stream = *reinterpret_cast<Stream*>(base);  // NOLINT: see Stream
  if (!stream.answer) {
    auto spool = ask(stream);
    if (!spool)
      return fail(*stream.wire, std::move(spool).error());
    stream.answer = std::move(*spool);
  }
  auto got = stream.answer->read({out, size});
  if (!got)
    return fail(*stream.wire, std::move(got).error());
  *read_bytes = *got;
  return 0;
}

void stream_free(git_smart_subtransport_stream* base) noexcept {
  delete reinterpret_cast<Stream*>(base);  // NOLINT: made in `action`, owned by libgit2
}

int action(git_smart_subtransport_stream** out,
           git_smart_subtransport* base,
           const char* /*url*/,
           git_smart_service_t service) noexcept {
  auto& subtransport = *reinterpret_cast<Subtransport*>(base);  // NOLINT: see Subtransport
  if (service != GIT_SERVICE_UPLOADPACK_LS && service != GIT_SERVICE_UPLOADPACK)
    return fail(*subtransport.wire, Error{Code::internal, "git: only fetching is possible"});
  auto stream = std::make_unique<Stream>();
  stream->base = {base, stream_read, stream_write, stream_free};
  stream->wire = subtransport.wire;
  stream->lists_refs = service == GIT_SERVICE_UPLOADPACK_LS;
  *out = &stream.release()->base;  // libgit2 calls stream_free
  return 0;
}

int close_subtransport(git_smart_subtransport* /*base*/) noexcept {
  return 0;
}

void free_subtransport(git_smart_subtransport* base) noexcept {
  delete reinterpret_cast<Subtransport*>(base);  // NOLINT: made in make_subtransport
}

int make_subtransport(git_smart_subtransport** out, git_transport* /*owner*/, void* wire) noexcept {
  auto subtransport = std::make_unique<Subtransport>();
  subtransport->base = {action, close_subtransport, free_subtransport};
  subtransport->wire = static_cast<GitWire*>(wire);
  *out = &subtransport.release()->base;  // libgit2 calls free_subtransport
  return 0;
}

}  // namespace

int make_git_transport(git_transport** out, git_remote* owner, void* payload) noexcept {
  git_smart_subtransport_definition definition{make_subtransport, 1, payload};
  return git_transport_smart(out, owner, &definition);
}

}  // namespace lyk::fetcher
