#include "proto/fork_mark.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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

TEST(ForkMark, IsInheritedByChildrenAndGrandchildrenOnly) {
  ForkMark mark;
  EXPECT_FALSE(mark.is_inherited());
  EXPECT_EQ(exit_code_of_child([&] { return mark.is_inherited() ? 1 : 0; }), 0);
  mark.set();
  EXPECT_FALSE(mark.is_inherited());
  EXPECT_EQ(exit_code_of_child([&] { return mark.is_inherited() ? 1 : 0; }), 1);
  EXPECT_EQ(exit_code_of_child(
                [&] { return exit_code_of_child([&] { return mark.is_inherited() ? 1 : 0; }); }),
            1);
  EXPECT_FALSE(mark.is_inherited());
}

TEST(ForkMark, OfAChildIsItsOwnIfTheParentHadNotSetIt) {
  ForkMark mark;
  EXPECT_EQ(exit_code_of_child([&] {
              mark.set();
              if (mark.is_inherited())
                return 1;
              return exit_code_of_child([&] { return mark.is_inherited() ? 0 : 2; });
            }),
            0);
  EXPECT_FALSE(mark.is_inherited());
}

}  // namespace
}  // namespace lyk
