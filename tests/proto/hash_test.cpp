#include "proto/hash.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>

namespace lyk {
namespace {

using namespace std::string_view_literals;

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span{text});
}

// A git-lfs pointer and the 8 bytes that it stands for.
constexpr std::string_view pointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:cbc376bc4b7547cfcf91b256f459bbfce4133c9f3bd98ff1cabec785f6860111\n"
    "size 8\n";
constexpr std::string_view content = "ELF\0\0\0\0\0"sv;

TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(sha256({}).hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256(bytes("abc")).hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, GivesTheDigestThatAPointerNames) {
  EXPECT_NE(pointer.find(sha256(bytes(content)).hex()), std::string_view::npos);
}

TEST(Sha256, IsTheSameHoweverTheStreamIsCut) {
  const Digest whole = sha256(bytes(pointer));
  for (std::size_t cut = 0; cut <= pointer.size(); ++cut) {
    Sha256 hasher;
    hasher.update(bytes(pointer.substr(0, cut)));
    hasher.update(bytes(pointer.substr(cut)));
    EXPECT_EQ(hasher.finish(), whole);
  }
}

TEST(Sha256, BeginsAnewAfterFinishAndReset) {
  Sha256 hasher;
  hasher.update(bytes("one"));
  (void)hasher.finish();  // only its effect on the next stream is looked at
  hasher.update(bytes("abc"));
  EXPECT_EQ(hasher.finish(), sha256(bytes("abc")));
  hasher.update(bytes("half of a resumed download"));
  hasher.reset();
  hasher.update(bytes("abc"));
  EXPECT_EQ(hasher.finish(), sha256(bytes("abc")));
}

TEST(GitBlobId, GivesTheIdsOfGit) {
  EXPECT_EQ(pointer.size(), 126U);
  EXPECT_EQ(git_blob_id(bytes(pointer)).hex(), "93d15ed799a1e5a5e7018583aae1c58b9dfbb7ca");
  EXPECT_EQ(git_blob_id({}).hex(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(git_blob_id(bytes("hello\n")).hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(GitBlobHasher, IsTheSameForAStreamOfKnownLength) {
  GitBlobHasher hasher{pointer.size()};
  hasher.update(bytes(pointer.substr(0, 50)));
  hasher.update(bytes(pointer.substr(50)));
  EXPECT_EQ(hasher.finish(), git_blob_id(bytes(pointer)));
}

}  // namespace
}  // namespace lyk
