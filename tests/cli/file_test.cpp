#include "cli/file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/cli/cli_run.hpp"

namespace lyk::cli {
namespace {

using test::TempDir;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

void put(const std::string& path, std::string_view text) {
  std::ofstream{path, std::ios::binary} << text;
}

std::size_t entries(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{folder}, {}));
}

TEST(File, IsReadWhole) {
  const TempDir folder;
  put(folder / "a", "some text");
  const auto text = read_text_file(folder / "a", 100);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "some text");
}

TEST(File, TooLargeIsRefusedByItsSize) {
  const TempDir folder;
  put(folder / "a", "some text");
  const auto text = read_text_file(folder / "a", 8);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Code::invalid_argument);
  EXPECT_EQ(text.error().message, "'" + folder / "a" + "' has 9 bytes, more than the limit of 8");
}

TEST(File, WhatIsNotAFileIsRefused) {
  const TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder.path().string(), folder / "pipe"}) {
    const auto bytes = read_file(path, 100);
    ASSERT_FALSE(bytes);
    EXPECT_EQ(bytes.error().message, "'" + path + "' is not a regular file");
  }
}

TEST(File, AnAbsentFileIsNamed) {
  const auto bytes = read_file("/nowhere/at/all", 100);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().message, "open '/nowhere/at/all': No such file or directory");
}

TEST(File, BytesThatAreNoUtf8AreNoText) {
  const TempDir folder;
  put(folder / "a", "slot = \"\xff\"");
  EXPECT_EQ(read_text_file(folder / "a", 100).error().message,
            "'" + folder / "a" + "' is not UTF-8 text");
}

TEST(File, IsWrittenWithItsModeAndNothingIsLeftBeside) {
  const TempDir folder;
  ASSERT_TRUE(write_file(folder / "a", bytes_of("one"), 0644));
  ASSERT_TRUE(write_file(folder / "a", bytes_of("two"), 0644));
  EXPECT_EQ(*read_text_file(folder / "a", 100), "two");
  struct stat status {};
  ASSERT_EQ(::stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0644U);
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(File, AFolderThatIsNotThereIsNamed) {
  const TempDir folder;
  const auto written = write_file(folder / "none/a", bytes_of("x"), 0644);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message,
            "create a file in '" + folder / "none" + "': No such file or directory");
}

// RLIMIT_FSIZE stands for a full disk: the write fails in the middle.
TEST(File, AWriteThatFailsLeavesTheOldFileAndNothingElse) {
  const TempDir folder;
  ASSERT_TRUE(write_file(folder / "a", bytes_of("old"), 0644));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signal_before = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string large(10'000, 'x');
  const auto written = write_file(folder / "a", bytes_of(large), 0644);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)::signal(SIGXFSZ, signal_before);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "write '" + folder / "a" + "': File too large");
  EXPECT_EQ(*read_text_file(folder / "a", 100), "old");
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(File, WhatIsNotARegularFileIsNotReplaced) {
  const TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("elsewhere", folder / "link");
  for (const char* name : {"pipe", "link"}) {
    const auto written = write_file(folder / name, bytes_of("x"), 0644);
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code, Code::invalid_argument);
  }
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(entries(folder.path()), 2U);
}

TEST(File, ATargetThatIsAFolderStays) {
  const TempDir folder;
  std::filesystem::create_directory(folder / "d");
  EXPECT_FALSE(write_file(folder / "d", bytes_of("x"), 0644));
  EXPECT_EQ(entries(folder.path()), 1U);
}

}  // namespace
}  // namespace lyk::cli
