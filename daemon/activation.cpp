#include "daemon/activation.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <system_error>

#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

std::optional<long> number(std::string_view text) {
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

Result<int> socket_option(int fd, int option, std::string_view what) {
  int value = 0;
  socklen_t size = sizeof value;
  if (::getsockopt(fd, SOL_SOCKET, option, &value, &size) != 0)
    return os_error(errno, what);
  return value;
}

Result<::sockaddr_un> address_of(const std::string& path) {
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return Error{
        Code::invalid_argument,
        str("socket path ", quoted(path), ": ", path.size(), " bytes, and a socket address holds ",
            sizeof address.sun_path - 1, "; take a shorter one with --socket")};
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const ::sockaddr* generic(const ::sockaddr_un& address) {
  return reinterpret_cast<const ::sockaddr*>(&address);
}

Result<UniqueFd> stream_socket() {
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (!fd)
    return os_error(errno, "create a socket");
  return fd;
}

// One daemon at a time looks whether somebody answers, and takes the place if not.
Result<UniqueFd> lock_folder(const std::filesystem::path& socket) {
  UniqueFd folder{::open(socket.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!folder || ::flock(folder.get(), LOCK_EX) != 0)
    return os_error(errno, str("lock the folder of ", quoted(socket.string())));
  return folder;
}

// The socket file of a daemon that died stays behind; nobody answers there.
Result<void> clear_the_way(const std::string& path, const ::sockaddr_un& address) {
  struct ::stat found {};
  if (::lstat(path.c_str(), &found) != 0)
    return errno == ENOENT ? Result<void>{} : os_error(errno, str("stat ", quoted(path)));
  if (!S_ISSOCK(found.st_mode))
    return Error{Code::invalid_argument,
                 str("socket path ", quoted(path), ": something else than a socket is there")};
  LYK_TRY_ASSIGN(const UniqueFd probe, stream_socket());
  if (::connect(probe.get(), generic(address), sizeof address) == 0)
    return Error{Code::busy,
                 str("socket path ", quoted(path), ": another daemon answers there; stop it, or ",
                     "take another path with --socket")};
  if (errno != ECONNREFUSED)
    return os_error(errno, str("connect ", quoted(path)));
  if (::unlink(path.c_str()) != 0)
    return os_error(errno, str("remove the stale socket ", quoted(path)));
  return {};
}

}  // namespace

Result<int> activation_count(const fetcher::Environment& environment, pid_t pid) {
  const auto fds = environment.find("LISTEN_FDS");
  if (fds == environment.end() || fds->second.empty())
    return 0;
  const auto wanted_pid = environment.find("LISTEN_PID");
  if (wanted_pid != environment.end() && !wanted_pid->second.empty() &&
      number(wanted_pid->second) != static_cast<long>(pid))
    return 0;
  const std::optional<long> count = number(fds->second);
  if (!count || *count < 0 || *count > 1)
    return Error{Code::invalid_argument,
                 str("LISTEN_FDS=", quoted(fds->second), ": this daemon takes exactly one socket")};
  return static_cast<int>(*count);
}

Result<std::optional<Activation>> take_activation(const fetcher::Environment& environment,
                                                  pid_t pid) {
  LYK_TRY_ASSIGN(const int count, activation_count(environment, pid));
  if (count == 0)
    return std::optional<Activation>{};
  Activation activation{.fd = UniqueFd{activation_fd}};
  if (::fcntl(activation_fd, F_SETFD, FD_CLOEXEC) != 0)
    return os_error(errno, "descriptor 3 of LISTEN_FDS");
  LYK_TRY_ASSIGN(const int domain,
                 socket_option(activation_fd, SO_DOMAIN, "descriptor 3 of LISTEN_FDS"));
  LYK_TRY_ASSIGN(const int type,
                 socket_option(activation_fd, SO_TYPE, "descriptor 3 of LISTEN_FDS"));
  if (domain != AF_UNIX || type != SOCK_STREAM)
    return Error{Code::invalid_argument, "descriptor 3 of LISTEN_FDS: not a Unix stream socket"};
  LYK_TRY_ASSIGN(const int listens,
                 socket_option(activation_fd, SO_ACCEPTCONN, "descriptor 3 of LISTEN_FDS"));
  activation.is_listener = listens != 0;
  return std::optional<Activation>{std::move(activation)};
}

SocketFile::~SocketFile() {
  if (path_.empty())
    return;
  const auto folder = lock_folder(path_);
  const auto address = address_of(path_.string());
  if (folder && address)
    (void)clear_the_way(path_.string(),
                        *address);  // one that stays is stale, and the next one knows
}

Result<Listener> listen_at(const std::filesystem::path& path, Admission admission) {
  const std::filesystem::path absolute = std::filesystem::absolute(path);
  const std::string text = path.string();
  LYK_TRY_ASSIGN(const ::sockaddr_un address, address_of(text));
  std::error_code failure;
  std::filesystem::create_directories(absolute.parent_path(), failure);
  if (failure)
    return os_error(failure.value(), str("create ", quoted(absolute.parent_path().string())));
  LYK_TRY_ASSIGN(const UniqueFd folder, lock_folder(absolute));
  LYK_TRY(clear_the_way(text, address));
  LYK_TRY_ASSIGN(UniqueFd fd, stream_socket());
  if (::bind(fd.get(), generic(address), sizeof address) != 0)
    return os_error(errno, str("bind ", quoted(text)));
  SocketFile file(absolute);
  // The mode is set before anybody can connect: bind makes the file, listen opens it for business.
  if (::chmod(text.c_str(), admission == Admission::everyone ? 0666 : 0600) != 0)
    return os_error(errno, str("set the mode of ", quoted(text)));
  if (::listen(fd.get(), SOMAXCONN) != 0)
    return os_error(errno, str("listen at ", quoted(text)));
  return Listener{std::move(fd), std::move(file)};
}

}  // namespace lyk::daemon
