// The program itself: how it is started, told things, and ends.
#include "tests/daemon/program.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "daemon/activation.hpp"
#include "proto/text.hpp"
#include "proto/unique.hpp"
#include "tests/daemon/house.hpp"
#include "tests/daemon/wire_peer.hpp"

namespace lyk::daemon {
namespace {

using test::Ended;
using test::House;
using test::Program;
using test::WirePeer;

class DaemonProgram : public ::testing::Test {
protected:
  std::vector<std::string> arguments(const std::string& mode = "--user") const {
    return {mode,
            "--socket",
            house_.socket(),
            "--config",
            (house_.path() / "daemon.toml").string(),
            "--cache",
            house_.cache().string(),
            "--pins",
            (house_.path() / "pins").string()};
  }
  static Ended run(const std::vector<std::string>& arguments,
                   std::vector<std::string> environment = {}) {
    return Program({.arguments = arguments, .environment = std::move(environment)}).wait();
  }

  House house_;
};

TEST_F(DaemonProgram, HelpAndVersionGoToStdout) {
  EXPECT_EQ(run({"--help"}).exit_code, 0);
  EXPECT_NE(run({"--help"}).output.find("Example:"), std::string::npos);
  EXPECT_EQ(run({"--version"}).output, "libreyolo-kernelsd " LYK_VERSION "\n");
}

TEST_F(DaemonProgram, AMistakeIsOneLineAndItsExitCode) {
  const Ended ended = run({"--sokcet"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_EQ(
      ended.output,
      "<3>daemon.stop code=invalid_argument error=\"argument '--sokcet': not known; did you mean "
      "--socket?\"\n");
}

TEST_F(DaemonProgram, AHelpThatCannotBeWrittenIsTold) {
  for (const char* word : {"--help", "--version"}) {
    const std::string command = str("exec '", LYK_DAEMON_PROGRAM, "' ", word, " 2>&1 >/dev/full");
    // NOLINTNEXTLINE(cert-env33-c): a shell, to have the redirections
    const UniqueHandle<FILE, ::pclose> program{::popen(command.c_str(), "re")};
    ASSERT_NE(program, nullptr);
    std::array<char, 256> line{};
    ASSERT_NE(std::fgets(line.data(), line.size(), program.get()), nullptr);
    EXPECT_STREQ(line.data(),
                 "<3>daemon.stop code=no_space error=\"write to standard output: No space left on "
                 "device\"\n");
  }
}

TEST_F(DaemonProgram, ServesUntilItIsToldToStop) {
  Program daemon({.arguments = arguments(), .environment = {}});
  ASSERT_TRUE(daemon.waits_until_it_says("daemon.ready"));
  WirePeer caller = WirePeer::at(house_.socket());
  EXPECT_NE(caller.ask("Status").find("\"mode\":\"user\""), std::string::npos);
  daemon.signal(SIGTERM);
  EXPECT_TRUE(caller.is_closed());
  const Ended ended = daemon.wait();
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_NE(ended.output.find("<6>daemon.stop "), std::string::npos) << ended.output;
  struct ::stat found {};
  EXPECT_NE(::stat(house_.socket().c_str(), &found), 0);  // its socket is gone with it
}

TEST_F(DaemonProgram, ReadsItsPinsAgainWhenItHangsUp) {
  Program daemon({.arguments = arguments(), .environment = {}});
  ASSERT_TRUE(daemon.waits_until_it_says("daemon.ready"));
  WirePeer caller = WirePeer::at(house_.socket());
  EXPECT_EQ(caller.ask("Pins").find("ms_deform_attn"), std::string::npos);
  house_.pin_kernel();
  daemon.signal(SIGHUP);
  ASSERT_TRUE(daemon.waits_until_it_says("daemon.reload pins=1"));
  EXPECT_NE(caller.ask("Pins").find("ms_deform_attn"), std::string::npos);
  house_.write_config("nonsense = 1\n");
  daemon.signal(SIGHUP);
  ASSERT_TRUE(daemon.waits_until_it_says("config.refused"));
  EXPECT_NE(caller.ask("Pins").find("ms_deform_attn"), std::string::npos);
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait().exit_code, 0);
}

// Nobody reads what it says, so it waits in the middle of its start.
TEST_F(DaemonProgram, IsStoppedWhileItStarts) {
  for (int i = 0; i < 1000; ++i)
    house_.write_pin(str("slot_", i), "nonsense = 1\n");
  Program daemon({.arguments = arguments(), .environment = {}});
  ASSERT_TRUE(daemon.waits_until_it_says("daemon.start"));
  daemon.signal(SIGTERM);
  const Ended ended = daemon.wait();
  EXPECT_EQ(ended.exit_code, -1);
  EXPECT_EQ(ended.output.find("daemon.ready"), std::string::npos) << ended.output;
}

TEST_F(DaemonProgram, ServesWithoutStandardStreams) {
  auto listener = listen_at(house_.socket(), Admission::own_user);
  ASSERT_TRUE(listener);
  Program daemon({.arguments = arguments(),
                  .environment = {},
                  .fd_3 = listener->fd.get(),
                  .streams = Program::Streams::closed});
  EXPECT_FALSE(WirePeer::at(house_.socket()).ask("Status").empty());
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    EXPECT_EQ(daemon.descriptor(fd), "/dev/null") << fd;
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait().exit_code, 0);
}

TEST_F(DaemonProgram, ASecondOneOnTheSameSocketLeavesWithAnExplanation) {
  Program first({.arguments = arguments(), .environment = {}});
  ASSERT_TRUE(first.waits_until_it_says("daemon.ready"));
  const Ended second = run(arguments());
  EXPECT_EQ(second.exit_code, 70);
  EXPECT_NE(second.output.find("another daemon answers there"), std::string::npos) << second.output;
  EXPECT_FALSE(WirePeer::at(house_.socket()).ask("Status").empty());
}

TEST_F(DaemonProgram, TheSocketOfAKilledOneGivesWay) {
  {
    Program first({.arguments = arguments(), .environment = {}});
    ASSERT_TRUE(first.waits_until_it_says("daemon.ready"));
    first.signal(SIGKILL);
    EXPECT_EQ(first.wait().exit_code, -1);
  }
  Program second({.arguments = arguments(), .environment = {}});
  ASSERT_TRUE(second.waits_until_it_says("daemon.ready"));
  EXPECT_FALSE(WirePeer::at(house_.socket()).ask("Status").empty());
}

TEST_F(DaemonProgram, ASocketPathThatIsTooLongIsRefused) {
  const Ended ended = run({"--user", "--socket", "/tmp/" + std::string(120, 'x'), "--config",
                           (house_.path() / "daemon.toml").string(), "--cache",
                           house_.cache().string(), "--pins", "/nowhere"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_NE(ended.output.find("a socket address holds 107"), std::string::npos) << ended.output;
}

TEST_F(DaemonProgram, AConnectionOnDescriptorThreeMakesAPrivateInstance) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  UniqueFd theirs{ends[0]};
  WirePeer caller{UniqueFd{ends[1]}};
  Program daemon({.arguments = {},
                  .environment = {"HOME=" + house_.path().string(), "HF_HUB_OFFLINE=1"},
                  .fd_3 = theirs.get()});
  theirs.reset();
  const std::string status = caller.ask("Status");
  EXPECT_NE(status.find("\"mode\":\"private\""), std::string::npos) << status;
  EXPECT_NE(status.find("\"offline\":true"), std::string::npos);
  EXPECT_NE(status.find((house_.path() / ".cache/libreyolo-kernels").string()), std::string::npos);
  daemon.signal(SIGINT);  // typed at the terminal that it shares with its caller
  EXPECT_NE(caller.ask("Status").find("\"mode\":\"private\""), std::string::npos);
  caller.close();
  const Ended ended = daemon.wait();
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.output, "");  // it writes into its caller's stderr only what must be said
}

TEST_F(DaemonProgram, APrivateInstanceThatCannotStartTellsItsCallerWhy) {
  house_.write_config("nonsense = 1\n");
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  UniqueFd theirs{ends[0]};
  WirePeer caller{UniqueFd{ends[1]}};
  Program daemon({.arguments = arguments(), .environment = {}, .fd_3 = theirs.get()});
  theirs.reset();
  const std::string refusal = caller.ask("Status");
  EXPECT_NE(refusal.find("\"error\":\"com.libreyolo.Kernels.InvalidArgument\""), std::string::npos)
      << refusal;
  EXPECT_NE(refusal.find((house_.path() / "daemon.toml").string()), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("nonsense"), std::string::npos) << refusal;
  EXPECT_TRUE(caller.is_closed());
  const Ended ended = daemon.wait();
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.output, "");  // it was said to the one who asked
}

TEST_F(DaemonProgram, AListenerOnDescriptorThreeIsServed) {
  auto listener = listen_at(house_.socket(), Admission::own_user);
  ASSERT_TRUE(listener);
  Program daemon(
      {.arguments = arguments("--system"), .environment = {}, .fd_3 = listener->fd.get()});
  WirePeer caller = WirePeer::at(house_.socket());
  EXPECT_NE(caller.ask("Status").find("\"mode\":\"system\""), std::string::npos);
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait().exit_code, 0);
  struct ::stat found {};
  EXPECT_EQ(::stat(house_.socket().c_str(), &found), 0);  // its maker's, not ours to remove
}

