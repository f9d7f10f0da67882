#include "tests/daemon/wire_peer.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "proto/text.hpp"

namespace lyk::daemon::test {
namespace {

constexpr int patience_ms = 30'000;

}  // namespace

WirePeer WirePeer::at(const std::string& path) {
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const ::sockaddr*>(&address), sizeof address), 0)
      << path;
  return WirePeer(std::move(fd));
}

bool WirePeer::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string WirePeer::call(std::string_view method,
                           std::string_view parameters,
                           std::string_view more) {
  const std::string_view interface =
      method.find('.') == std::string_view::npos ? "com.libreyolo.Kernels." : "";
  return str(R"({"method":")", interface, method, R"(","parameters":)", parameters, more, "}",
             '\0');
}

std::optional<Frame> WirePeer::receive() {
  while (true) {
    if (auto frame = reader_.next())
      return frame;
    ::pollfd poll{fd_.get(), POLLIN, 0};
    if (::poll(&poll, 1, patience_ms) != 1) {
      ADD_FAILURE() << "the daemon says nothing";
      return std::nullopt;
    }
    std::array<char, 65536> bytes{};
    alignas(::cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    ::iovec part{bytes.data(), bytes.size()};
    ::msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t count = ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
    if (count <= 0)
      return std::nullopt;
    std::vector<UniqueFd> fds;
    if (const ::cmsghdr* header = CMSG_FIRSTHDR(&message)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
      fds.emplace_back(fd);
    }
    EXPECT_TRUE(reader_.feed({bytes.data(), static_cast<std::size_t>(count)}, fds));
  }
}

std::string WirePeer::ask(std::string_view method, std::string_view parameters) {
  if (!send(call(method, parameters)))
    return {};
  const auto frame = receive();
  return frame ? frame->text : std::string{};
}

bool WirePeer::is_closed() {
  while (receive()) {
  }
  return !::testing::Test::HasFailure();
}

}  // namespace lyk::daemon::test
