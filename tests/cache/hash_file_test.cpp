#include "cache/hash_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

std::string pattern(std::size_t bytes) {
  std::string out(bytes, '\0');
  std::uint32_t state = 12345;
  for (char& c : out) {
    state = state * 1664525U + 1013904223U;
    c = static_cast<char>(state >> 24U);
  }
  return out;
}

UniqueFd open_read(const std::filesystem::path& path) {
  return UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
}

TEST(HashFile, EqualsTheHashOfItsBytesWhateverItsSize) {
  lyk::test::TempDir folder;
  constexpr std::size_t piece = limits::hash_piece_bytes;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, piece - 1, piece, piece + 1, 4 * piece - 1, 4 * piece,
        4 * piece + 1, 5 * piece, 9 * piece + 77}) {
    const std::string content = pattern(bytes);
    write_file(folder.path() / "file", content);
    const UniqueFd fd = open_read(folder.path() / "file");
    const auto hash = hash_file(fd.get(), "file", Hashes::sha256_and_git_blob);
    ASSERT_TRUE(hash && *hash) << bytes;
    EXPECT_EQ((*hash)->sha256, digest_of(content)) << bytes;
    EXPECT_EQ((*hash)->git_blob, git_blob_id(bytes_of(content))) << bytes;
    EXPECT_EQ((*hash)->bytes, bytes);
    const auto one = hash_file(fd.get(), "file", Hashes::sha256);
    ASSERT_TRUE(one && *one);
    EXPECT_FALSE((*one)->git_blob);
  }
}

TEST(HashFile, LeavesTheOffsetOfTheDescriptorAlone) {
  lyk::test::TempDir folder;
  write_file(folder.path() / "file", "content");
  const UniqueFd fd = open_read(folder.path() / "file");
  ASSERT_EQ(::lseek(fd.get(), 3, SEEK_SET), 3);
  ASSERT_TRUE(hash_file(fd.get(), "file", Hashes::sha256));
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_CUR), 3);
}

TEST(HashFile, RefusesAFolderAndADevice) {
  lyk::test::TempDir folder;
  for (const std::filesystem::path& path : {folder.path(), std::filesystem::path{"/dev/zero"}}) {
    const UniqueFd fd = open_read(path);
    const auto hash = hash_file(fd.get(), path.string(), Hashes::sha256);
    ASSERT_FALSE(hash);
    EXPECT_EQ(hash.error().code, Code::refused);
  }
}

TEST(HashFile, ABadDescriptorIsAnErrorThatNamesTheFile) {
  const auto hash = hash_file(-1, "relu.so", Hashes::sha256);
  ASSERT_FALSE(hash);
  EXPECT_EQ(hash.error().code, Code::io);
  EXPECT_NE(hash.error().message.find("'relu.so'"), std::string::npos);
}

}  // namespace
}  // namespace lyk::cache::test
