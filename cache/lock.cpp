#include "cache/lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>
#include <thread>

#include "proto/digest.hpp"
#include "proto/hash.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::cache {

namespace {

// Whether `fd` is still the file of that name. Old lock files are deleted under their own lock, so
// a lock on a file that has lost its name excludes nobody.
bool is_current(int fd, const std::filesystem::path& path) {
  struct stat ours {};
  struct stat named {};
  return ::fstat(fd, &ours) == 0 && ::stat(path.c_str(), &named) == 0 &&
         ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

// Tries to follow a deleted lock file; more than this many deletions in a row do not happen.
constexpr int renamed_max = 100;

}  // namespace

std::filesystem::path LockFolder::file(std::string_view name) const {
  return folder_ / sha256(std::as_bytes(std::span{name})).hex();
}

Result<std::optional<Lock>> LockFolder::try_lock(std::string_view name,
                                                 Lock::Strength strength) const {
  const std::filesystem::path path = file(name);
  const int operation = (strength == Lock::Strength::exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
  for (int tries = 0; tries < renamed_max; ++tries) {
    UniqueFd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (!fd)
      return os_error(errno, str("open lock ", quoted(path.string())));
    if (::flock(fd.get(), operation) != 0) {
      const int number = errno;
      if (number == EWOULDBLOCK)
        return std::optional<Lock>{};
      if (number == EINTR)
        continue;
      // ENOSYS, ENOLCK, EINVAL, EOPNOTSUPP and whatever else a file system says instead of locking:
      // the work may be done twice, never wrongly.
      return std::optional{Lock{std::move(fd), false}};
    }
    if (is_current(fd.get(), path))
      return std::optional{Lock{std::move(fd), true}};
  }
  return Error{Code::io, str("lock ", quoted(path.string()), ": it disappears again and again")};
}

Result<Lock> LockFolder::lock(std::string_view name, const LockWait& wait) const {
  // flock cannot wait with a deadline. The holder is a download, so a tenth of a second is nothing.
  std::chrono::milliseconds pause{5};
  constexpr std::chrono::milliseconds pause_max{100};
  while (true) {
    LYK_TRY_ASSIGN(std::optional<Lock> lock, try_lock(name));
    if (lock)
      return std::move(*lock);
    if (wait.cancelled && wait.cancelled())
      return Error{Code::cancelled, str("lock ", quoted(name), ": given up")};
    if (std::chrono::steady_clock::now() >= wait.deadline)
      return Error{Code::busy, str("lock ", quoted(name), ": another process still holds it")};
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, pause_max);
  }
}

Result<bool> LockFolder::remove_if_free(const std::string& file_name) const {
  const std::filesystem::path path = folder_ / file_name;
  const UniqueFd fd{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
  if (!fd)
    return os_error(errno, str("open lock ", quoted(path.string())));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return false;  // in use, or a file system that cannot tell
  if (::unlink(path.c_str()) != 0)
    return os_error(errno, str("delete lock ", quoted(path.string())));
  return true;
}

}  // namespace lyk::cache
