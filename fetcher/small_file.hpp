// Files that people write for us, read whole: pins, the configuration, tokens.
// Thread rule: system calls.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "proto/result.hpp"

namespace lyk::fetcher {

// From where the open file stands to its end, but at most one byte more than `bytes_max`: whoever
// gets that many refuses the file. `name` is for messages.
Result<std::string> read_small_file(int fd, std::size_t bytes_max, std::string_view name);

}  // namespace lyk::fetcher
