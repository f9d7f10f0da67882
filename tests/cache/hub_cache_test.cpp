#include "cache/hub_cache.hpp"

#include <sys/stat.h>

#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

namespace fs = std::filesystem;

// A cache of huggingface_hub as facts hub-protocol 4 has it, and an empty store beside it.
class HubCacheTest : public ::testing::Test {
protected:
  fs::path repo_folder(const char* type = "kernels") { return hub_ / str(type, "--kernels--relu"); }
  fs::path snapshot() {
    return repo_folder() / "snapshots" / commit_id(1).hex() / "build/x/relu.so";
  }
  Entry entry_ = entry("build/x/relu.so", "content");
  Entry plain_ = plain_entry("README.md", "text");

  std::optional<Blob> adopt(const Entry& wanted) {
    const auto blob = store_.adopt(wanted, hub_, day_one);
    EXPECT_TRUE(blob) << blob.error().message;
    return blob ? *blob : std::nullopt;
  }

  lyk::test::TempDir folder_;
  fs::path hub_ = folder_.path() / "hub";
  fs::path root_ = folder_.path() / "store";
  Store store_ = open_store(options(root_));
};

TEST_F(HubCacheTest, PlacesAreTheLikeliestFirst) {
  Entry both = entry_;
  both.proof.git_blob = git_blob_id(bytes_of("content"));
  const std::string blob = both.proof.sha256->hex();
  const std::string git = both.proof.git_blob->hex();
  const std::string at = commit_id(1).hex() + "/build/x/relu.so";
  const std::vector<fs::path> expected{
      "/hub/kernels--kernels--relu/blobs/" + blob,   "/hub/kernels--kernels--relu/blobs/" + git,
      "/hub/kernels--kernels--relu/snapshots/" + at, "/hub/models--kernels--relu/blobs/" + blob,
      "/hub/models--kernels--relu/blobs/" + git,     "/hub/models--kernels--relu/snapshots/" + at};
  EXPECT_EQ(hub_cache_places("/hub", both), expected);
}

TEST_F(HubCacheTest, AdoptsABlobOfThePlainLayout) {
  write_file(repo_folder() / "blobs" / entry_.proof.sha256->hex(), "content");
  write_file(repo_folder() / "blobs" / plain_.proof.git_blob->hex(), "text");
  EXPECT_EQ(adopt(entry_), (Blob{digest_of("content"), 7}));
  EXPECT_EQ(adopt(plain_), (Blob{digest_of("text"), 4}));
  EXPECT_TRUE(store_.find(entry_.name)->has_value());
  expect_clean(store_);
}

TEST_F(HubCacheTest, AdoptsTheFileOfASnapshotWithoutSymlinks) {
  write_file(snapshot(), "content");
  EXPECT_TRUE(adopt(entry_));
}

TEST_F(HubCacheTest, AdoptsASharedBlobThroughItsLink) {
  write_file(hub_ / "blobs" / "ab" / "abcdef", "content");
  fs::create_directories(repo_folder() / "blobs");
  fs::create_symlink("../../blobs/ab/abcdef", repo_folder() / "blobs" / entry_.proof.sha256->hex());
  EXPECT_TRUE(adopt(entry_));
}

TEST_F(HubCacheTest, AdoptsWhatTheOtherRepoTypeBrought) {
  write_file(repo_folder("models") / "blobs" / entry_.proof.sha256->hex(), "content");
  EXPECT_TRUE(adopt(entry_));
}

TEST_F(HubCacheTest, ADamagedBlobIsPassedOverForAGoodSnapshot) {
  write_file(repo_folder() / "blobs" / entry_.proof.sha256->hex(), "c0ntent");
  write_file(snapshot(), "content");
  EXPECT_TRUE(adopt(entry_));
}

TEST_F(HubCacheTest, NothingThatFitsIsNoError) {
  EXPECT_FALSE(adopt(entry_)) << "no cache at all";
  write_file(repo_folder() / "blobs" / entry_.proof.sha256->hex(), "c0ntent");
  EXPECT_FALSE(adopt(entry_)) << "damaged, of the right size";
  write_file(repo_folder() / "blobs" / (entry_.proof.sha256->hex() + ".incomplete"), "content");
  EXPECT_FALSE(adopt(entry_)) << "incomplete files are not looked at";
  fs::remove(repo_folder() / "blobs" / entry_.proof.sha256->hex());
  fs::create_symlink("nowhere", repo_folder() / "blobs" / entry_.proof.sha256->hex());
  EXPECT_FALSE(adopt(entry_)) << "a broken link";
  fs::remove(repo_folder() / "blobs" / entry_.proof.sha256->hex());
  ASSERT_EQ(::mkfifo((repo_folder() / "blobs" / entry_.proof.sha256->hex()).c_str(), 0600), 0);
  EXPECT_FALSE(adopt(entry_)) << "a fifo, which must not hold us up";
  EXPECT_EQ(files_below(root_ / "tmp"), 0U);
  EXPECT_EQ(files_below(root_ / "blobs"), 0U);
}

TEST_F(HubCacheTest, NothingIsWrittenToTheOtherCache) {
  write_file(repo_folder() / "blobs" / entry_.proof.sha256->hex(), "content");
  struct stat before {};
  struct stat after {};
  const fs::path blob = repo_folder() / "blobs" / entry_.proof.sha256->hex();
  ASSERT_EQ(::stat(blob.c_str(), &before), 0);
  ASSERT_TRUE(adopt(entry_));
  ASSERT_EQ(::stat(blob.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(after.st_nlink, 1U)
      << "a copy, not a link: whoever rewrites theirs must not reach ours";
  EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
  EXPECT_EQ(files_below(hub_), 1U);
}

TEST_F(HubCacheTest, ALargeFileIsCopiedWhole) {
  const std::string large(3 * limits::hash_piece_bytes + 5, 'x');
  store_.set_bytes_max(large.size());
  const Entry wanted = entry("build/x/large.so", large);
  write_file(repo_folder() / "blobs" / wanted.proof.sha256->hex(), large);
  EXPECT_EQ(adopt(wanted), (Blob{digest_of(large), large.size()}));
}

}  // namespace
}  // namespace lyk::cache::test
