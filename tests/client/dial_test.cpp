#include "client/dial.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "proto/text.hpp"
#include "tests/client/fake_service.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::client {
namespace {

using test::TempDir;

constexpr uid_t stranger = 64'321;

// Three places in a fresh folder, and nothing to start.
Settings places_in(const TempDir& folder) {
  Settings settings;
  settings.system_socket = folder / "system";
  settings.user_socket = folder / "user";
  settings.activation = Activation::forbidden;
  return settings;
}

std::string peer_of(const Settings& settings, Audience audience = Audience::anyone) {
  const auto line = dial(settings, audience);
  return line ? line->peer : line.error().message;
}

// A process of another user that listens at `path` until the test is over.
class Stranger {
public:
  explicit Stranger(const std::string& path) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
      std::abort();
    const UniqueFd reader{ends[0]};
    UniqueFd writer{ends[1]};
    child_ = ::fork();
    if (child_ == 0)
      listen_for_ever(path, writer.get());
    writer.reset();
    char ready = 0;
    if (::read(reader.get(), &ready, 1) != 1)
      std::abort();
  }
  ~Stranger() {
    (void)::kill(child_, SIGKILL);
    (void)::waitpid(child_, nullptr, 0);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  Stranger(Stranger&&) = delete;
  Stranger& operator=(Stranger&&) = delete;

private:
  [[noreturn]] static void listen_for_ever(const std::string& path, int ready) {
    if (::setresgid(stranger, stranger, stranger) != 0 ||
        ::setresuid(stranger, stranger, stranger) != 0)
      ::_exit(1);
    const UniqueFd listener = test::listen_at(path);
    if (!listener || ::write(ready, "x", 1) != 1)
      ::_exit(1);
    while (true)
      ::pause();
  }

  pid_t child_ = -1;
};

#define SKIP_UNLESS_ROOT() \
  if (::geteuid() != 0)    \
  GTEST_SKIP() << "only root can listen as another user"

TEST(Dial, TheSystemServiceComesBeforeTheUsersOwn) {
  const TempDir folder;
  const Settings settings = places_in(folder);
  const UniqueFd user = test::listen_at(settings.user_socket);
  EXPECT_EQ(peer_of(settings), str("'", settings.user_socket, "'"));
  const UniqueFd system = test::listen_at(settings.system_socket);
  EXPECT_EQ(peer_of(settings), str("'", settings.system_socket, "'"));
}

TEST(Dial, ANamedSocketIsTheOnlyOne) {
  const TempDir folder;
  Settings settings = places_in(folder);
  settings.activation = Activation::allowed;
  const UniqueFd system = test::listen_at(settings.system_socket);
  settings.socket = folder / "named";
  const auto line = dial(settings, Audience::anyone);
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, Code::network);
  EXPECT_EQ(line.error().message, str("no service at '", settings.socket,
                                      "': No such file or directory (start one there, or name no "
                                      "socket)"));
  const UniqueFd named = test::listen_at(settings.socket);
  EXPECT_EQ(peer_of(settings), str("'", settings.socket, "'"));
}

TEST(Dial, ASocketThatNobodyListensOnIsPassedOver) {
  const TempDir folder;
  const Settings settings = places_in(folder);
  (void)test::listen_at(settings.system_socket);  // closed at once; its file stays
  const UniqueFd user = test::listen_at(settings.user_socket);
  EXPECT_EQ(peer_of(settings), str("'", settings.user_socket, "'"));
}

TEST(Dial, WithoutAnyServiceTheErrorSaysWhatWasTriedAndWhatToDo) {
  const TempDir folder;
  const Settings settings = places_in(folder);
  (void)test::listen_at(settings.user_socket);
  const auto line = dial(settings, Audience::anyone);
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, Code::network);
  EXPECT_EQ(line.error().message,
            str("no service answers: '", settings.system_socket, "': No such file or directory; '",
                settings.user_socket,
                "': Connection refused; and LIBREYOLO_KERNELS_EXEC=0 forbids to start one (start "
                "the system service, or unset it)"));
}

