// Files that people write for us, read whole: pins, the configuration, tokens.
// Thread rule: system calls.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::fetcher {

struct RegularFile {
  UniqueFd fd;
  struct ::stat status {};
};

// Never waits, as opening a named pipe or reading a terminal would, for ever. Empty: it is not
// there. invalid_argument: it is no regular file. `what` begins the messages: "open '/the/file'".
Result<std::optional<RegularFile>> open_regular_file(const std::string& path,
                                                     std::string_view what);

// From where the open file stands to its end, but at most one byte more than `bytes_max`: whoever
// gets that many refuses the file. `name` is for messages.
Result<std::string> read_small_file(int fd, std::size_t bytes_max, std::string_view name);

}  // namespace lyk::fetcher
