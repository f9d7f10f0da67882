// What a foreign hand puts in the places of a store's files and folders.
#include <sys/stat.h>

#include <array>

#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

namespace fs = std::filesystem;

// Everything but a file that can stand at a path. A device needs root, and is one more thing that
// is not opened.
enum class Kind { link, dangling_link, fifo, folder };
constexpr std::array kinds{Kind::link, Kind::dangling_link, Kind::fifo, Kind::folder};

class StoreForeignTest : public ::testing::Test {
protected:
  void SetUp() override {
    write_file(outside_, "outside");
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      ASSERT_TRUE(put(store_, of(i), content(i)));
      replace(blob_path(root_, digest_of(content(i))), kinds[i]);
    }
    ASSERT_TRUE(put(store_, entry("sound.so", "sound"), "sound"));
  }

  static std::string content(std::size_t i) { return str("content ", i); }
  static Entry of(std::size_t i) { return entry(str("f", i), content(i)); }

  void replace(const fs::path& path, Kind kind) const {
    fs::remove(path);
    switch (kind) {
      case Kind::link:
        fs::create_symlink(outside_, path);
        return;
      case Kind::dangling_link:
        fs::create_symlink("/nowhere", path);
        return;
      case Kind::fifo:
        ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
        return;
      case Kind::folder:
        write_file(path / "inside", "inside");
        return;
    }
  }

  lyk::test::TempDir folder_;
  fs::path root_ = folder_.path() / "store";
  fs::path outside_ = folder_.path() / "outside";
  Store store_ = open_store(options(root_));
};

TEST_F(StoreForeignTest, VerifyMovesAwayWhatIsNoFileAndGoesOn) {
  const auto report = store_.verify_all({}, {}, day_one);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->files, kinds.size() + 1);
  EXPECT_EQ(report->bytes, 5U);
  EXPECT_EQ(report->damaged.size(), kinds.size());
  for (const Damaged& damaged : report->damaged) {
    EXPECT_EQ(damaged.names.size(), 1U);
    EXPECT_FALSE(damaged.actual);
  }
  EXPECT_EQ(store_.quarantine()->size(), kinds.size());
  EXPECT_EQ(store_.stats()->quarantined, kinds.size());
  EXPECT_EQ(read_file(outside_), "outside");
  EXPECT_TRUE(store_.find(file_name("sound.so"))->has_value());
  expect_clean(store_);
}

TEST_F(StoreForeignTest, RebuildMovesAwayWhatIsNoFileAndGoesOn) {
  const std::array known{entry("sound.so", "sound"), of(0)};
  const auto rebuilt = store_.rebuild_index(known, day_one);
  ASSERT_TRUE(rebuilt) << rebuilt.error().message;
  EXPECT_EQ(rebuilt->files, 1U);
  EXPECT_EQ(rebuilt->damaged.size(), kinds.size());
  EXPECT_EQ(store_.quarantine()->size(), kinds.size());
  expect_clean(store_);
}

TEST_F(StoreForeignTest, AMissIsFetchedAgainOverWhatIsNoFile) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto found = store_.find(of(i).name);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_FALSE(found->has_value());
    EXPECT_EQ(store_.open_blob(digest_of(content(i))).error().code, Code::not_cached);
    const auto blob = put(store_, of(i), content(i));
    ASSERT_TRUE(blob) << blob.error().message;
    EXPECT_TRUE(store_.find(of(i).name)->has_value());
  }
  EXPECT_EQ(store_.quarantine()->size(), kinds.size());
  expect_clean(store_);
}

TEST_F(StoreForeignTest, AFullQuarantineKeepsFoldersUntilSomebodyTakesThem) {
  for (unsigned round = 0; round < limits::quarantine_files_max + 2; ++round) {
    const Digest folder = digest_of(content(3));
    ASSERT_EQ(*store_.verify(folder, day_one), Verdict::damaged);
    ASSERT_TRUE(put(store_, of(3), content(3)));
    replace(blob_path(root_, folder), round == 0 ? Kind::folder : Kind::fifo);
  }
  EXPECT_LE(store_.quarantine()->size(), limits::quarantine_files_max + 2);
  EXPECT_EQ(files_below(root_ / "quarantine"), 2U) << "one in each folder";
}

TEST_F(StoreForeignTest, CollectionLeavesFoldersAlone) {
  write_file(root_ / "tmp" / "folder" / "inside", "inside");
  fs::create_directory(root_ / "locks" / "folder");
  const auto late =
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()) + one_day * 2;
  const auto collected = store_.collect_orphans(late);
  ASSERT_TRUE(collected) << collected.error().message;
  EXPECT_TRUE(fs::exists(root_ / "tmp" / "folder" / "inside"));
}

TEST(StoreFolders, AStoreWithALinkInsideIsRefused) {
  for (const Options::Access access :
       {Options::Access::prefer_read_write, Options::Access::read_only, Options::Access::rebuild})
    for (const char* part :
         {"blobs", "blobs/sha256", "git", "tmp", "locks", "quarantine", "index.sqlite3"}) {
      lyk::test::TempDir folder;
      const fs::path root = folder.path() / "store";
      { open_store(options(root)); }
      fs::rename(root / part, folder.path() / "elsewhere");
      fs::create_symlink(folder.path() / "elsewhere", root / part);
      Options with = options(root);
      with.access = access;
      const auto opened = Store::open(with);
      ASSERT_FALSE(opened) << part;
      EXPECT_EQ(opened.error().code, Code::refused) << opened.error().message;
      EXPECT_NE(opened.error().message.find((root / part).string()), std::string::npos)
          << opened.error().message;
      EXPECT_NE(opened.error().message.find("back to its place"), std::string::npos);
    }
}

TEST(StoreFolders, AStoreWithAFileForAFolderIsRefused) {
  lyk::test::TempDir folder;
  const fs::path root = folder.path() / "store";
  { open_store(options(root)); }
  fs::remove(root / "tmp");
  write_file(root / "tmp", "");
  const auto opened = Store::open(options(root));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::refused) << opened.error().message;
}

TEST(StoreFolders, TheStoreAsAWholeMayBeALink) {
  lyk::test::TempDir folder;
  fs::create_directory(folder.path() / "elsewhere");
  fs::create_directory_symlink("elsewhere", folder.path() / "store");
  Store store = open_store(options(folder.path() / "store"));
  ASSERT_TRUE(put(store, entry("a.so", "content"), "content"));
  expect_clean(store);
}

}  // namespace
}  // namespace lyk::cache::test
