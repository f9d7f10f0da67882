#include "proto/check.hpp"

#include <gtest/gtest.h>

namespace lyk {
namespace {

TEST(Check, LetsWhatHoldsPass) {
  LYK_CHECK(1 + 1 == 2);
}

TEST(CheckDeathTest, NamesPlaceAndCondition) {
  EXPECT_DEATH(LYK_CHECK(1 + 1 == 3), "check_test\\.cpp:[0-9]+: check failed: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace lyk
