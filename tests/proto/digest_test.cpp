#include "proto/digest.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lyk {
namespace {

const std::string sha256_hex = "cbc376bc4b7547cfcf91b256f459bbfce4133c9f3bd98ff1cabec785f6860111";
const std::string git_hex = "93d15ed799a1e5a5e7018583aae1c58b9dfbb7ca";

TEST(Digest, IsReadAndShownAlike) {
  EXPECT_EQ(Digest::parse(sha256_hex)->hex(), sha256_hex);
}

TEST(Digest, IsRefusedUnlessItIs64LowerCaseHexDigits) {
  std::string upper = sha256_hex;
  upper[0] = 'C';
  std::string foreign = sha256_hex;
  foreign[63] = 'g';
  for (const std::string& text : {std::string{}, sha256_hex.substr(1), sha256_hex + "0", upper,
                                  foreign, "sha256:" + sha256_hex, git_hex}) {
    const auto digest = Digest::parse(text);
    ASSERT_FALSE(digest) << text;
    EXPECT_EQ(digest.error().code, Code::invalid_argument);
  }
  EXPECT_EQ(Digest::parse("x").error().message, "sha256 'x': not 64 lower-case hex digits");
}

TEST(GitId, IsReadAndShownAlike) {
  EXPECT_EQ(GitId::parse(git_hex)->hex(), git_hex);
}

TEST(GitId, IsRefusedUnlessItIs40LowerCaseHexDigits) {
  std::string upper = git_hex;
  upper[39] = 'A';
  for (const std::string& text :
       {std::string{}, std::string{"main"}, git_hex.substr(0, 7), git_hex + "0", upper, sha256_hex})
    EXPECT_FALSE(GitId::parse(text)) << text;
  EXPECT_EQ(GitId::parse("v1").error().message, "revision 'v1': not 40 lower-case hex digits");
}

TEST(Digest, IsOrderedByItsBytes) {
  const Digest low{};
  EXPECT_LT(low, *Digest::parse(sha256_hex));
  EXPECT_EQ(low, Digest{});
}

}  // namespace
}  // namespace lyk
