#include "client/activation.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/connection.hpp"
#include "proto/text.hpp"
#include "tests/client/fake_service.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::client {
namespace {

using test::TempDir;

constexpr const char* service_program = LYK_TEST_SERVICE_PROGRAM;

Settings settings_with(std::string program, std::vector<std::string> more = {}) {
  Settings settings;
  settings.environment = Environment::of_process();
  for (std::string& variable : more)
    settings.environment.variables.push_back(std::move(variable));
  settings.program = std::move(program);
  return settings;
}

using Report = std::map<std::string, std::string>;

Report report_of(Connection& connection) {
  const auto status = connection.call<wire::StatusReply>(wire::StatusCall{});
  EXPECT_TRUE(status) << status.error().message;
  Report out;
  if (!status)
    return out;
  std::istringstream lines{status->version};
  for (std::string line; std::getline(lines, line);)
    out[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  return out;
}

Report report_with(const Settings& settings) {
  auto connection = Connection::open(settings);
  EXPECT_TRUE(connection) << connection.error().message;
  return connection ? report_of(*connection) : Report{};
}

pid_t number(const std::string& digits) {
  pid_t value = 0;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), value);  // 0 is no pid
  return value;
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reader = UniqueFd{ends[0]};
    writer = UniqueFd{ends[1]};
  }
  UniqueFd reader;
  UniqueFd writer;
};

// Until the process has ended, whoever its parent is.
void wait_for_end(pid_t pid) {
  const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  if (!process)
    return;  // it has been waited for already
  pollfd end{process.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 10'000), 1) << "the service does not leave";
}

std::size_t open_descriptor_count() {
  const std::filesystem::directory_iterator folder{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

void expect_no_child() {
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

std::atomic<int> child_signals{0};

TEST(Activation, TheServiceGetsItsConnectionAndNothingElseOfTheHost) {
  const UniqueFd inheritable{::open("/dev/zero", O_RDONLY | O_CLOEXEC)};
  ASSERT_EQ(::fcntl(inheritable.get(), F_SETFD, 0), 0);  // a host that is careless
  auto report = report_with(settings_with(service_program));
  EXPECT_EQ(report["fds"], "0 1 2 3");
  EXPECT_EQ(report["fd0"], "/dev/null");
  EXPECT_EQ(report["fd1"], "/dev/null");
  EXPECT_EQ(report["session"], report["pid"]);
}

TEST(Activation, TheServiceIsToldByTheConventionOfSystemd) {
  auto report = report_with(settings_with(
      service_program, {"LISTEN_PID=1", "LISTEN_FDS=7", "LISTEN_FDNAMES=a:b", "NOTIFY_SOCKET=/n",
                        "WATCHDOG_USEC=1", "LYK_TEST_MARK=of the host"}));
  EXPECT_EQ(report["LISTEN_PID"], report["pid"]);
  EXPECT_EQ(report["LISTEN_FDS"], "1");
  EXPECT_EQ(report["LISTEN_FDNAMES"], "varlink");
  EXPECT_EQ(report["NOTIFY_SOCKET"], "unset");
  EXPECT_EQ(report["WATCHDOG_USEC"], "unset");
  EXPECT_EQ(report["LYK_TEST_MARK"], "of the host");
}

TEST(Activation, TheHostHasNoChildAndHearsNoSignal) {
  struct sigaction counting {};
  counting.sa_handler = [](int) { ++child_signals; };
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGCHLD, &counting, &before), 0);
  pid_t pid = 0;
  {
    auto connection = Connection::open(settings_with(service_program));
    ASSERT_TRUE(connection) << connection.error().message;
    auto report = report_of(*connection);
    pid = number(report["pid"]);
    EXPECT_NE(report["parent"], std::to_string(::getpid()));
    expect_no_child();
  }
  wait_for_end(pid);
  expect_no_child();
  EXPECT_EQ(child_signals, 0);
  ASSERT_EQ(::sigaction(SIGCHLD, &before, nullptr), 0);
}

TEST(Activation, AHostThatWaitsForItsOwnChildGetsItsOwnChild) {
  const pid_t own = ::fork();
  if (own == 0)
    ::_exit(7);
  auto connection = Connection::open(settings_with(service_program));
  ASSERT_TRUE(connection);
  int status = 0;
  EXPECT_EQ(::waitpid(-1, &status, 0), own);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_TRUE(connection->resolve(test::resolve_call()));
}

TEST(Activation, AHostThatIgnoresItsChildrenIsServedToo) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  {
    auto connection = Connection::open(settings_with(service_program));
    ASSERT_TRUE(connection) << connection.error().message;
    EXPECT_TRUE(connection->resolve(test::resolve_call()));
    expect_no_child();
  }
  EXPECT_EQ(::signal(SIGCHLD, before), SIG_IGN);
}

TEST(Activation, AServiceThatWasKilledIsStartedAnewForTheNextResolve) {
  auto connection = Connection::open(settings_with(service_program));
  ASSERT_TRUE(connection) << connection.error().message;
  const std::string first = report_of(*connection)["pid"];
  ASSERT_EQ(::kill(number(first), SIGKILL), 0);
  wait_for_end(number(first));
  EXPECT_TRUE(connection->resolve(test::resolve_call()));
  EXPECT_NE(report_of(*connection)["pid"], first);
}

TEST(Activation, SignalsAreAsInANewSessionAndTheHostKeepsItsOwn) {
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::sigaddset(&blocked, SIGTERM);
  sigset_t before;
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &blocked, &before), 0);
  const auto pipe_before = ::signal(SIGPIPE, SIG_IGN);
  auto report = report_with(settings_with(service_program));
  EXPECT_EQ(report["SigBlk"], "0000000000000000");
  EXPECT_EQ(report["SigIgn"], "0000000000000000");
  sigset_t after;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, &after), 0);
  EXPECT_EQ(::sigismember(&after, SIGUSR1), 1);
  EXPECT_EQ(::sigismember(&after, SIGINT), 0);
  EXPECT_EQ(::signal(SIGPIPE, pipe_before), SIG_IGN);
}