TEST_F(DaemonProgram, TheSystemServiceDoesNotReadTheEnvironment) {
  house_.write_config("endpoint = \"http://127.0.0.1:9\"\n");
  Program daemon(
      {.arguments = arguments("--system"),
       .environment = {"HF_ENDPOINT=http://elsewhere.example", "LIBREYOLO_HUB_KERNELS=off"}});
  ASSERT_TRUE(daemon.waits_until_it_says("daemon.ready"));
  const std::string status = WirePeer::at(house_.socket()).ask("Status");
  EXPECT_NE(status.find("127.0.0.1:9"), std::string::npos) << status;
  EXPECT_NE(status.find("\"offline\":true"), std::string::npos);
}

TEST_F(DaemonProgram, TellsSystemdWhenItIsReady) {
  const std::string address = (house_.path() / "notify").string();
  const UniqueFd manager{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ::sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, address.data(), address.size());
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<const ::sockaddr*>(&name), sizeof name), 0);
  Program daemon({.arguments = arguments(), .environment = {"NOTIFY_SOCKET=" + address}});
  std::array<char, 64> heard{};
  ASSERT_GT(::recv(manager.get(), heard.data(), heard.size() - 1, 0), 0);
  EXPECT_STREQ(heard.data(), "READY=1");
  EXPECT_FALSE(WirePeer::at(house_.socket()).ask("Status").empty());
}

}  // namespace
}  // namespace lyk::daemon
