// Socket activation: what the one who started us left on descriptor 3 (sd_listen_fds(3)).
//
// A listener comes from systemd; a connection comes from a client that started us for itself alone
// (varlink's `exec:` convention). SO_ACCEPTCONN tells them apart. Thread rule: called once, at the
// start.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "fetcher/settings.hpp"
#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::daemon {

inline constexpr int activation_fd = 3;

// How many descriptors LISTEN_FDS passes to the process `pid`: 0, or 1; anything else is an error,
// as we have one socket. LISTEN_PID that names another process: 0. LISTEN_PID may be absent: a
// client that starts us with posix_spawn does not know our pid before it has to write it down.
Result<int> activation_count(const fetcher::Environment& environment, pid_t pid);

struct Activation {
  UniqueFd fd;
  bool is_listener = false;
};

// Takes descriptor 3 if it was passed: a Unix stream socket, close-on-exec from now on.
Result<std::optional<Activation>> take_activation(const fetcher::Environment& environment,
                                                  pid_t pid);

// Which processes may connect at all.
enum class Admission { own_user, everyone };

// The file of a socket that we made. Removed at the end if nobody answers there: a later daemon may
// have taken its place. (Device and inode would not tell: numbers are used again at once.)
class SocketFile {
public:
  explicit SocketFile(std::filesystem::path path) : path_(std::move(path)) {}
  SocketFile(SocketFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  SocketFile& operator=(SocketFile&&) = delete;
  SocketFile(const SocketFile&) = delete;
  SocketFile& operator=(const SocketFile&) = delete;
  ~SocketFile();

private:
  std::filesystem::path path_;  // empty: moved from
};

struct Listener {
  UniqueFd fd;
  SocketFile file;
};

// Creates the folder of `path` if it is missing, takes the place of a socket that nobody listens on
// any more, and listens. busy: another daemon answers there. invalid_argument: the path is too long
// for a socket address (107 bytes), or something else is there.
Result<Listener> listen_at(const std::filesystem::path& path, Admission admission);

}  // namespace lyk::daemon
