#include "fetcher/small_file.hpp"

#include <unistd.h>

#include <cerrno>

#include "proto/text.hpp"

namespace lyk::fetcher {

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
