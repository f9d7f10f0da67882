#include "proto/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace lyk {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0)
    return Error{Code::invalid_argument, "odd"};
  return number / 2;
}

Result<int> quarter(int number) {
  LYK_TRY_ASSIGN(const int once, half(number));
  LYK_TRY_ASSIGN(const int twice, half(once));
  return twice;
}

Result<void> check_even(int number) {
  LYK_TRY(half(number));
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_TRUE(half(4));
  EXPECT_EQ(*half(4), 2);
  EXPECT_FALSE(half(3));
  EXPECT_EQ(half(3).error().code, Code::invalid_argument);
}

TEST(Result, OfNothingIsSuccessOrAnError) {
  EXPECT_TRUE(check_even(2));
  EXPECT_EQ(check_even(1).error().message, "odd");
}

TEST(Result, PassesTheFirstErrorUp) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_FALSE(quarter(6));
  EXPECT_FALSE(quarter(5));
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); };
  auto result = make();
  const std::unique_ptr<int> owned = std::move(result).value();
  EXPECT_EQ(*owned, 7);
}

TEST(Result, ReachesMembersOfItsValue) {
  Result<std::string> text{"abc"};
  EXPECT_EQ(text->size(), 3U);
  text->push_back('d');
  EXPECT_EQ(*text, "abcd");
}

TEST(ResultDeathTest, AbortsOnTheWrongAccess) {
  EXPECT_DEATH((void)half(3).value(), "check failed");
  EXPECT_DEATH((void)half(4).error(), "check failed");
  EXPECT_DEATH((void)check_even(2).error(), "check failed");
}

}  // namespace
}  // namespace lyk
