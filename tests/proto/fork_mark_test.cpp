#include "proto/fork_mark.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <thread>

namespace {

std::atomic<bool> kernel_wipes{true};

}  // namespace

// The C library's, for a kernel before Linux 4.14 where a test asks for that.
extern "C" int madvise(void* memory, std::size_t bytes, int advice) noexcept {
  if (advice == MADV_WIPEONFORK && !kernel_wipes) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_madvise, memory, bytes, advice));
}

namespace lyk {
namespace {

template <typename Body>
int exit_code_of_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Runs `body` on marks of both kinds.
template <typename Body>
void for_each_kind(const Body& body) {
  for (const bool wipes : {true, false}) {
    SCOPED_TRACE(wipes ? "the kernel wipes memory" : "the kernel does not wipe memory");
    kernel_wipes = wipes;
    ForkMark mark;
    kernel_wipes = true;
    body(mark);
  }
}

TEST(ForkMark, IsInheritedByChildrenAndGrandchildrenOnly) {
  for_each_kind([](ForkMark& mark) {
    EXPECT_FALSE(mark.is_inherited());
    EXPECT_EQ(exit_code_of_child([&] { return mark.is_inherited() ? 1 : 0; }), 0);
    mark.set();
    EXPECT_FALSE(mark.is_inherited());
    EXPECT_EQ(exit_code_of_child([&] { return mark.is_inherited() ? 1 : 0; }), 1);
    EXPECT_EQ(exit_code_of_child(
                  [&] { return exit_code_of_child([&] { return mark.is_inherited() ? 1 : 0; }); }),
              1);
    EXPECT_FALSE(mark.is_inherited());
  });
}

TEST(ForkMark, OfAChildIsItsOwnIfTheParentHadNotSetIt) {
  for_each_kind([](ForkMark& mark) {
    EXPECT_EQ(exit_code_of_child([&] {
                mark.set();
                if (mark.is_inherited())
                  return 1;
                return exit_code_of_child([&] { return mark.is_inherited() ? 0 : 2; });
              }),
              0);
    EXPECT_FALSE(mark.is_inherited());
  });
}

TEST(ForkMark, MayBeSetAgainInAChildWhileAnotherThreadAsks) {
  for_each_kind([](ForkMark& mark) {
    mark.set();
    EXPECT_EQ(exit_code_of_child([&] {
                std::thread other{[&] {
                  while (mark.is_inherited())
                    std::this_thread::yield();
                }};
                mark.set();
                other.join();
                return mark.is_inherited() ? 1 : 0;
              }),
              0);
  });
}

}  // namespace
}  // namespace lyk
