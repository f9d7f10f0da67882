#include "proto/unique.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace lyk {
namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) != -1;
}
UniqueFd some_fd() {
  return UniqueFd{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
}

TEST(UniqueFd, ClosesWhatItOwnsWhenItEnds) {
  int number = -1;
  {
    const UniqueFd fd = some_fd();
    number = fd.get();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, IsOwnedOnceAfterAMove) {
  UniqueFd first = some_fd();
  const int number = first.get();
  UniqueFd second{std::move(first)};
  EXPECT_EQ(second.get(), number);
  UniqueFd third;
  third = std::move(second);
  EXPECT_EQ(third.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFd, GivesUpOwnershipOnRelease) {
  UniqueFd fd = some_fd();
  const UniqueFd other{fd.release()};
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(other.get()));
}

TEST(UniqueFd, IsEmptyAfterReset) {
  UniqueFd fd = some_fd();
  const int number = fd.get();
  fd.reset();
  fd.reset();
  EXPECT_FALSE(fd);
  EXPECT_FALSE(is_open(number));
}

int freed = 0;
void free_number(const int* number) {
  freed += *number;
  delete number;
}

TEST(UniqueHandle, CallsItsFunctionOnce) {
  freed = 0;
  {
    UniqueHandle<int, free_number> handle{new int{7}};
    const UniqueHandle<int, free_number> moved = std::move(handle);
  }
  EXPECT_EQ(freed, 7);
}

}  // namespace
}  // namespace lyk
