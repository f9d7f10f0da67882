#include "cache/store.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

class StoreTest : public ::testing::Test {
protected:
  lyk::test::TempDir folder_;
  std::filesystem::path root_ = folder_.path() / "store";
  Store store_ = open_store(options(root_));
};

TEST_F(StoreTest, FindsWhatWasCommitted) {
  const Entry relu = entry("build/a/relu.so", "content");
  const auto blob = put(store_, relu, "content");
  ASSERT_TRUE(blob) << blob.error().message;
  EXPECT_EQ(blob->sha256, digest_of("content"));
  EXPECT_EQ(blob->bytes, 7U);
  const auto found = store_.find(relu.name);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ(**found, *blob);
  EXPECT_EQ(read_file(blob_path(root_, blob->sha256)), "content");
  expect_clean(store_);
}

TEST_F(StoreTest, GivesOutTheBytesReadOnly) {
  const Entry relu = entry("relu.so", "content");
  ASSERT_TRUE(put(store_, relu, "content"));
  const auto fd = store_.open_blob(digest_of("content"));
  ASSERT_TRUE(fd);
  std::string bytes(7, '\0');
  EXPECT_EQ(::pread(fd->get(), bytes.data(), bytes.size(), 0), 7);
  EXPECT_EQ(bytes, "content");
  EXPECT_EQ(::write(fd->get(), "x", 1), -1);
  const auto missing = store_.open_blob(digest_of("other"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::not_cached);
}

TEST_F(StoreTest, MakesFilesReadOnlyAndTheRootPrivate) {
  ASSERT_TRUE(put(store_, entry("relu.so", "content"), "content"));
  struct stat status {};
  ASSERT_EQ(::stat(root_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
  ASSERT_EQ(::stat(blob_path(root_, digest_of("content")).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0444U);
}

struct BadContent {
  const char* what;
  const char* content;
  bool by_git;
  Code code;
};

TEST_F(StoreTest, CommitRefusesWhatTheProofDoesNotName) {
  const std::array<BadContent, 6> cases{{
      {"same size, other bytes", "c0ntent", false, Code::digest_mismatch},
      {"same size, other bytes, plain file", "c0ntent", true, Code::digest_mismatch},
      {"shorter", "conten", false, Code::size_mismatch},
      {"shorter, plain file", "conten", true, Code::size_mismatch},
      {"longer", "contents", false, Code::size_mismatch},
      {"nothing", "", false, Code::size_mismatch},
  }};
  for (const BadContent& bad : cases) {
    const Entry wanted = bad.by_git ? plain_entry("a.so", "content") : entry("a.so", "content");
    const auto blob = put(store_, wanted, bad.content);
    ASSERT_FALSE(blob) << bad.what;
    EXPECT_EQ(blob.error().code, bad.code) << bad.what << ": " << blob.error().message;
    EXPECT_NE(blob.error().message.find("kernels/relu@000100000000/a.so"), std::string::npos);
    EXPECT_EQ(files_below(root_ / "blobs"), 0U) << bad.what;
    EXPECT_EQ(files_below(root_ / "tmp"), 0U) << bad.what;
    const auto found = store_.find(wanted.name);
    EXPECT_TRUE(found && !*found) << bad.what;
  }
  EXPECT_EQ(store_.stats()->files, 0U);
}

TEST_F(StoreTest, CommitRefusesWithoutAProof) {
  Entry unproven = entry("a.so", "content");
  unproven.proof = {.sha256 = std::nullopt, .git_blob = std::nullopt, .bytes = 7};
  const auto blob = put(store_, unproven, "content");
  ASSERT_FALSE(blob);
  EXPECT_EQ(blob.error().code, Code::refused);
}

TEST_F(StoreTest, CommitAcceptsADigestWithoutASize) {
  Entry pinned = entry("a.so", "content");
  pinned.proof.bytes.reset();
  pinned.kind = ProofKind::digests;
  ASSERT_TRUE(put(store_, pinned, "content"));
  const auto revision = store_.revision(origin());
  ASSERT_TRUE(revision && *revision);
  EXPECT_EQ((*revision)->kind, ProofKind::digests);
}

TEST_F(StoreTest, AnEmptyFileIsAFile) {
  ASSERT_TRUE(put(store_, plain_entry("build/a/__init__.py", ""), ""));
  const auto found = store_.find(file_name("build/a/__init__.py"));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->bytes, 0U);
  expect_clean(store_);
}

TEST_F(StoreTest, AbandonedStagingLeavesNothing) {
  {
    auto staging = store_.stage(StageSize::exactly(100));
    ASSERT_TRUE(staging);
    ASSERT_TRUE(staging->write(bytes_of("part")));
    EXPECT_EQ(files_below(root_ / "tmp"), 1U);
  }
  EXPECT_EQ(files_below(root_ / "tmp"), 0U);
}

TEST_F(StoreTest, KeepsOneCopyOfEqualContent) {
  ASSERT_TRUE(put(store_, entry("a.so", "content", 1), "content"));
  ASSERT_TRUE(put(store_, entry("b.so", "content", 2), "content"));
  EXPECT_EQ(files_below(root_ / "blobs"), 1U);
  const auto stats = store_.stats();
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->files, 2U);
  EXPECT_EQ(stats->blobs, 1U);
  EXPECT_EQ(stats->bytes, 7U);
}

TEST_F(StoreTest, LinkGivesKnownContentAnotherName) {
  ASSERT_TRUE(put(store_, entry("a.so", "content", 1), "content"));
  const Entry again = entry("a.so", "content", 2);
  const auto linked = store_.link(again, day_one);
  ASSERT_TRUE(linked && *linked) << linked.error().message;
  EXPECT_TRUE(store_.find(again.name)->has_value());
  const auto unknown = store_.link(entry("a.so", "other", 2), day_one);
  EXPECT_TRUE(unknown && !*unknown);
  Entry wrong_size = entry("a.so", "content", 3);
  wrong_size.proof.bytes = 8;
  const auto refused = store_.link(wrong_size, day_one);
  EXPECT_TRUE(refused && !*refused);
}

TEST_F(StoreTest, LinkFindsPlainFilesByTheirGitId) {
  ASSERT_TRUE(put(store_, plain_entry("README.md", "text", 1), "text"));
  const auto linked = store_.link(plain_entry("README.md", "text", 2), day_one);
  ASSERT_TRUE(linked && *linked);
  EXPECT_EQ((*linked)->sha256, digest_of("text"));
}

TEST_F(StoreTest, LinkTakesInAnOrphanOnceItIsHashed) {
  const std::string image = ptx("relu");
  write_file(blob_path(root_, digest_of(image)), image);
  const auto linked = store_.link(entry("build/relu.ptx", image), day_one);
  ASSERT_TRUE(linked && *linked) << linked.error().message;
  EXPECT_EQ(store_.images(origin())->size(), 1U);
}

TEST_F(StoreTest, LinkQuarantinesAnOrphanOfAnotherHash) {
  write_file(blob_path(root_, digest_of("content")), "c0ntent");
  const auto linked = store_.link(entry("a.so", "content"), day_one);
  EXPECT_TRUE(linked && !*linked);
  EXPECT_EQ(store_.quarantine()->size(), 1U);
}

TEST_F(StoreTest, FindAsksForTheContentThatTheProofNames) {
  const Entry relu = entry("a.so", "content");
  ASSERT_TRUE(put(store_, relu, "content"));
  EXPECT_TRUE(store_.find(relu.name, &relu.proof)->has_value());
  const Proof other = entry("a.so", "other").proof;
  EXPECT_FALSE(store_.find(relu.name, &other)->has_value());
}

TEST_F(StoreTest, ARowWithoutItsFileIsAMiss) {
  const Entry relu = entry("a.so", "content");
  ASSERT_TRUE(put(store_, relu, "content"));
  std::filesystem::remove(blob_path(root_, digest_of("content")));
  EXPECT_FALSE(store_.find(relu.name)->has_value());
  const auto report = store_.verify_all({}, {}, day_one);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->missing.size(), 1U);
  EXPECT_EQ(report->missing.front().names.front(), relu.name);
  ASSERT_TRUE(put(store_, relu, "content"));
  EXPECT_TRUE(store_.find(relu.name)->has_value());
}

TEST_F(StoreTest, AFileOfAnotherSizeIsAMissAndHealedByTheNextCommit) {
  const Entry relu = entry("a.so", "content");
  ASSERT_TRUE(put(store_, relu, "content"));
  std::filesystem::resize_file(blob_path(root_, digest_of("content")), 3);
  EXPECT_FALSE(store_.find(relu.name)->has_value());
  ASSERT_TRUE(put(store_, relu, "content"));
  EXPECT_TRUE(store_.find(relu.name)->has_value());
  expect_clean(store_);
}

TEST_F(StoreTest, IndexesTheImagesOfAFile) {
  const std::string image = ptx("relu_kernel", "sm_90a");
  ASSERT_TRUE(put(store_, entry("build/x/relu.ptx", image), image));
  const auto images = store_.images(origin());
  ASSERT_TRUE(images) << images.error().message;
  ASSERT_EQ(images->size(), 1U);
  const StoredImage& stored = images->front();
  EXPECT_EQ(stored.path.text(), "build/x/relu.ptx");
  EXPECT_EQ(stored.file, (Blob{digest_of(image), image.size()}));
  EXPECT_EQ(stored.ordinal, 0U);
  EXPECT_EQ(stored.image.kind, image::Kind::ptx);
  EXPECT_EQ(stored.image.arch.sm(), "sm_90a");
  ASSERT_EQ(stored.image.kernels.size(), 1U);
  EXPECT_EQ(stored.image.kernels.front().symbol, "relu_kernel");
  // What the index gives back is what the reader read.
  const auto read = image::read_images(bytes_of(image));
  ASSERT_TRUE(read);
  EXPECT_EQ(stored.image.kernels, read->front().kernels);
  EXPECT_EQ(stored.image.sha256, read->front().sha256);
  EXPECT_EQ(stored.image.bytes, read->front().bytes);
  EXPECT_EQ(stored.image.ptx_version, read->front().ptx_version);
  EXPECT_EQ(stored.image.toolkit, read->front().toolkit);
  EXPECT_EQ(stored.image.location, read->front().location);
}

TEST_F(StoreTest, AFileThatIsNoDeviceCodeHasNoImages) {
  ASSERT_TRUE(put(store_, plain_entry("README.md", "# relu\n"), "# relu\n"));
  const std::string broken =
      "\x7f"
      "ELF and nothing that an ELF file has";
  ASSERT_TRUE(put(store_, entry("build/x/broken.so", broken), broken));
  EXPECT_EQ(store_.images(origin())->size(), 0U);
  EXPECT_EQ(store_.files(origin())->size(), 2U);
}

TEST_F(StoreTest, ListsFilesByPathAndRevisionsByRepo) {
  ASSERT_TRUE(put(store_, entry("b.so", "bb", 1), "bb"));
  ASSERT_TRUE(put(store_, entry("a.so", "a", 1), "a"));
  ASSERT_TRUE(put(store_, entry("c.so", "ccc", 2), "ccc"));
  Entry gated = entry("g.so", "gggg", 2);
  gated.visibility = Visibility::gated;
  ASSERT_TRUE(put(store_, gated, "gggg"));
  const auto files = store_.files(origin(1));
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 2U);
  EXPECT_EQ((*files)[0].name, file_name("a.so", 1));
  EXPECT_EQ((*files)[1].blob.bytes, 2U);
  EXPECT_EQ((*files)[1].added, day_one);
  const auto revisions = store_.revisions();
  ASSERT_TRUE(revisions);
  ASSERT_EQ(revisions->size(), 2U);
  EXPECT_EQ((*revisions)[0].origin, origin(1));
  EXPECT_EQ((*revisions)[0].files, 2U);
  EXPECT_EQ((*revisions)[0].bytes, 3U);
  EXPECT_EQ((*revisions)[0].visibility, Visibility::open);
  EXPECT_EQ((*revisions)[1].visibility, Visibility::gated);
  EXPECT_FALSE(store_.revision(origin(3))->has_value());
}

