#include "tests/daemon/silent_hub.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "proto/text.hpp"

namespace lyk::daemon::test {
namespace {

constexpr int patience_ms = 60'000;

}  // namespace

SilentHub::SilentHub() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* name = reinterpret_cast<::sockaddr*>(&address);
  EXPECT_EQ(::bind(fd_.get(), name, size), 0);
  EXPECT_EQ(::listen(fd_.get(), 16), 0);
  EXPECT_EQ(::getsockname(fd_.get(), name, &size), 0);
  port_ = ntohs(address.sin_port);
}

std::string SilentHub::config() const {
  return str("endpoint = \"http://127.0.0.1:", port_, "\"\n");
}

void SilentHub::wait_for_a_request() const {
  ::pollfd poll{fd_.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&poll, 1, patience_ms), 1);
}

}  // namespace lyk::daemon::test
