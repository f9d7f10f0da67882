#include "client/connection.hpp"

#include <sys/socket.h>

#include <utility>

#include "client/dial.hpp"
#include "client/received_image.hpp"
#include "proto/text.hpp"

namespace lyk::client {

Result<Connection> Connection::open(Settings settings, Audience audience) {
  Connection connection{std::move(settings), audience};
  LYK_TRY(connection.connect());
  return connection;
}

Connection::~Connection() {
  // For the service the end comes now, even if a fork has left copies of the descriptor elsewhere.
  if (channel_)
    (void)::shutdown(channel_->fd(), SHUT_RDWR);
}

void Connection::abandon() {
  channel_.reset();
}

Result<void> Connection::connect() {
  LYK_TRY_ASSIGN(DialedSocket dialed, dial(settings_, audience_));
  peer_ = std::move(dialed.peer);
  channel_.emplace(std::move(dialed.socket),
                   Channel::Options{.message_bytes_max = limits::reply_bytes_max, .wake = {}});
  return {};
}

Error Connection::lost(Error error) {
  channel_.reset();
  return annotate(std::move(error), str("service ", peer_));
}

Result<Frame> Connection::ask(std::string_view message, const CallTerms& terms) {
  error_fields_ = {};
  if (!channel_)
    LYK_TRY(connect());
  auto answer = exchange(message, terms);
  const bool is_lost = !answer && !channel_ && answer.error().code == Code::network;
  if (!is_lost || terms.repeat == Repeat::never)
    return answer;
  LYK_TRY(connect());
  return exchange(message, terms);
}

Result<Frame> Connection::exchange(std::string_view message, const CallTerms& terms) {
  auto written = channel_->write_frame(message);
  if (written)
    return next_frame(terms);
  // A service that turns a connection away says why before it closes.
  if (written.error().code == Code::network)
    if (const auto last = next_frame({.deadline = {}}))
      if (auto farewell = read_reply(last->text); !farewell && channel_)
        return lost(std::move(farewell).error());
  return lost(std::move(written).error());
}

Result<Frame> Connection::next_frame(const CallTerms& terms) {
  auto frame = channel_->read_frame(terms.deadline);
  if (!frame)
    return lost(std::move(frame).error());
  if (!*frame)
    return lost(Error{Code::network, "it closed the connection before it answered"});
  return std::move(**frame);
}

Result<wire::ParsedReply> Connection::read_reply(std::string_view text) {
  auto reply = wire::parse_reply(text);
  if (!reply)
    return lost(std::move(reply).error());
  if (reply->error) {
    error_fields_ = std::move(reply->error_fields);
    return std::move(*reply->error);
  }
  return reply;
}

Result<wire::ParsedReply> Connection::read_last_reply(std::string_view text) {
  auto reply = read_reply(text);
  if (reply && reply->continues == wire::Continues::yes)
    return lost(Error{Code::protocol, "reply: more are announced than were asked for"});
  return reply;
}

Result<wire::ResolveReply> Connection::read_resolve_reply(const SlotName& asked, std::string text) {
  if (known_ && known_->text == text && known_->reply.slot == asked.text())
    return known_->reply;
  LYK_TRY_ASSIGN(const wire::ParsedReply parsed, read_last_reply(text));
  LYK_TRY_ASSIGN(auto reply, wire::decode_parameters<wire::ResolveReply>(parsed));
  LYK_TRY(check_reply(asked, reply));
  if (text.size() <= limits::known_reply_bytes_max)
    known_.emplace(KnownReply{std::move(text), reply});
  return reply;
}

Result<ResolvedImage> Connection::resolve(wire::ResolveCall call) {
  if (!call.wait_ms && settings_.wait)
    call.wait_ms = static_cast<std::uint64_t>(settings_.wait->count());
  const std::chrono::milliseconds wait =
      call.wait_ms ? std::chrono::milliseconds{*call.wait_ms} : limits::resolve_wait_default;
  CallTerms terms = terms_of<wire::ResolveCall>;
  terms.deadline += wait;
  LYK_TRY_ASSIGN(Frame frame, ask(wire::encode_call(call, wire::Flow::single), terms));
  LYK_TRY_ASSIGN(auto reply, read_resolve_reply(call.slot, std::move(frame.text)));
  LYK_TRY(check_descriptor(frame.fd, reply.image));
  return ResolvedImage{std::move(reply), std::move(frame.fd)};
}

}  // namespace lyk::client
