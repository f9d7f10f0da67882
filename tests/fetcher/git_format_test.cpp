#include "fetcher/git_format.hpp"

#include <gtest/gtest.h>

namespace lyk::fetcher {
namespace {

using namespace std::string_literals;

const std::string id(20, '\x11');
const std::string hex = "1111111111111111111111111111111111111111";

std::string entry(const std::string& mode, const std::string& name) {
  return mode + ' ' + name + '\0' + id;
}

TEST(GitFormat, ReadsTheTreeOfACommit) {
  const auto tree = parse_commit_tree("tree " + hex + "\nauthor a\n\nmessage\n");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->hex(), hex);
  for (const std::string& bad : {""s, "tree "s, "tree " + hex, "Tree " + hex + "\n",
                                 "tree " + hex.substr(1) + "g\n", "tree  " + hex + "\n"})
    EXPECT_FALSE(parse_commit_tree(bad)) << bad;
}

TEST(GitFormat, ReadsTheEntriesOfATree) {
  const auto entries =
      parse_tree(entry("100644", "a") + entry("100755", "b.so") + entry("40000", "c") +
                 entry("120000", "d") + entry("160000", "e"));
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 5U);
  EXPECT_EQ((*entries)[1].name, "b.so");
  EXPECT_EQ((*entries)[1].kind, TreeEntryKind::file);
  EXPECT_EQ((*entries)[1].id.hex(), hex);
  EXPECT_EQ((*entries)[2].kind, TreeEntryKind::folder);
  EXPECT_EQ((*entries)[3].kind, TreeEntryKind::symlink);
  EXPECT_EQ((*entries)[4].kind, TreeEntryKind::submodule);
  EXPECT_TRUE(parse_tree("")->empty());
}

TEST(GitFormat, AFolderIsOrderedAsIfItsNameEndedInASlash) {
  EXPECT_TRUE(parse_tree(entry("100644", "a.b") + entry("40000", "a")));
  EXPECT_FALSE(parse_tree(entry("40000", "a") + entry("100644", "a.b")));
}

TEST(GitFormat, RefusesTreesThatGitDoesNotWrite) {
  for (const std::string& bad :
       {entry("100644", ""), entry("100644", "."), entry("40000", ".."), entry("40000", ".git"),
        entry("40000", ".GIT"), entry("100644", "a/b"), entry("100645", "a"), entry("", "a"),
        entry("100644", "b") + entry("100644", "a"), entry("100644", "a") + entry("100644", "a"),
        "100644 a"s, "100644 a\0short"s, "100644"s, entry("100644", "a") + "x"}) {
    const auto entries = parse_tree(bad);
    ASSERT_FALSE(entries) << bad;
    EXPECT_EQ(entries.error().code, Code::refused);
  }
}

}  // namespace
}  // namespace lyk::fetcher
