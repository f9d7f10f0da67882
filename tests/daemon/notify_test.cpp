#include "daemon/notify.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "proto/unique.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::daemon {
namespace {

// A stand-in for systemd: a datagram socket at `address`, where '@' begins an abstract name.
class Manager {
public:
  explicit Manager(const std::string& address)
      : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    ::sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, address.data(), address.size());
    if (name.sun_path[0] == '@')
      name.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(::sockaddr_un, sun_path) + address.size());
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const ::sockaddr*>(&name), size), 0);
  }

  std::string heard() const {
    std::array<char, 256> bytes{};
    const ssize_t count = ::recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    return count < 0 ? std::string{} : std::string(bytes.data(), static_cast<std::size_t>(count));
  }

private:
  UniqueFd fd_;
};

TEST(Notify, TellsTheManagerAtItsPath) {
  const test::TempDir folder;
  const Manager manager(folder / "notify");
  const Notifier notifier(fetcher::Environment{{"NOTIFY_SOCKET", folder / "notify"}});
  notifier.ready();
  EXPECT_EQ(manager.heard(), "READY=1");
  notifier.stopping();
  EXPECT_EQ(manager.heard(), "STOPPING=1");
  notifier.reloading();
  EXPECT_TRUE(manager.heard().starts_with("RELOADING=1\nMONOTONIC_USEC="));
}

TEST(Notify, KnowsAbstractAddresses) {
  const test::TempDir folder;  // its name is unique, so the address is
  const std::string address = "@" + folder.path().string();
  const Manager manager(address);
  Notifier(fetcher::Environment{{"NOTIFY_SOCKET", address}}).ready();
  EXPECT_EQ(manager.heard(), "READY=1");
}

TEST(Notify, NobodyToTellIsNoTrouble) {
  Notifier(fetcher::Environment{}).ready();
  Notifier(fetcher::Environment{{"NOTIFY_SOCKET", ""}}).ready();
  Notifier(fetcher::Environment{{"NOTIFY_SOCKET", "/nowhere/at/all"}}).ready();
  Notifier(fetcher::Environment{{"NOTIFY_SOCKET", std::string(500, 'x')}}).ready();
}

}  // namespace
}  // namespace lyk::daemon
