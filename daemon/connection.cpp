#include "daemon/connection.hpp"

#include <utility>

#include "daemon/handlers.hpp"
#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

void send(Connection& connection, std::string_view text, int fd) {
  if (connection.is_broken)
    return;
  if (auto sent = connection.channel.write_frame(text, fd, connection.write_deadline); !sent)
    connection.is_broken = true;
}

std::string_view method_name(const Call& call) {
  return call.message.method;
}

// A private instance has one listener, who gets the error anyway and shares its stderr with us.
void log_failure(const Call& call, const Error& error) {
  if (call.service.household().mode == wire::Mode::private_instance)
    return;
  const bool is_refusal = error.code == Code::refused || error.code == Code::busy;
  const bool is_ours = error.code == Code::internal || error.code == Code::corrupt_store ||
                       error.code == Code::io || error.code == Code::no_space;
  const Level level = is_ours ? Level::error : is_refusal ? Level::warning : Level::info;
  call.service.log().write(level, is_refusal ? event::call_refused : event::call_failed,
                           {{"method", method_name(call)},
                            {"code", info(error.code).name},
                            {"error", error.message},
                            {"uid", call.connection.peer.uid},
                            {"pid", call.connection.peer.pid},
                            {"conn", call.connection.number},
                            {"then", "the caller got this error"}});
}

void serve_call(Service& service, Connection& connection, const wire::ParsedCall& message) {
  Call call{.service = service, .connection = connection, .message = message, .error_fields = {}};
  Result<Answer> result = answer(call);
  if (!result && result.error().code == Code::refused)
    ++service.tally.lock()->counters.refused_calls;
  if (connection.is_broken)
    return;
  if (!result)
    log_failure(call, result.error());
  if (message.flow == wire::Flow::oneway)
    return;
  if (result)
    send(connection, result->view(), result->fd());
  else
    send(connection, wire::encode_error(result.error(), call.error_fields), -1);
}

// An error: `text` is not a call.
Result<void> serve_text(Service& service, Connection& connection, std::string text) {
  KnownCall& known = connection.known_call;
  if (text != known.text) {
    LYK_TRY_ASSIGN(wire::ParsedCall message, wire::parse_call(text));
    if (text.size() > limits::known_call_bytes_max) {
      serve_call(service, connection, message);
      return {};
    }
    known = {.text = std::move(text), .message = std::move(message)};
  }
  serve_call(service, connection, known.message);
  return {};
}

// Why reading ended, where it is worth a line.
void log_end(const Service& service, const Connection& connection, const Error& error) {
  if (error.code == Code::cancelled)
    return;  // we are stopping
  service.log().warning(event::connection_broken, {{"error", error.message},
                                                   {"uid", connection.peer.uid},
                                                   {"pid", connection.peer.pid},
                                                   {"conn", connection.number},
                                                   {"then", "the connection is closed"}});
}

}  // namespace

void tell(Call& call, std::string_view text) {
  send(call.connection, text, -1);
}

void serve_connection(Service& service, Connection& connection) {
  while (!connection.is_broken) {
    Result<std::optional<Frame>> frame = connection.channel.read_frame();
    if (!frame) {
      // The peer may still be reading: it learns why before it is cut off.
      if (frame.error().code == Code::protocol || frame.error().code == Code::timeout)
        send(connection, wire::encode_error(frame.error()), -1);
      log_end(service, connection, frame.error());
      return;
    }
    if (!*frame)
      return;
    if (auto served = serve_text(service, connection, std::move((*frame)->text)); !served) {
      send(connection, wire::encode_error(served.error()), -1);
      log_end(service, connection, served.error());
      return;
    }
  }
}

}  // namespace lyk::daemon
