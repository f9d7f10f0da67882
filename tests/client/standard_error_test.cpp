#include "client/standard_error.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "tests/client/in_child.hpp"

namespace lyk::client {
namespace {

using test::in_child;

bool is_sigpipe_pending() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGPIPE) == 1;
}

bool is_sigpipe_blocked() {
  sigset_t mask;
  return ::pthread_sigmask(SIG_BLOCK, nullptr, &mask) == 0 && ::sigismember(&mask, SIGPIPE) == 1;
}

// Standard error becomes a pipe; its other end is returned.
int pipe_standard_error() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  EXPECT_EQ(::dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  EXPECT_EQ(::close(ends[1]), 0);
  return ends[0];
}

TEST(StandardError, ReceivesALine) {
  EXPECT_EQ(in_child({},
                     [] {
                       const int reader = pipe_standard_error();
                       write_to_standard_error("a line\n");
                       std::array<char, 32> bytes{};
                       const ssize_t count = ::read(reader, bytes.data(), bytes.size());
                       return std::string{bytes.data(), static_cast<std::size_t>(count)};
                     }),
            "a line\n");
}

TEST(StandardError, LosesALineThatNobodyReadsAndRaisesNothing) {
  EXPECT_EQ(
      in_child({},
               [] {
                 (void)::signal(SIGPIPE, SIG_DFL);
                 (void)::close(pipe_standard_error());
                 write_to_standard_error("a line\n");
                 return std::string{is_sigpipe_pending() || is_sigpipe_blocked() ? "left" : ""};
               }),
      "");
}

TEST(StandardError, LeavesASigpipeThatWasPendingBefore) {
  EXPECT_EQ(
      in_child({},
               [] {
                 sigset_t sigpipe;
                 (void)::sigemptyset(&sigpipe);
                 (void)::sigaddset(&sigpipe, SIGPIPE);
                 (void)::pthread_sigmask(SIG_BLOCK, &sigpipe, nullptr);
                 (void)::raise(SIGPIPE);
                 (void)::close(pipe_standard_error());
                 write_to_standard_error("a line\n");
                 return std::string{is_sigpipe_pending() && is_sigpipe_blocked() ? "" : "lost"};
               }),
      "");
}

}  // namespace
}  // namespace lyk::client