TEST(Dial, APathThatNoSocketCanHaveIsRefusedWhereItWasNamed) {
  Settings settings;
  settings.socket = "/" + std::string(107, 'a');
  const auto line = dial(settings, Audience::anyone);
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, Code::invalid_argument);
  EXPECT_NE(line.error().message.find("its path has 108 bytes, a socket's can have at most 107"),
            std::string::npos)
      << line.error().message;
}

TEST(Dial, TheLongestPathThatASocketCanHaveIsFine) {
  const TempDir folder;
  Settings settings;
  settings.socket = folder / "s";
  settings.socket += std::string(107 - settings.socket.size(), 'a');
  const UniqueFd listener = test::listen_at(settings.socket);
  EXPECT_TRUE(dial(settings, Audience::anyone));
}

TEST(Dial, ALongRuntimeFolderIsNoReasonToFail) {
  const TempDir folder;
  Settings settings = places_in(folder);
  settings.user_socket = settings.system_socket;
  settings.system_socket = "/" + std::string(200, 'a');
  const UniqueFd listener = test::listen_at(settings.user_socket);
  EXPECT_EQ(peer_of(settings), str("'", settings.user_socket, "'"));
}

TEST(Dial, AListenerThatIsNeitherRootNorThisUserIsRefused) {
  SKIP_UNLESS_ROOT();
  const TempDir folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  const Settings settings = places_in(folder);
  const Stranger listens{settings.system_socket};
  const UniqueFd user = test::listen_at(settings.user_socket);
  const auto line = dial(settings, Audience::anyone);
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, Code::refused);
  EXPECT_EQ(line.error().message,
            str("service at '", settings.system_socket, "': uid ", stranger,
                " listens there, which is neither root nor uid 0 (LIBREYOLO_KERNELS_TRUST_UID=",
                stranger, " would accept it)"));
}

TEST(Dial, AListenerThatTheUserTrustsIsAccepted) {
  SKIP_UNLESS_ROOT();
  const TempDir folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  Settings settings = places_in(folder);
  settings.trusted_uid = stranger;
  const Stranger listens{settings.system_socket};
  EXPECT_EQ(peer_of(settings), str("'", settings.system_socket, "'"));
}

TEST(Dial, WhatOnlyOnesOwnServiceAnswersIsNotAskedOfTheSystem) {
  const TempDir folder;
  Settings settings = places_in(folder);
  const UniqueFd system = test::listen_at(settings.system_socket);
  const UniqueFd user = test::listen_at(settings.user_socket);
  EXPECT_EQ(peer_of(settings, Audience::own_uid), str("'", settings.user_socket, "'"));
  settings.socket = folder / "named";
  const UniqueFd named = test::listen_at(settings.socket);
  EXPECT_EQ(peer_of(settings, Audience::own_uid), str("'", settings.socket, "'"));
}

TEST(Dial, WhatOnlyOnesOwnServiceAnswersPassesOverThatOfAnother) {
  SKIP_UNLESS_ROOT();
  const TempDir folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  Settings settings = places_in(folder);
  settings.socket = folder / "named";
  settings.trusted_uid = stranger;
  const Stranger listens{settings.socket};
  const UniqueFd user = test::listen_at(settings.user_socket);
  EXPECT_EQ(peer_of(settings, Audience::own_uid), str("'", settings.user_socket, "'"));
}

TEST(Dial, AFullBacklogIsWaitedFor) {
  const TempDir folder;
  Settings settings;
  settings.socket = folder / "socket";
  const UniqueFd listener = test::listen_at(settings.socket, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  settings.socket.copy(address.sun_path, sizeof(address.sun_path) - 1);
  std::vector<UniqueFd> waiting;
  do
    waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  while (::connect(waiting.back().get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)) == 0);
  ASSERT_EQ(errno, EAGAIN);
  std::thread accepting{[&] {
    for (std::size_t i = 0; i < waiting.size(); ++i)
      (void)UniqueFd{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  }};
  EXPECT_TRUE(dial(settings, Audience::anyone));
  accepting.join();
}

}  // namespace
}  // namespace lyk::client
