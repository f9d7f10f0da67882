// Standard error of a host, which may be a pipe that nobody reads any more.
// Thread rule: safe from any thread.
#pragma once

#include <string_view>

namespace lyk::client {

// Writes `line` in one piece, so that lines of several processes do not mix. What cannot be written
// is lost, and no SIGPIPE comes of it.
void write_to_standard_error(std::string_view line) noexcept;

}  // namespace lyk::client
