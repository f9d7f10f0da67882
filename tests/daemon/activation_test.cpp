#include "daemon/activation.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace lyk::daemon {
namespace {

using fetcher::Environment;

TEST(Activation, CountsWhatIsForThisProcess) {
  const std::vector<std::pair<Environment, int>> rows{
      {{}, 0},
      {{{"LISTEN_FDS", ""}}, 0},
      {{{"LISTEN_FDS", "0"}}, 0},
      {{{"LISTEN_FDS", "1"}}, 1},
      {{{"LISTEN_FDS", "1"}, {"LISTEN_PID", ""}}, 1},
      {{{"LISTEN_FDS", "1"}, {"LISTEN_PID", "42"}}, 1},
      {{{"LISTEN_FDS", "1"}, {"LISTEN_PID", "43"}}, 0},
      {{{"LISTEN_FDS", "1"}, {"LISTEN_PID", "x"}}, 0},
  };
  for (const auto& [environment, count] : rows) {
    const auto found = activation_count(environment, 42);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, count);
  }
}

TEST(Activation, WhatCannotBeServedIsRefused) {
  for (const std::string fds : {"2", "-1", "one", "1x", "99999999999999999999"}) {
    const auto found = activation_count({{"LISTEN_FDS", fds}}, 42);
    ASSERT_FALSE(found) << fds;
    EXPECT_EQ(found.error().code, Code::invalid_argument);
  }
}

TEST(Activation, WithoutItThereIsNothing) {
  const auto taken = take_activation({}, ::getpid());
  ASSERT_TRUE(taken);
  EXPECT_FALSE(*taken);
}

// Connects to a path; 0 or errno.
int connect_to(const std::string& path) {
  const UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return ::connect(fd.get(), reinterpret_cast<const ::sockaddr*>(&address), sizeof address) == 0
             ? 0
             : errno;
}

class Listen : public ::testing::Test {
protected:
  std::string path() const { return folder_ / "run/socket"; }
  test::TempDir folder_;
};

TEST_F(Listen, MakesItsFolderAndAnswers) {
  const auto listener = listen_at(path(), Admission::own_user);
  ASSERT_TRUE(listener);
  EXPECT_EQ(connect_to(path()), 0);
  struct ::stat found {};
  ASSERT_EQ(::stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST_F(Listen, TheSystemServiceIsForEverybody) {
  const auto listener = listen_at(path(), Admission::everyone);
  ASSERT_TRUE(listener);
  struct ::stat found {};
  ASSERT_EQ(::stat(path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0666U);
}

TEST_F(Listen, ASecondDaemonIsToldAboutTheFirst) {
  const auto first = listen_at(path(), Admission::own_user);
  ASSERT_TRUE(first);
  const auto second = listen_at(path(), Admission::own_user);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::busy);
  EXPECT_EQ(second.error().message, "socket path '" + path() +
                                        "': another daemon answers there; stop it, or take another "
                                        "path with --socket");
  EXPECT_EQ(connect_to(path()), 0);
}

TEST_F(Listen, AStaleSocketGivesWay) {
  {
    auto first = listen_at(path(), Admission::own_user);
    ASSERT_TRUE(first);
    first->fd.reset();  // as a daemon that was killed: the file stays for now
    EXPECT_EQ(connect_to(path()), ECONNREFUSED);
    const auto second = listen_at(path(), Admission::own_user);
    ASSERT_TRUE(second);
    EXPECT_EQ(connect_to(path()), 0);
  }
  EXPECT_EQ(connect_to(path()), ENOENT);  // and the second took its own file away
}

TEST_F(Listen, TheFileOfALaterDaemonIsLeftAlone) {
  auto first = std::make_unique<Listener>(listen_at(path(), Admission::own_user).value());
  first->fd.reset();
  const auto second = listen_at(path(), Admission::own_user);
  ASSERT_TRUE(second);
  first.reset();
  EXPECT_EQ(connect_to(path()), 0);
}

TEST_F(Listen, WhatIsNoSocketIsNotTakenAway) {
  const std::string file = folder_ / "file";
  std::ofstream{file} << "precious";
  const auto listener = listen_at(file, Admission::own_user);
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().message,
            "socket path '" + file + "': something else than a socket is there");
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(Listen, APathThatNoSocketCanHaveIsRefused) {
  const std::string path = folder_ / std::string(120, 'x').c_str();
  const auto listener = listen_at(path, Admission::own_user);
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code, Code::invalid_argument);
  EXPECT_NE(listener.error().message.find("a socket address holds 107"), std::string::npos)
      << listener.error().message;
}

}  // namespace
}  // namespace lyk::daemon
