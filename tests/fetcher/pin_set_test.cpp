#include "fetcher/pin_set.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "proto/text.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::fetcher {
namespace {

namespace fs = std::filesystem;

void write_pin(const fs::path& path, std::string_view slot, std::string_view repo) {
  fs::create_directories(path.parent_path());
  std::ofstream{path} << str("slot = \"", slot, "\"\nrepo = \"", repo,
                             "\"\nrevision = \"4d2393e5d7879f7cf68db04cc7c9c7342272bc05\"\n"
                             "abi = \"ms_deform_im2col\"\n");
}

SlotName slot(std::string_view text) {
  auto parsed = SlotName::parse(text);
  EXPECT_TRUE(parsed);
  return *parsed;
}

class PinSetTest : public testing::Test {
protected:
  PinSet load() {
    const std::vector<fs::path> folders{folder / "usr", folder / "etc", folder / "absent"};
    return load_pins(folders);
  }
  test::TempDir folder;
};

TEST_F(PinSetTest, ALaterFolderWins) {
  write_pin(folder / "usr/a.toml", "a", "x/first");
  write_pin(folder / "usr/b.toml", "b", "x/only");
  write_pin(folder / "etc/a.toml", "a", "x/second");
  const PinSet set = load();
  EXPECT_TRUE(set.refused.empty());
  ASSERT_EQ(set.pins.size(), 2U);
  EXPECT_EQ(set.find(slot("a"))->pin.repo.text(), "x/second");
  EXPECT_EQ(set.find(slot("a"))->source, folder / "etc/a.toml");
  EXPECT_EQ(set.find(slot("b"))->pin.repo.text(), "x/only");
  EXPECT_EQ(set.find(slot("c")), nullptr);
}

TEST_F(PinSetTest, ABrokenFileTakesItsSlotOutOfForceAndNoOther) {
  write_pin(folder / "usr/a.toml", "a", "x/first");
  write_pin(folder / "usr/b.toml", "b", "x/other");
  fs::create_directories(folder / "etc");
  std::ofstream{folder / "etc/a.toml"} << "slot = \"a\"\nrepoo = 1\n";
  const PinSet set = load();
  EXPECT_EQ(set.find(slot("a")), nullptr);
  EXPECT_NE(set.find(slot("b")), nullptr);
  ASSERT_EQ(set.refused.size(), 1U);
  ASSERT_NE(set.find_refused(slot("a")), nullptr);
  EXPECT_EQ(set.find_refused(slot("a"))->error.message,
            str(folder / "etc/a.toml", ":2: unknown key 'repoo'; did you mean 'repo'"));
  EXPECT_EQ(set.find_refused(slot("b")), nullptr);
}

TEST_F(PinSetTest, AFileMustBearTheNameOfItsSlot) {
  write_pin(folder / "usr/other.toml", "a", "x/first");
  const PinSet set = load();
  EXPECT_TRUE(set.pins.empty());
  ASSERT_EQ(set.refused.size(), 1U);
  EXPECT_NE(set.refused[0].error.message.find("must be in a file 'a.toml'"), std::string::npos);
}

TEST_F(PinSetTest, WhatIsNoPinFileIsPassedOver) {
  write_pin(folder / "usr/a.toml", "a", "x/first");
  write_pin(folder / "usr/a.toml.bak", "a", "x/old");
  write_pin(folder / "usr/README", "a", "x/old");
  const PinSet set = load();
  EXPECT_EQ(set.pins.size(), 1U);
  EXPECT_TRUE(set.refused.empty());
}

TEST_F(PinSetTest, AFileThatCannotBeReadIsRefusedWithItsCause) {
  fs::create_directories(folder / "usr/a.toml");
  write_pin(folder / "usr/b.toml", "b", "x/first");
  fs::create_symlink("/nowhere/at/all", folder / "usr/c.toml");
  ASSERT_EQ(::mkfifo((folder / "usr/d.toml").c_str(), 0600), 0);
  const PinSet set = load();
  EXPECT_EQ(set.pins.size(), 1U);
  ASSERT_EQ(set.refused.size(), 3U);
  EXPECT_NE(set.refused[0].error.message.find("not a regular file"), std::string::npos);
  EXPECT_NE(set.refused[1].error.message.find("No such file"), std::string::npos);
  EXPECT_NE(set.refused[2].error.message.find("not a regular file"), std::string::npos);
}

TEST_F(PinSetTest, AFileThatOthersMayWriteTakesItsSlotOutOfForce) {
  write_pin(folder / "usr/a.toml", "a", "x/first");
  write_pin(folder / "etc/a.toml", "a", "x/second");
  fs::permissions(folder / "etc/a.toml", fs::perms::group_write, fs::perm_options::add);
  const PinSet set = load();
  EXPECT_TRUE(set.pins.empty());
  ASSERT_EQ(set.refused.size(), 1U);
  EXPECT_EQ(set.refused[0].error.code, Code::refused);
  EXPECT_EQ(set.refused[0].error.message,
            str(folder / "etc/a.toml", ": others may write it; run chmod go-w '",
                folder / "etc/a.toml", "'"));
}

TEST_F(PinSetTest, AFileOfAnotherUserIsRefused) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root";
  write_pin(folder / "usr/a.toml", "a", "x/first");
  write_pin(folder / "usr/b.toml", "b", "x/first");
  ASSERT_EQ(::chown((folder / "usr/a.toml").c_str(), 1234, 1234), 0);
  const PinSet set = load();
  EXPECT_EQ(set.find(slot("a")), nullptr);
  EXPECT_NE(set.find(slot("b")), nullptr);
  ASSERT_NE(set.find_refused(slot("a")), nullptr);
  EXPECT_NE(set.find_refused(slot("a"))->error.message.find("user 1234 owns it"),
            std::string::npos);
}

// Whoever may write a folder may put another file in the place of one that is good.
TEST_F(PinSetTest, AFolderThatOthersMayWriteGivesNoPins) {
  write_pin(folder / "usr/a.toml", "a", "x/first");
  write_pin(folder / "etc/b.toml", "b", "x/second");
  fs::permissions(folder / "etc", fs::perms::others_write, fs::perm_options::add);
  const PinSet set = load();
  EXPECT_NE(set.find(slot("a")), nullptr);
  EXPECT_EQ(set.find(slot("b")), nullptr);
  ASSERT_EQ(set.refused.size(), 1U);
  EXPECT_EQ(set.refused[0].source, folder / "etc");
}

TEST_F(PinSetTest, ALinkIsJudgedByTheFileThatItLeadsTo) {
  write_pin(folder / "elsewhere/a.toml", "a", "x/first");
  fs::create_directories(folder / "usr");
  fs::create_symlink(folder / "elsewhere/a.toml", folder / "usr/a.toml");
  EXPECT_NE(load().find(slot("a")), nullptr);
  fs::permissions(folder / "elsewhere/a.toml", fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(load().find(slot("a")), nullptr);
}

TEST(PinsOfTheProduct, AreAllGood) {
  const std::vector<fs::path> folders{LYK_SOURCE_DIR "/packaging/pins.d"};
  const PinSet set = load_pins(folders);
  for (const RefusedPin& each : set.refused)
    ADD_FAILURE() << each.error.message;
  EXPECT_NE(set.find(slot("ms_deform_attn")), nullptr);
}

}  // namespace
}  // namespace lyk::fetcher
