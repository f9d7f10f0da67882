#include "tests/daemon/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "proto/text.hpp"

namespace lyk::daemon::test {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// In the child: nothing here may allocate, since another thread may have held the allocator.
// `output` -1: the standard streams are closed.
[[noreturn]] void become(
    char** arguments, char** environment, int output, int fd_3, char* listen_pid) {
  if (output < 0)
    (void)::close(STDIN_FILENO);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    (void)(output < 0 ? ::close(fd) : ::dup2(output, fd));
  if (fd_3 >= 0) {
    if (fd_3 == 3)
      (void)::fcntl(3, F_SETFD, 0);
    else
      (void)::dup2(fd_3, 3);
    (void)::snprintf(listen_pid, 32, "LISTEN_PID=%d", ::getpid());
  }
  (void)::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

}  // namespace

Program::Program(const Setup& setup) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  output_ = UniqueFd{ends[0]};
  const UniqueFd writer{ends[1]};
  std::vector<std::string> arguments{LYK_DAEMON_PROGRAM};
  arguments.insert(arguments.end(), setup.arguments.begin(), setup.arguments.end());
  std::vector<std::string> environment = setup.environment;
  if (setup.fd_3 >= 0) {
    environment.emplace_back("LISTEN_FDS=1");
    environment.emplace_back(32, '\0');
  }
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  char* listen_pid = setup.fd_3 >= 0 ? envp[envp.size() - 2] : nullptr;
  const int output = setup.streams == Streams::ours ? writer.get() : -1;
  pid_ = ::fork();
  if (pid_ == 0)
    become(const_cast<char**>(argv.data()), const_cast<char**>(envp.data()), output, setup.fd_3,
           listen_pid);
}

Program::~Program() {
  if (pid_ > 0) {
    (void)::kill(pid_, SIGKILL);
    (void)wait();
  }
}

bool Program::read_more() {
  std::array<char, 4096> bytes{};
  const ssize_t count = ::read(output_.get(), bytes.data(), bytes.size());
  if (count <= 0)
    return false;
  said_.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

bool Program::waits_until_it_says(const std::string& text) {
  while (said_.find(text) == std::string::npos)
    if (!read_more()) {
      ADD_FAILURE() << "it never says " << text << " but: " << said_;
      return false;
    }
  return true;
}

void Program::signal(int number) const {
  EXPECT_EQ(::kill(pid_, number), 0);
}

std::string Program::descriptor(int fd) const {
  std::error_code none;
  return std::filesystem::read_symlink(str("/proc/", pid_, "/fd/", fd), none).string();
}

Ended Program::wait() {
  while (read_more()) {
  }
  int status = 0;
  EXPECT_EQ(::waitpid(std::exchange(pid_, -1), &status, 0) > 0, true);
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .output = std::move(said_)};
}

}  // namespace lyk::daemon::test
