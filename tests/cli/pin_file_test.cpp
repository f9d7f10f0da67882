#include "cli/pin_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/cli_run.hpp"

namespace lyk::cli {
namespace {

using test::TempDir;

Result<std::optional<ExistingPin>> read(const TempDir& folder, std::string_view text) {
  std::ofstream{folder / "pin.toml", std::ios::binary} << text;
  return read_existing_pin(folder / "pin.toml");
}

TEST(PinFile, AnAbsentFileIsNoPin) {
  const auto pin = read_existing_pin("/nowhere/pin.toml");
  ASSERT_TRUE(pin);
  EXPECT_FALSE(*pin);
}

TEST(PinFile, SaysWhatItPins) {
  const TempDir folder;
  const auto pin = read(folder,
                        "slot = \"nms\"\nrepo = \"yolo/nms\"\nrevision = \"abc\"\nabi = \"x\"\n"
                        "[digests]\n\"a.so\" = \"00\"\n");
  ASSERT_TRUE(pin && *pin);
  EXPECT_EQ((*pin)->repo, "yolo/nms");
  EXPECT_EQ((*pin)->revision, "abc");
  EXPECT_EQ((*pin)->abi, "x");
  EXPECT_EQ((*pin)->keys, (std::vector<std::string>{"abi", "digests", "repo", "revision", "slot"}));
}

TEST(PinFile, WhatIsNoPinHasNoRepo) {
  const TempDir folder;
  for (const std::string_view text : {"", "not toml at all", "repo = 3", "x = [[[["}) {
    const auto pin = read(folder, text);
    ASSERT_TRUE(pin && *pin) << text;
    EXPECT_FALSE((*pin)->repo) << text;
  }
}

TEST(PinFile, WhatCannotBeReadIsAnError) {
  const TempDir folder;
  EXPECT_FALSE(read(folder, "repo = \"\xff\""));
  EXPECT_FALSE(read_existing_pin(folder.path()));
}

}  // namespace
}  // namespace lyk::cli
