#include "cache/hash_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <thread>

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
  constexpr std::size_t ring = limits::hash_pieces * piece;
  const std::string all = pattern(ring + 2 * piece + 77);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, piece - 1, piece, piece + 1,
                                  ring - 1, ring, ring + 1, ring + piece, all.size()}) {
    const std::string content = all.substr(0, bytes);
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

TEST(HashFile, AFileThatHoldsMoreThanItsSizeIsReadToItsEnd) {
  const UniqueFd fd = open_read("/proc/self/status");  // its size is 0
  const auto hash = hash_file(fd.get(), "status", Hashes::sha256);
  ASSERT_TRUE(hash && *hash);
  EXPECT_GT((*hash)->bytes, 100U);
}

// Whatever is left of it at whatever moment: zeros, as many as the hash says.
TEST(HashFile, AFileThatIsShortenedMeanwhileIsAShortFile) {
  lyk::test::TempDir folder;
  constexpr std::size_t whole = 32 * limits::hash_piece_bytes;
  write_file(folder.path() / "file", "");
  const UniqueFd writable{::open((folder.path() / "file").c_str(), O_RDWR | O_CLOEXEC)};
  ASSERT_EQ(::ftruncate(writable.get(), whole), 0);
  const UniqueFd fd = open_read(folder.path() / "file");
  std::thread shortener{[&] {
    for (std::size_t bytes = whole; bytes > 0; bytes -= limits::hash_piece_bytes / 2)
      (void)::ftruncate(writable.get(), static_cast<off_t>(bytes));  // it stays as long as it was
  }};
  const auto hash = hash_file(fd.get(), "file", Hashes::sha256);
  shortener.join();
  ASSERT_TRUE(hash && *hash);
  ASSERT_LE((*hash)->bytes, whole);
  EXPECT_EQ((*hash)->sha256, digest_of(std::string((*hash)->bytes, '\0')));
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
