#include "fetcher/small_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "proto/unique.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::fetcher {
namespace {

TEST(SmallFile, IsReadWholeAndOneByteBeyondTheLimitAtMost) {
  const test::TempDir folder;
  std::ofstream{folder / "file"} << "0123456789";
  const auto read = [&](std::size_t bytes_max) {
    const UniqueFd fd{::open((folder / "file").c_str(), O_RDONLY | O_CLOEXEC)};
    return read_small_file(fd.get(), bytes_max, "file").value();
  };
  EXPECT_EQ(read(100), "0123456789");
  EXPECT_EQ(read(10), "0123456789");
  EXPECT_EQ(read(9), "0123456789") << "the tenth tells that there is more";
  EXPECT_EQ(read(3), "0123");
}

TEST(SmallFile, IsOpenedWithWhatIsKnownOfIt) {
  const test::TempDir folder;
  std::ofstream{folder / "file"} << "0123456789";
  const auto file = open_regular_file(folder / "file", "open it");
  ASSERT_TRUE(file && *file);
  EXPECT_EQ((*file)->status.st_size, 10);
  EXPECT_EQ(read_small_file((*file)->fd.get(), 100, "it").value(), "0123456789");
}

TEST(SmallFile, ThatIsNotThereIsNoError) {
  const test::TempDir folder;
  std::ofstream{folder / "file"} << "";
  for (const char* path : {"nothing", "file/below"}) {
    const auto file = open_regular_file(folder / path, "open it");
    ASSERT_TRUE(file) << path;
    EXPECT_FALSE(*file) << path;
  }
}

// Nobody ever writes into this pipe: who waited for that would wait for ever.
TEST(SmallFile, ThatIsNoFileIsRefusedAtOnce) {
  const test::TempDir folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path :
       {std::string{folder / "pipe"}, folder.path().string(), std::string{"/dev/zero"}}) {
    const auto file = open_regular_file(path, "open it");
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().message, "open it: not a regular file") << path;
  }
}

TEST(SmallFile, SaysWhatCannotBeRead) {
  const test::TempDir folder;
  const UniqueFd fd{::open(folder.path().c_str(), O_RDONLY | O_CLOEXEC)};
  const auto read = read_small_file(fd.get(), 10, "'/the/folder'");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "read '/the/folder': Is a directory");
}

}  // namespace
}  // namespace lyk::fetcher