TEST_F(StoreTest, ARevisionStaysGatedOnceItWas) {
  Entry gated = entry("g.so", "gggg");
  gated.visibility = Visibility::gated;
  ASSERT_TRUE(put(store_, gated, "gggg"));
  ASSERT_TRUE(put(store_, entry("a.so", "a"), "a"));
  EXPECT_EQ((*store_.revision(origin()))->visibility, Visibility::gated);
}

TEST_F(StoreTest, ASecondStoreOnTheSameFolderSeesTheFiles) {
  Store other = open_store(options(root_));
  const Entry relu = entry("a.so", "content");
  ASSERT_TRUE(put(store_, relu, "content"));
  EXPECT_TRUE(other.find(relu.name)->has_value());
  ASSERT_TRUE(other.remove(relu.name));
  EXPECT_FALSE(store_.find(relu.name)->has_value());
}

TEST_F(StoreTest, GitStoresOfBothRepoTypesAreApart) {
  EXPECT_EQ(store_.git_path(RepoType::kernel, repo("kernels/relu")),
            root_ / "git" / "kernels--kernels--relu.git");
  EXPECT_EQ(store_.git_path(RepoType::model, repo("kernels/relu")),
            root_ / "git" / "models--kernels--relu.git");
}

}  // namespace
}  // namespace lyk::cache::test
