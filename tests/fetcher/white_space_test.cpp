#include "fetcher/white_space.hpp"

#include <gtest/gtest.h>

namespace lyk::fetcher {
namespace {

TEST(WhiteSpace, IsTrimmedAtBothEndsOnly) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(" \v\f\n"), "");
  EXPECT_EQ(trim(""), "");
}

}  // namespace
}  // namespace lyk::fetcher
