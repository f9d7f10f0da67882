// One connection: messages in, replies out, until the peer leaves, breaks the rules or the daemon
// stops. Thread rule: everything here belongs to the connection's own thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "daemon/peer.hpp"
#include "daemon/service.hpp"
#include "proto/channel.hpp"
#include "proto/message.hpp"

namespace lyk::daemon {

// A call and what it says. Who asks again mostly sends the same bytes, and the same bytes say the
// same.
struct KnownCall {
  std::string text;
  wire::ParsedCall message;
};

struct Connection {
  Channel channel;
  Peer peer;
  std::uint64_t number = 0;  // for the log
  std::chrono::milliseconds write_deadline = limits::write_deadline;
  // A reply could not be delivered: nothing more is sent.
  bool is_broken = false;
  // Slots whose images this process has got: each is logged once.
  std::set<std::string, std::less<>> handed_out = {};
  // The last call of at most limits::known_call_bytes_max; no call is empty.
  KnownCall known_call = {};
};

// Serves until the connection ends. Logs why, if it did not simply close.
void serve_connection(Service& service, Connection& connection);

}  // namespace lyk::daemon
