// A connection to whoever answers: a running service, or one that this process starts for itself.
// Calls are values of proto/methods.hpp; what comes back is checked before it is believed.
//
//   LYK_TRY_ASSIGN(auto settings, parse_settings(Environment::of_process()));
//   LYK_TRY_ASSIGN(auto connection, Connection::open(std::move(settings)));
//   LYK_TRY_ASSIGN(auto list, connection.call<wire::ListReply>(wire::ListCall{}));
//   LYK_TRY_ASSIGN(auto done, connection.stream<wire::FetchReply>(call, [](const auto& reply) {}));
//
// A service that is restarted closes its connections. Calls that change nothing are then repeated
// once on a new connection; others fail with Code::network, since nobody knows how far they came.
// After any other failure of the transport the next call begins with a new connection.
//
// Thread rule: one thread at a time. A child of fork must not use its parent's connection:
// client/shared_connection.hpp takes care of that.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "client/settings.hpp"
#include "proto/channel.hpp"
#include "proto/frame.hpp"
#include "proto/limits.hpp"
#include "proto/message.hpp"
#include "proto/methods.hpp"
#include "proto/names.hpp"
#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::client {

// own_uid is for what only a service of the caller's own user answers (Probe, Fetch of an inline
// pin): the system service is not asked, and a listener of another user is passed over.
enum class Audience { anyone, own_uid };

// An image as it was received: the sealed memfd and what the service proved about it. The bytes in
// it can no longer change; the descriptor's offset is shared with others, so map it or use pread.
struct ResolvedImage {
  wire::ResolveReply reply;
  UniqueFd fd;
};

// What a call is worth when its connection breaks, and how long its answer may take.
enum class Repeat { never, once };
struct CallTerms {
  Repeat repeat = Repeat::never;
  std::chrono::milliseconds deadline = limits::work_deadline;  // for each message of the answer
};
template <typename CallType>
inline constexpr CallTerms terms_of{};
template <>
inline constexpr CallTerms terms_of<wire::ResolveCall>{Repeat::once, limits::reply_deadline};
template <>
inline constexpr CallTerms terms_of<wire::ListCall>{Repeat::once, limits::reply_deadline};
template <>
inline constexpr CallTerms terms_of<wire::InfoCall>{Repeat::once, limits::reply_deadline};
template <>
inline constexpr CallTerms terms_of<wire::PinsCall>{Repeat::once, limits::reply_deadline};
template <>
inline constexpr CallTerms terms_of<wire::StatusCall>{Repeat::once, limits::reply_deadline};

class Connection {
public:
  // Connects in the order of DESIGN section 4. Errors: refused (the listener is neither root nor
  // this user nor trusted), invalid_argument (a path that no socket can have), busy (its backlog is
  // full), network (nobody answers; the text says what was tried and why not), io.
  static Result<Connection> open(Settings settings, Audience audience = Audience::anyone);

  Connection(Connection&& other) noexcept = default;
  Connection& operator=(Connection&& other) noexcept = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Asks for one reply.
  template <typename ReplyType, typename CallType>
  Result<ReplyType> call(const CallType& call) {
    LYK_TRY_ASSIGN(const Frame frame,
                   ask(wire::encode_call(call, wire::Flow::single), terms_of<CallType>));
    LYK_TRY_ASSIGN(const wire::ParsedReply reply, read_last_reply(frame.text));
    return wire::decode_parameters<ReplyType>(reply);
  }

  // Asks for a stream: `progress(const ReplyType&)` is called for every reply but the last, which
  // is returned. It must not call this connection.
  template <typename ReplyType, typename CallType, typename Progress>
  Result<ReplyType> stream(const CallType& call, const Progress& progress) {
    constexpr CallTerms terms{Repeat::never, terms_of<CallType>.deadline};
    LYK_TRY_ASSIGN(Frame frame, ask(wire::encode_call(call, wire::Flow::more), terms));
    LYK_TRY_ASSIGN(wire::ParsedReply reply, read_reply(frame.text));
    while (reply.continues == wire::Continues::yes) {
      auto step = wire::decode_parameters<ReplyType>(reply);
      if (!step)
        return lost(std::move(step).error());
      progress(*step);
      LYK_TRY_ASSIGN(frame, next_frame(terms));
      LYK_TRY_ASSIGN(reply, read_reply(frame.text));
    }
    return wire::decode_parameters<ReplyType>(reply);
  }

  // Without call.wait_ms the wait is LIBREYOLO_KERNELS_WAIT, else the service's default.
  Result<ResolvedImage> resolve(wire::ResolveCall call);

  // Beside the last error that a service answered: the slot, the refused images. Empty after any
  // other outcome.
  const wire::ErrorFields& error_fields() const { return error_fields_; }

  // Who answers, for people: "'/run/libreyolo-kernels/socket'" or "'/usr/bin/libreyolo-kernelsd'".
  const std::string& peer() const { return peer_; }

  // For a child of fork: closes this copy of the connection and leaves the parent's as it is.
  void abandon();

private:
  // A reply to Resolve as it was received, and what it says, checked. Who asks again mostly gets
  // the same bytes, and the same bytes say the same; the descriptor beside them is another matter.
  struct KnownReply {
    std::string text;
    wire::ResolveReply reply;
  };

  Connection(Settings settings, Audience audience)
      : settings_(std::move(settings)), audience_(audience) {}

  Result<void> connect();
  Result<Frame> ask(std::string_view message, const CallTerms& terms);
  Result<Frame> exchange(std::string_view message, const CallTerms& terms);
  Result<Frame> next_frame(const CallTerms& terms);
  // What the service says; an error of its is one here.
  Result<wire::ParsedReply> read_reply(std::string_view text);
  Result<wire::ParsedReply> read_last_reply(std::string_view text);
  Result<wire::ResolveReply> read_resolve_reply(const SlotName& asked, std::string text);
  // Gives the connection up, since whose turn it is on it is no longer known.
  Error lost(Error error);

  Settings settings_;
  Audience audience_;
  std::string peer_;
  std::optional<Channel> channel_;
  wire::ErrorFields error_fields_;
  std::optional<KnownReply> known_;  // of at most limits::known_reply_bytes_max
};

}  // namespace lyk::client
