// Framing: JSON messages ended by NUL on a stream socket, with at most one descriptor attached to a
// message. FrameReader is pure: bytes and descriptors in, whole messages out; proto/channel.hpp
// does the I/O.
//
// Whose descriptor it is. A sender writes each message with a sendmsg of its own that begins at the
// message's first byte and carries the descriptor. Linux queues each sendmsg as buffers of its own
// and gives a read no byte beyond the buffer that carries descriptors; but earlier messages may
// come in the same read, before it. So the descriptors of a read belong to the message that the
// read's *last* byte belongs to, never to the first one (facts traps 7). Thread rule: one thread at
// a time.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>

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

  // What one recvmsg returned; the descriptors are taken. A protocol error if a message is empty,
  // grows beyond its limit or has more than limits::fds_per_message_max descriptors; the connection
  // is then of no use, and the same error comes again from every later feed.
  Result<void> feed(std::span<const char> bytes, std::span<UniqueFd> fds);
  // The next whole message, in order of arrival.
  std::optional<Frame> next();
  // Bytes of a message that has begun and not ended.
  std::size_t partial_bytes() const { return partial_.text.size(); }

private:
  Result<void> append(std::span<const char> bytes);
  static Result<void> attach(std::span<UniqueFd> fds, Frame& owner);

  std::size_t message_bytes_max_;
  bool broken_ = false;
  Frame partial_;
  std::deque<Frame> ready_;
};

}  // namespace lyk
