#include "fetcher/small_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "proto/text.hpp"

namespace lyk::fetcher {

Result<std::optional<RegularFile>> open_regular_file(const std::string& path,
                                                     std::string_view what) {
  RegularFile file{
      .fd = UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)}};
  if (!file.fd) {
    const int number = errno;
    if (number == ENOENT || number == ENOTDIR)
      return std::optional<RegularFile>{};
    return os_error(number, what);
  }
  if (::fstat(file.fd.get(), &file.status) != 0)
    return os_error(errno, what);
  if (!S_ISREG(file.status.st_mode))
    return Error{Code::invalid_argument, str(what, ": not a regular file")};
  return std::optional{std::move(file)};
}

Result<std::string> read_small_file(int fd, std::size_t bytes_max, std::string_view name) {
  std::string text(bytes_max + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return os_error(errno, str("read ", name));
    if (got == 0)
      break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace lyk::fetcher
