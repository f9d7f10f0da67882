// A connected stream socket as a row of messages: blocking, with a deadline for everything, and
// with a descriptor beside a message where there is one. Used by both ends.
//
// Every message goes out with a sendmsg of its own that begins at its first byte and carries its
// descriptor; FrameReader relies on it. Received descriptors are close-on-exec from birth. SIGPIPE
// is never raised.
//
// Thread rule: one thread reads and one thread writes, at most; they may be different ones.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "proto/frame.hpp"
#include "proto/limits.hpp"
#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk {

// An eventfd of somebody else's that ends a wait when it becomes readable; -1: nothing does. It is
// polled, never read, so that one event ends the waits of all connections.
struct Wake {
  int fd = -1;
};

class Channel {
public:
  struct Options {
    std::size_t message_bytes_max = limits::request_bytes_max;  // of a message that is read
    std::chrono::milliseconds message_deadline = limits::message_deadline;  // from its first byte
    Wake wake;
  };

  // Takes a connected SOCK_STREAM socket, blocking or not.
  Channel(UniqueFd socket, Options options)
      : socket_(std::move(socket)),
        wake_(options.wake),
        message_deadline_(options.message_deadline),
        reader_(options.message_bytes_max) {}

  // The next message; nullopt if the peer has closed the connection between two messages. Waits up
  // to `idle_max` (absent: without end) for its first byte and then `message_deadline` for
  // its last. Errors, after all of which the connection is of no use:
  //   timeout       nothing came, or the message did not end in time
  //   cancelled     the wake event
  //   protocol      not a message (FrameReader)
  //   network       the peer went away within a message, or the socket failed
  //   not_eligible  a descriptor came that this process has no room for (RLIMIT_NOFILE)
  Result<std::optional<Frame>> read_frame(
      std::optional<std::chrono::milliseconds> idle_max = std::nullopt);

  // Sends `text` and the closing NUL; `fd` is attached unless it is -1, and stays the caller's.
  // `text` has no NUL. Does not end early for the wake event: an answer that was worked for is
  // delivered. Errors: timeout (the peer does not read), network (it is gone), busy (too many
  // descriptors in flight), io.
  Result<void> write_frame(std::string_view text,
                           int fd = -1,
                           std::chrono::milliseconds deadline = limits::write_deadline);

  // For peer credentials and for waiting together with other descriptors.
  int fd() const { return socket_.get(); }

private:
  enum class Received { bytes, nothing_yet, closed };
  using TimePoint = std::chrono::steady_clock::time_point;

  Result<void> wait(short events, std::optional<TimePoint> deadline) const;
  Result<Received> receive();

  UniqueFd socket_;
  Wake wake_;
  std::chrono::milliseconds message_deadline_;
  FrameReader reader_;
};

}  // namespace lyk
