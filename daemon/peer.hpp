// Who is at the other end of a connection, and what they may ask for (DESIGN section 4).
//
// The kernel tells who connected (SO_PEERCRED, SO_PEERGROUPS), nothing that the peer says counts.
// The decision is a pure function, tested by a table. Thread rule: values.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

#include "proto/methods.hpp"
#include "proto/result.hpp"

namespace lyk::daemon {

struct Peer {
  uid_t uid = 0;
  pid_t pid = 0;
  bool is_administrator = false;  // root, or a member of the group libreyolo-kernels
};

// Every method, and apart from them Resolve and Fetch with a pin of the caller's own: it names a
// repo, not a slot.
enum class Method {
  resolve,
  resolve_inline_pin,
  fetch,
  fetch_inline_pin,
  probe,
  list,
  info,
  verify,
  remove,
  prune,
  pins,
  status,
  rebuild_index,
};

std::string_view name(Method method);
// By the name in the varlink file; never one with a pin.
std::optional<Method> parse_method(std::string_view name);

// What the rules depend on besides the peer.
struct Household {
  wire::Mode mode = wire::Mode::user;
  uid_t own_uid = 0;
};

// Refused with a line that says who may.
Result<void> may(const Peer& peer, Method method, const Household& household);

// Whether the peer may be given files of a gated repo whose pin does not say `public = true`.
bool may_see_gated(const Peer& peer, const Household& household);

// Group id of libreyolo-kernels; absent where the group does not exist.
std::optional<gid_t> administrators_group();

// Asks the kernel about a connected Unix socket.
Result<Peer> peer_of(int fd, std::optional<gid_t> administrators);

}  // namespace lyk::daemon
