#include "proto/names.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace lyk {
namespace {

using namespace std::string_view_literals;

TEST(SlotName, IsALowerCaseWord) {
  for (const char* text : {"a", "ms_deform_attn", "fp8_gemm", "x_"})
    EXPECT_EQ(SlotName::parse(text)->text(), text);
  EXPECT_TRUE(SlotName::parse(std::string(64, 'a')));
  for (const std::string& text :
       {std::string{}, std::string{"A"}, std::string{"1a"}, std::string{"_a"}, std::string{"a-b"},
        std::string{"a/b"}, std::string{"a b"}, std::string{"a\0", 2}, std::string(65, 'a')})
    EXPECT_FALSE(SlotName::parse(text)) << text;
}

TEST(RepoId, FollowsTheRulesOfTheHub) {
  for (const char* text : {"a/b", "kernels-community/deformable-detr", "A.b_c-1/x.y"}) {
    ASSERT_TRUE(RepoId::parse(text)) << text;
    EXPECT_EQ(RepoId::parse(text)->text(), text);
  }
  EXPECT_EQ(RepoId::parse("owner/name")->owner(), "owner");
  for (const char* text : {"",     "/",       "a",      "a/",     "/b",     "a/b/c", "a/../b",
                           "../b", "a/..",    "a--b/c", "a/b--c", "-a/b",   "a-/b",  "a/.b",
                           "a/b.", "a/b.git", "a b/c",  "a/b\n",  "a/b%2f", "a/b?x", "\xc3\xa9/b"})
    EXPECT_FALSE(RepoId::parse(text)) << text;
  EXPECT_TRUE(RepoId::parse("a/" + std::string(94, 'b')));
  EXPECT_FALSE(RepoId::parse("a/" + std::string(95, 'b')));
}

TEST(RepoType, HasTwoWords) {
  EXPECT_EQ(name(*parse_repo_type("kernel")), "kernel");
  EXPECT_EQ(name(*parse_repo_type("model")), "model");
  EXPECT_EQ(parse_repo_type("dataset").error().message,
            "repo type 'dataset': it is 'kernel' or 'model'");
}

TEST(RepoPath, StaysInsideTheRepo) {
  for (const char* text : {"a", "a/b.so", "build/torch210-cu130/x.so", "...", ".gitattributes",
                           "a/..b", "sp ace", "\xc3\xa9"})
    EXPECT_TRUE(RepoPath::parse(text)) << text;
  for (const std::string_view text :
       {""sv, "/a"sv, "a/"sv, "a//b"sv, "."sv, ".."sv, "a/./b"sv, "a/../b"sv, "../a"sv, R"(a\b)"sv,
        "a\0b"sv, "a\nb"sv, "a\x7f"sv, "\xff"sv, "\xc0\xaf"sv, "\xed\xa0\x80"sv})
    EXPECT_FALSE(RepoPath::parse(text)) << text;
  EXPECT_TRUE(RepoPath::parse(std::string(1024, 'a')));
  EXPECT_FALSE(RepoPath::parse(std::string(1025, 'a')));
}

TEST(RepoPath, TellsItsLastComponent) {
  EXPECT_EQ(RepoPath::parse("a/b/c.so")->file_name(), "c.so");
  EXPECT_EQ(RepoPath::parse("c.so")->file_name(), "c.so");
}

TEST(Utf8, AcceptsExactlyTheValidSequences) {
  for (const std::string_view text :
       {""sv, "a"sv, "\x7f"sv, "\xc2\x80"sv, "\xdf\xbf"sv, "\xe0\xa0\x80"sv, "\xed\x9f\xbf"sv,
        "\xee\x80\x80"sv, "\xf0\x90\x80\x80"sv, "\xf4\x8f\xbf\xbf"sv})
    EXPECT_TRUE(is_utf8(text));
  for (const std::string_view text :
       {"\x80"sv, "\xc1\xbf"sv, "\xc2"sv, "\xc2\x41"sv, "\xe0\x9f\xbf"sv, "\xe2\x82"sv,
        "\xed\xa0\x80"sv, "\xf0\x8f\xbf\xbf"sv, "\xf4\x90\x80\x80"sv, "\xf5\x80\x80\x80"sv,
        "\xff"sv, "ok\xfe"sv})
    EXPECT_FALSE(is_utf8(text));
}

TEST(Utf8, TellsTheLengthOfASequence) {
  EXPECT_EQ(utf8_sequence_bytes("a"), 1U);
  EXPECT_EQ(utf8_sequence_bytes("\xe2\x82\xac rest"), 3U);
  EXPECT_EQ(utf8_sequence_bytes("\xe2\x82"), 0U);
}

}  // namespace
}  // namespace lyk
