#include "fetcher/pointer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lyk::fetcher {
namespace {

const std::string version = "version https://git-lfs.github.com/spec/v1\n";
const std::string oid =
    "oid sha256:cbc376bc4b7547cfcf91b256f459bbfce4133c9f3bd98ff1cabec785f6860111\n";

// The vector of facts hub-protocol 3.2.
TEST(Pointer, ReadsTheOneValidEncoding) {
  const std::string text = version + oid + "size 8\n";
  EXPECT_EQ(text.size(), 126U);
  EXPECT_TRUE(looks_like_pointer(text));
  const auto pointer = parse_pointer(text);
  ASSERT_TRUE(pointer);
  EXPECT_EQ(pointer->bytes, 8U);
  EXPECT_EQ(pointer->sha256.hex(),
            "cbc376bc4b7547cfcf91b256f459bbfce4133c9f3bd98ff1cabec785f6860111");
}

TEST(Pointer, RefusesEveryOtherEncoding) {
  const std::vector<std::string> bad{
      "",
      version,
      version + oid,
      version + oid + "size 8",
      version + oid + "size 08\n",
      version + oid + "size -8\n",
      version + oid + "size +8\n",
      version + oid + "size \n",
      version + oid + "size 18446744073709551616\n",
      version + oid + "size 8\n\n",
      version + oid + "size 8\nsize 8\n",
      version + oid + oid + "size 8\n",
      version + "size 8\n" + oid,
      version + "ext-0-foo sha256:00\n" + oid + "size 8\n",
      version + "oid sha1:cbc376bc4b7547cfcf91b256f459bbfce4133c9f\nsize 8\n",
      version +
          "oid sha256:CBC376BC4B7547CFCF91B256F459BBFCE4133C9F3BD98FF1CABEC785F6860111\nsize 8\n",
      version +
          "oid  sha256:cbc376bc4b7547cfcf91b256f459bbfce4133c9f3bd98ff1cabec785f6860111\nsize 8\n",
      "version https://git-lfs.github.com/spec/v9\n" + oid + "size 8\n",
      "version https://hawser.github.com/spec/v1\n" + oid + "size 8\n",
      "version https://git-lfs.github.com/spec/v1\r\n" + oid + "size 8\r\n",
      oid + version + "size 8\n",
      version + oid + "size 8\n" + std::string(1000, 'x'),
  };
  for (const std::string& text : bad) {
    const auto pointer = parse_pointer(text);
    ASSERT_FALSE(pointer) << text;
    EXPECT_EQ(pointer.error().code, Code::refused) << text;
    EXPECT_TRUE(pointer.error().message.starts_with("lfs pointer: ")) << pointer.error().message;
  }
}

TEST(Pointer, AnOrdinaryFileDoesNotLookLikeOne) {
  EXPECT_FALSE(looks_like_pointer(""));
  EXPECT_FALSE(looks_like_pointer("version 1\n"));
  EXPECT_FALSE(looks_like_pointer(version + std::string(1100, ' ')));
  EXPECT_TRUE(looks_like_pointer("version https://git-lfs.github.com/spec/v1\nbroken"));
}

}  // namespace
}  // namespace lyk::fetcher
