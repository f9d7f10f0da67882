#include "client/dial.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "client/activation.hpp"
#include "client/shortage.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

// A socket that was tried: a line, or why nobody who may answer is there.
struct Attempt {
  UniqueFd socket;
  std::string reason;
};

constexpr std::size_t path_bytes_max = sizeof(sockaddr_un::sun_path) - 1;

// Empty if a socket can have this path.
std::string why_no_socket(std::string_view path) {
  if (path.size() <= path_bytes_max)
    return {};
  return str(quoted(path), ": its path has ", path.size(), " bytes, a socket's can have at most ",
             path_bytes_max);
}

// Waits for a full backlog: a local connect works at once or never, but for this.
int connect_patiently(int socket, const sockaddr_un& address) {
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);  // as the socket API wants it
  if (::connect(socket, generic, sizeof(address)) == 0)
    return 0;
  if (errno != EAGAIN)
    return errno;
  const timeval patience{.tv_sec = limits::connect_deadline.count(), .tv_usec = 0};
  if (::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
      ::fcntl(socket, F_SETFL, 0) != 0)  // blocking: only then does connect wait
    return errno;
  while (::connect(socket, generic, sizeof(address)) != 0)
    if (errno != EINTR)  // a signal of the host's
      return errno;
  return 0;
}

// Nobody may hand us code but root, ourselves, and whom the user names.
Result<std::string> check_listener(int socket, const Settings& settings, Audience audience) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return os_error(errno, "ask who listens");
  const uid_t self = ::geteuid();
  if (audience == Audience::own_uid && peer.uid != self)
    return str("it is of uid ", peer.uid, ", and only a service of this user may answer this");
  if (peer.uid == 0 || peer.uid == self || peer.uid == settings.trusted_uid)
    return std::string{};
  return Error{Code::refused,
               str("uid ", peer.uid, " listens there, which is neither root nor uid ", self,
                   " (LIBREYOLO_KERNELS_TRUST_UID=", peer.uid, " would accept it)")};
}

Result<Attempt> try_socket(const std::string& path, const Settings& settings, Audience audience) {
  if (std::string reason = why_no_socket(path); !reason.empty())
    return Attempt{{}, std::move(reason)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), std::begin(address.sun_path));  // the rest stays NUL
  Attempt attempt{UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)}, {}};
  if (!attempt.socket)
    return passing_error(errno, "make a socket");
  const int number = connect_patiently(attempt.socket.get(), address);
  if (number == EAGAIN)
    return Error{Code::busy, str("service at ", quoted(path), ": it accepts no connection")};
  if (number != 0) {
    attempt.reason = os_error(number, quoted(path)).message;
    return attempt;
  }
  auto reason = check_listener(attempt.socket.get(), settings, audience);
  if (!reason)
    return annotate(std::move(reason).error(), str("service at ", quoted(path)));
  if (!reason->empty())
    attempt.reason = str(quoted(path), ": ", *reason);
  return attempt;
}

// A socket that the user named is the only one: an answer from elsewhere would hide the mistake.
Result<DialedSocket> dial_named(const Settings& settings) {
  if (const std::string reason = why_no_socket(settings.socket); !reason.empty())
    return Error{Code::invalid_argument, str("socket ", reason)};
  LYK_TRY_ASSIGN(Attempt attempt, try_socket(settings.socket, settings, Audience::anyone));
  if (attempt.reason.empty())
    return DialedSocket{std::move(attempt.socket), quoted(settings.socket)};
  return Error{Code::network,
               str("no service at ", attempt.reason, " (start one there, or name no socket)")};
}

Result<DialedSocket> dial_own(const Settings& settings, std::string_view tried) {
  if (settings.activation == Activation::forbidden)
    return Error{Code::network, str("no service answers: ", tried,
                                    "and LIBREYOLO_KERNELS_EXEC=0 forbids to start one (start the "
                                    "system service, or unset it)")};
  LYK_TRY_ASSIGN(const std::string program, find_program(settings));
  LYK_TRY_ASSIGN(UniqueFd socket, activate(program, settings.environment));
  return DialedSocket{std::move(socket), quoted(program)};
}

}  // namespace

Result<DialedSocket> dial(const Settings& settings, Audience audience) {
  if (audience == Audience::anyone && !settings.socket.empty())
    return dial_named(settings);
  std::string tried;
  for (const std::string* path :
       {&settings.socket, &settings.system_socket, &settings.user_socket}) {
    // systemd listens for the system service: for root that would look like its own.
    if (path->empty() || (path == &settings.system_socket && audience == Audience::own_uid))
      continue;
    LYK_TRY_ASSIGN(Attempt attempt, try_socket(*path, settings, audience));
    if (attempt.reason.empty())
      return DialedSocket{std::move(attempt.socket), quoted(*path)};
    tried += str(attempt.reason, "; ");
  }
  auto dialed = dial_own(settings, tried);
  if (!dialed && dialed.error().code == Code::network && settings.activation == Activation::allowed)
    dialed.error().message = str("no service answers: ", tried, dialed.error().message);
  return dialed;
}

}  // namespace lyk::client
