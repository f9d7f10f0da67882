#include "proto/ownership.hpp"

#include <gtest/gtest.h>

namespace lyk {
namespace {

struct ::stat file(uid_t owner, mode_t mode) {
  struct ::stat out {};
  out.st_uid = owner;
  out.st_mode = S_IFREG | mode;
  return out;
}

TEST(Ownership, RootAndWeMayDecide) {
  EXPECT_TRUE(check_ownership(file(0, 0644), "a.toml", 1000));
  EXPECT_TRUE(check_ownership(file(1000, 0600), "a.toml", 1000));
}

TEST(Ownership, NobodyElseMay) {
  for (const auto& found : {file(1001, 0644), file(1000, 0664), file(0, 0646), file(0, 0666)}) {
    const auto checked = check_ownership(found, "a.toml", 1000);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Code::refused);
    EXPECT_EQ(checked.error().message.rfind("a.toml: ", 0), 0U) << checked.error().message;
  }
}

}  // namespace
}  // namespace lyk
