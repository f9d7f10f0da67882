// Framing: JSON messages ended by NUL on a stream socket, with at most one descriptor attached to a
// message. FrameReader is pure: bytes and descriptors in, whole messages out; Channel does the I/O.
//
// The kernel may coalesce reads, so that the descriptor of a later message arrives together with an
// earlier one (or, on Linux, never earlier than the first byte it was sent with). A sender therefore sends
// every message with one sendmsg that begins at the message's first byte, and the reader never reads
// past the end of a message that carries a descriptor: descriptors queue in order of arrival, and each is
// given to the message whose bytes it came with (facts traps 7, 8).
// Thread rule: one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk {

struct Frame {
  std::string text;  // without the NUL
  UniqueFd fd;
};

class FrameReader {
 public:
  explicit FrameReader(std::size_t message_bytes_max) : message_bytes_max_(message_bytes_max) {}

  // What one recvmsg returned. An error (protocol) if a message grows beyond its limit or more than
  // limits::fds_per_message_max descriptors come with one message; the connection is then of no use.
  Result<void> feed(std::span<const char> bytes, std::vector<UniqueFd> fds);
  std::optional<Frame> next();
  // Bytes of a message that has begun and not ended.
  std::size_t partial_bytes() const;

 private:
  std::size_t message_bytes_max_;
  std::string partial_;
  std::optional<UniqueFd> partial_fd_;
  std::deque<Frame> ready_;
};

}  // namespace lyk
