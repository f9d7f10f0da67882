// Who answers (DESIGN section 4): the sockets where a service may listen, in order, and else a
// service of our own. Whoever listens is known by SO_PEERCRED before a byte is sent.
// Thread rule: safe from any thread.
#pragma once

#include <string>

#include "client/connection.hpp"
#include "client/settings.hpp"
#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::client {

struct DialedSocket {
  UniqueFd socket;
  std::string peer;  // for people, in quotes
};

// Errors as Connection::open.
Result<DialedSocket> dial(const Settings& settings, Audience audience);

}  // namespace lyk::client
