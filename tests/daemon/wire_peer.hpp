// The other end of a daemon's socket, as rude as a test wants it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "proto/frame.hpp"
#include "proto/message.hpp"
#include "proto/unique.hpp"

namespace lyk::daemon::test {

class WirePeer {
public:
  explicit WirePeer(UniqueFd fd) : fd_(std::move(fd)) {}
  // Connects to a listening socket.
  static WirePeer at(const std::string& path);

  // Writes all of it. False: the daemon has closed the connection.
  bool send(std::string_view bytes) const;
  // A call as text, with its NUL.
  static std::string call(std::string_view method,
                          std::string_view parameters = "{}",
                          std::string_view more = "");

  // The next message, or empty at the end of the connection; the test fails after half a minute.
  std::optional<Frame> receive();
  // Sends a call and returns its one reply's text ("" at the end of the connection).
  std::string ask(std::string_view method, std::string_view parameters = "{}");

  // Whether the daemon closes the connection, whatever it still says before.
  bool is_closed();
  void close() { fd_.reset(); }
  int fd() const { return fd_.get(); }

private:
  UniqueFd fd_;
  FrameReader reader_{64UL * 1024 * 1024};
};

}  // namespace lyk::daemon::test
