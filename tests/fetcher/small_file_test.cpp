#include "fetcher/small_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

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

TEST(SmallFile, SaysWhatCannotBeRead) {
  const test::TempDir folder;
  const UniqueFd fd{::open(folder.path().c_str(), O_RDONLY | O_CLOEXEC)};
  const auto read = read_small_file(fd.get(), 10, "'/the/folder'");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "read '/the/folder': Is a directory");
}

}  // namespace
}  // namespace lyk::fetcher
