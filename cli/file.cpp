#include "cli/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "proto/names.hpp"
#include "proto/text.hpp"
#include "proto/unique.hpp"

namespace lyk::cli {

namespace {

Error file_error(int number, std::string_view what, const std::filesystem::path& path) {
  return os_error(number, str(what, ' ', quoted(path.native())));
}

// While it lives a Ctrl-C waits, so that no temporary file is left behind.
class SignalsHeld {
public:
  SignalsHeld() {
    sigset_t held;
    (void)::sigemptyset(&held);  // cannot fail
    (void)::sigaddset(&held, SIGINT);
    (void)::sigaddset(&held, SIGTERM);
    (void)::pthread_sigmask(SIG_BLOCK, &held, &before_);  // fails only for a wrong first argument
  }
  ~SignalsHeld() { (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  SignalsHeld(SignalsHeld&&) = delete;
  SignalsHeld& operator=(SignalsHeld&&) = delete;

private:
  sigset_t before_{};
};

Result<void> write_bytes(int fd,
                         std::span<const std::byte> bytes,
                         const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      const int number = errno;
      if (number == EINTR)
        continue;
      return file_error(number, "write", path);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

// Everything until the file has its name; the caller takes the temporary file away on failure.
Result<void> fill(int fd,
                  std::span<const std::byte> bytes,
                  mode_t mode,
                  const std::filesystem::path& path) {
  LYK_TRY(write_bytes(fd, bytes, path));
  if (::fchmod(fd, mode) != 0)
    return file_error(errno, "change mode of", path);
  if (::fsync(fd) != 0)
    return file_error(errno, "fsync", path);
  return {};
}

Result<void> sync_folder(const std::filesystem::path& folder) {
  const UniqueFd fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd)
    return file_error(errno, "open folder", folder);
  if (::fsync(fd.get()) != 0)
    return file_error(errno, "fsync folder", folder);
  return {};
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path,
                                         std::uint64_t bytes_max) {
  // Not blocking: a named pipe without a writer would hold us for ever.
  const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!fd)
    return file_error(errno, "open", path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    return file_error(errno, "stat", path);
  if (!S_ISREG(status.st_mode))
    return Error{Code::invalid_argument, str(quoted(path.native()), " is not a regular file")};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > bytes_max)
    return Error{Code::invalid_argument, str(quoted(path.native()), " has ", size,
                                             " bytes, more than the limit of ", bytes_max)};
  std::vector<std::byte> bytes(size);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(fd.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0) {
      const int number = errno;
      if (number == EINTR)
        continue;
      return file_error(number, "read", path);
    }
    if (got == 0)
      break;  // it became shorter while it was read
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::uint64_t bytes_max) {
  LYK_TRY_ASSIGN(const std::vector<std::byte> bytes, read_file(path, bytes_max));
  std::string text(bytes.size(), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    text[i] = static_cast<char>(bytes[i]);
  if (!is_utf8(text))
    return Error{Code::invalid_argument, str(quoted(path.native()), " is not UTF-8 text")};
  return text;
}

namespace {

// By its descriptor: a link that somebody puts in the folder's place must not open another one.
Result<void> open_to_readers(const std::filesystem::path& folder, mode_t mode) {
  const UniqueFd fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!fd)
    return file_error(errno, "open folder", folder);
  if (::fchmod(fd.get(), mode) != 0)
    return file_error(errno, "change mode of", folder);
  return {};
}

}  // namespace

Result<void> make_folders(const std::filesystem::path& folder, FolderMode mode) {
  std::vector<std::filesystem::path> missing;
  std::error_code ignored;  // what cannot be looked at cannot be made either, and that is told
  for (std::filesystem::path at = folder; !at.empty() && !std::filesystem::exists(at, ignored);
       at = at.parent_path())
    missing.push_back(at);
  constexpr mode_t for_services = 0755;
  constexpr mode_t most = 0777;  // less the umask
  const bool is_for_services = mode == FolderMode::for_services;
  std::ranges::reverse(missing);
  for (const auto& at : missing) {
    if (::mkdir(at.c_str(), is_for_services ? for_services : most) != 0) {
      const int number = errno;
      if (number == EEXIST)
        continue;  // somebody else was faster
      return file_error(number, "create folder", at);
    }
    if (is_for_services)
      LYK_TRY(open_to_readers(at, for_services));
  }
  return {};
}

Result<void> check_may_write_into(std::filesystem::path folder) {
  std::error_code ignored;  // access(2) tells
  while (folder.has_parent_path() && folder != folder.parent_path() &&
         !std::filesystem::exists(folder, ignored))
    folder = folder.parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
    return file_error(errno, "write into", folder);
  return {};
}

Result<void> write_file(const std::filesystem::path& path,
                        std::span<const std::byte> bytes,
                        mode_t mode) {
  // A rename puts a file in the place of whatever is there, /dev/null and a symbolic link included.
  struct stat there {};
  if (::lstat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
    return Error{Code::invalid_argument,
                 str(quoted(path.native()), " is not a regular file; name one, or a new one")};
  const SignalsHeld held;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::string temporary = (folder / str('.', path.filename().native(), ".XXXXXX")).string();
  const UniqueFd fd{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (!fd)
    return file_error(errno, "create a file in", folder);
  auto written = fill(fd.get(), bytes, mode, path);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = file_error(errno, "rename to", path);
  if (!written) {
    (void)::unlink(temporary.c_str());  // the failure above is what counts
    return written;
  }
  return sync_folder(folder);
}

}  // namespace lyk::cli
