#include "daemon/peer.hpp"

#include <grp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

constexpr const char* administrators_name = "libreyolo-kernels";

// Who a method of the system service is for.
enum class Circle { everyone, administrators, own_uid };

struct MethodRow {
  Method method;
  std::string_view name;
  Circle circle;
};

constexpr std::array<MethodRow, 13> methods{{
    {Method::resolve, "Resolve", Circle::everyone},
    {Method::resolve_inline_pin, "Resolve with a pin", Circle::own_uid},
    {Method::fetch, "Fetch", Circle::everyone},
    {Method::fetch_inline_pin, "Fetch with a pin", Circle::own_uid},
    {Method::probe, "Probe", Circle::own_uid},
    {Method::list, "List", Circle::everyone},
    {Method::info, "Info", Circle::everyone},
    {Method::verify, "Verify", Circle::administrators},
    {Method::remove, "Remove", Circle::administrators},
    {Method::prune, "Prune", Circle::administrators},
    {Method::pins, "Pins", Circle::everyone},
    {Method::status, "Status", Circle::everyone},
    {Method::rebuild_index, "RebuildIndex", Circle::administrators},
}};

constexpr bool methods_are_in_order() {
  for (std::size_t i = 0; i < methods.size(); ++i)
    if (static_cast<std::size_t>(methods[i].method) != i)
      return false;
  return true;
}
static_assert(methods_are_in_order(), "one row per Method, in the order of the enum");

const MethodRow& row(Method method) {
  return methods[static_cast<std::size_t>(method)];
}

Error refusal(Method method, std::string_view who) {
  return Error{Code::refused, str(name(method), ": this service answers it only to ", who)};
}

std::vector<gid_t> supplementary_groups(int fd) {
  std::vector<gid_t> groups(64);
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    const int rc = ::getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
    if (rc == 0) {
      groups.resize(size / sizeof(gid_t));
      return groups;
    }
    if (errno != ERANGE)
      break;
    groups.resize(size / sizeof(gid_t));  // the kernel said how many there are
  }
  return {};  // not known: then nobody is a member by a supplementary group
}

}  // namespace

std::string_view name(Method method) {
  return row(method).name;
}

std::optional<Method> parse_method(std::string_view name) {
  for (const MethodRow& known : methods)
    if (known.name == name)
      return known.method == Method::resolve_inline_pin || known.method == Method::fetch_inline_pin
                 ? std::nullopt
                 : std::optional{known.method};
  return std::nullopt;
}

Result<void> may(const Peer& peer, Method method, const Household& household) {
  const bool is_own = peer.uid == household.own_uid;
  if (row(method).circle == Circle::own_uid) {
    if (is_own)
      return {};
    return refusal(method,
                   str("its own user; without a service the command line starts one for you: ",
                       "set LIBREYOLO_KERNELS_SOCKET= to an empty value"));
  }
  if (is_own || peer.uid == 0)
    return {};
  if (household.mode != wire::Mode::system)
    return refusal(method, str("user ", household.own_uid, " and root"));
  if (row(method).circle == Circle::everyone || peer.is_administrator)
    return {};
  return refusal(method, str("root and the group ", administrators_name));
}

bool may_see_gated(const Peer& peer, const Household& household) {
  return peer.uid == household.own_uid || peer.uid == 0;
}

std::optional<gid_t> administrators_group() {
  std::vector<char> buffer(std::size_t{16} * 1024);
  ::group entry{};
  ::group* found = nullptr;
  if (::getgrnam_r(administrators_name, &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr)
    return std::nullopt;
  return found->gr_gid;
}

Result<Peer> peer_of(int fd, std::optional<gid_t> administrators) {
  ::ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return os_error(errno, "ask who connected");
  Peer peer{
      .uid = credentials.uid, .pid = credentials.pid, .is_administrator = credentials.uid == 0};
  if (administrators && !peer.is_administrator) {
    const std::vector<gid_t> groups = supplementary_groups(fd);
    peer.is_administrator =
        credentials.gid == *administrators ||
        std::find(groups.begin(), groups.end(), *administrators) != groups.end();
  }
  return peer;
}

}  // namespace lyk::daemon
