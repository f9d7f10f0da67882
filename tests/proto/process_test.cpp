#include "proto/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "proto/unique.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk {
namespace {

// Streams, signals and limits belong to a process, so each test looks at them in a child, which
// cannot say more than whether all was well.
template <typename Check>
void in_a_child(Check check) {
  EXPECT_EXIT(::_exit(check() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

TEST(Process, AClosedStandardStreamIsTakenByNothingElse) {
  in_a_child([] {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      (void)::close(fd);
    occupy_standard_streams();
    const UniqueFd next{::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    return next.get() > STDERR_FILENO && ::write(STDERR_FILENO, "x", 1) < 0 && errno == EBADF;
  });
}

TEST(Process, AnOpenStandardStreamStaysWhatItIs) {
  in_a_child([] {
    const UniqueFd root{::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (::dup2(root.get(), STDOUT_FILENO) < 0)
      return false;
    occupy_standard_streams();
    return ::fchdir(STDOUT_FILENO) == 0;
  });
}

TEST(Process, AReaderThatLeftIsAnErrorOfWrite) {
  in_a_child([] {
    ignore_signals_of_writes();
    int ends[2] = {};
    if (::pipe2(ends, O_CLOEXEC) != 0 || ::close(ends[0]) != 0)
      return false;
    return ::write(ends[1], "x", 1) < 0 && errno == EPIPE;
  });
}

TEST(Process, AFileThatMayNotGrowIsAnErrorOfWrite) {
  const test::TempDir folder;
  const std::string path = folder / "file";
  in_a_child([&] {
    ignore_signals_of_writes();
    const ::rlimit limit{.rlim_cur = 0, .rlim_max = 0};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0)
      return false;
    const UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    return ::write(fd.get(), "x", 1) < 0 && errno == EFBIG;
  });
}

}  // namespace
}  // namespace lyk