TEST(Activation, StandardErrorIsTheHostsUnlessSomebodyReadsItToTheEnd) {
  const TempDir folder;
  const UniqueFd saved{::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10)};
  const UniqueFd file{::open((folder / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
  const Pipe pipe;
  ASSERT_EQ(::dup2(file.get(), STDERR_FILENO), STDERR_FILENO);
  auto with_file = report_with(settings_with(service_program));
  ASSERT_EQ(::dup2(pipe.writer.get(), STDERR_FILENO), STDERR_FILENO);
  auto with_pipe = report_with(settings_with(service_program));
  ASSERT_EQ(::dup2(saved.get(), STDERR_FILENO), STDERR_FILENO);
  EXPECT_EQ(with_file["fd2"], folder / "log");
  EXPECT_EQ(with_pipe["fd2"], "/dev/null");
}

TEST(Activation, NoDescriptorIsLeftBehind) {
  const std::size_t before = open_descriptor_count();
  for (int i = 0; i < 20; ++i) {
    auto connection = Connection::open(settings_with(service_program));
    ASSERT_TRUE(connection && connection->resolve(test::resolve_call()));
    EXPECT_FALSE(Connection::open(settings_with("/nowhere/service")));
  }
  EXPECT_EQ(open_descriptor_count(), before);
}

TEST(Activation, ManyThreadsOfOneHostEachStartTheirOwn) {
  std::vector<std::thread> threads(8);
  std::atomic<int> resolved{0};
  for (std::thread& thread : threads)
    thread = std::thread([&] {
      for (int round = 0; round < 4; ++round) {
        auto connection = Connection::open(settings_with(service_program));
        if (connection && connection->resolve(test::resolve_call()))
          ++resolved;
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(resolved, 32);
  expect_no_child();
}

TEST(Activation, AHostWithoutStandardStreamsIsServedToo) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd = 0; fd < 16; ++fd)
      (void)::close(fd);
    auto connection = Connection::open(settings_with(service_program));
    ::_exit(connection && connection->resolve(test::resolve_call()) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Activation, TheServiceLeavesWhenItsHostIsKilled) {
  Pipe pipe;
  const pid_t child = ::fork();
  if (child == 0) {
    auto connection = Connection::open(settings_with(service_program));
    const pid_t service = connection ? number(report_of(*connection)["pid"]) : 0;
    if (::write(pipe.writer.get(), &service, sizeof(service)) < 0)
      ::_exit(1);
    while (true)
      ::pause();
  }
  pipe.writer.reset();
  pid_t service = 0;
  ASSERT_EQ(::read(pipe.reader.get(), &service, sizeof(service)),
            static_cast<ssize_t>(sizeof(service)));
  ASSERT_GT(service, 0);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  wait_for_end(service);
}

TEST(Activation, AProgramThatCannotBeStartedIsSaidByName) {
  const TempDir folder;
  std::ofstream{folder / "text"} << "no program";
  using Row = std::pair<std::string, std::string>;
  const std::array<Row, 3> rows{Row{"/nowhere/service", "No such file or directory"},
                                Row{folder.path().string(), "Permission denied"},
                                Row{folder / "text", "Permission denied"}};
  for (const auto& [program, reason] : rows) {
    const auto connection = Connection::open(settings_with(program));
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().code, Code::network);
    EXPECT_EQ(connection.error().message,
              str("no service answers: start '", program, "': ", reason));
  }
  expect_no_child();
}

TEST(Activation, AProgramThatEndsBeforeItAnswersIsAnErrorOfTheCall) {
  auto connection = Connection::open(settings_with(service_program, {"LYK_TEST_SERVICE=exit"}));
  ASSERT_TRUE(connection);
  const auto image = connection->resolve(test::resolve_call());
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, Code::network) << image.error().message;
  EXPECT_NE(image.error().message.find(service_program), std::string::npos);
}

TEST(Activation, TheProgramIsLookedForBesideTheLibraryAndInWhatBelongsToIt) {
  using Places = std::vector<std::string>;
  const std::string d = "/libreyolo-kernelsd";
  EXPECT_EQ(program_places("/opt/build/lib"),
            (Places{"/opt/build/lib" + d, "/opt/build/bin" + d, "/opt/build/libexec" + d,
                    "/opt/build/libexec/libreyolo-kernels" + d}));
  EXPECT_EQ(program_places("/usr/lib/x86_64-linux-gnu"),
            (Places{"/usr/lib/x86_64-linux-gnu" + d, "/usr/bin" + d, "/usr/libexec" + d,
                    "/usr/libexec/libreyolo-kernels" + d}));
  EXPECT_EQ(program_places("/usr/bin"),
            (Places{"/usr/bin" + d, "/usr/libexec" + d, "/usr/libexec/libreyolo-kernels" + d}));
  EXPECT_EQ(program_places("/usr/lib64").at(1), "/usr/bin" + d);
}

// /tmp/x has no bin of its own: /tmp/bin would be anybody's.
TEST(Activation, AFolderThatIsNoLibHasNoNeighbours) {
  EXPECT_EQ(program_places("/tmp/x"), (std::vector<std::string>{"/tmp/x/libreyolo-kernelsd"}));
}

TEST(Activation, AProgramThatTheEnvironmentNamesIsTheOne) {
  EXPECT_EQ(*find_program(settings_with("/opt/service")), "/opt/service");
}

}  // namespace
}  // namespace lyk::client
