#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

class StoreRebuildTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(put(store_, known_[0], image_));
    ASSERT_TRUE(put(store_, known_[1], "text"));
    ASSERT_TRUE(put(store_, entry("unknown.so", "unknown", 2), "unknown"));
    ASSERT_TRUE(store_.record_use(digest_of(image_), day_one + one_day));
  }

  const std::string image_ = ptx("relu");
  const std::vector<Entry> known_{entry("build/relu.ptx", image_),
                                  plain_entry("README.md", "text")};
  lyk::test::TempDir folder_;
  std::filesystem::path root_ = folder_.path() / "store";
  Store store_ = open_store(options(root_));
};

TEST_F(StoreRebuildTest, GivesBlobsTheNamesThatTheyProveToBe) {
  const auto rebuilt = store_.rebuild_index(known_, day_one);
  ASSERT_TRUE(rebuilt) << rebuilt.error().message;
  EXPECT_EQ(rebuilt->files, 2U);
  EXPECT_EQ(rebuilt->images, 1U);
  EXPECT_EQ(rebuilt->revisions, 1U);
  EXPECT_EQ(rebuilt->unknown_blobs, 1U);
  EXPECT_TRUE(store_.find(known_[0].name)->has_value());
  EXPECT_TRUE(store_.find(known_[1].name)->has_value());
  EXPECT_FALSE(store_.find(file_name("unknown.so", 2))->has_value());
  EXPECT_EQ(store_.images(origin())->size(), 1U);
  EXPECT_EQ(store_.files(origin())->back().used, day_one + one_day) << "uses are kept";
  expect_clean(store_);
}

TEST_F(StoreRebuildTest, QuarantinesTheDamaged) {
  flip_byte(blob_path(root_, digest_of(image_)));
  const auto rebuilt = store_.rebuild_index(known_, day_one);
  ASSERT_TRUE(rebuilt);
  ASSERT_EQ(rebuilt->damaged.size(), 1U);
  EXPECT_EQ(rebuilt->damaged.front().expected, digest_of(image_));
  EXPECT_EQ(rebuilt->files, 1U);
  EXPECT_EQ(store_.quarantine()->size(), 1U);
}

TEST_F(StoreRebuildTest, RefusesNamesThatTheContentDoesNotProve) {
  std::vector<Entry> wrong = known_;
  wrong[0].proof.bytes = 3;
  wrong[1].proof.git_blob = GitId{};
  const auto rebuilt = store_.rebuild_index(wrong, day_one);
  ASSERT_TRUE(rebuilt);
  EXPECT_EQ(rebuilt->files, 0U);
  EXPECT_EQ(rebuilt->unknown_blobs, 3U);
}

TEST_F(StoreRebuildTest, AnIndexThatCannotBeReadIsPutAsideForANewOne) {
  store_ = open_store(options(folder_.path() / "another"));
  write_file(root_ / "index.sqlite3", std::string(8192, 'x'));
  const auto broken = Store::open(options(root_));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Code::corrupt_store);
  EXPECT_NE(broken.error().message.find("rebuild-index"), std::string::npos);

  Options rebuilding = options(root_);
  rebuilding.access = Options::Access::rebuild;
  Store anew = open_store(rebuilding);
  const auto rebuilt = anew.rebuild_index(known_, day_one);
  ASSERT_TRUE(rebuilt) << rebuilt.error().message;
  EXPECT_EQ(rebuilt->files, 2U);
  EXPECT_TRUE(std::filesystem::exists(root_ / "index.sqlite3.damaged"));
  expect_clean(anew);
}

TEST_F(StoreRebuildTest, AnIndexThatOpensAndCannotBeReadIsPutAsideToo) {
  store_ = open_store(options(folder_.path() / "another"));
  damage_index(root_ / "index.sqlite3");
  const std::string damaged = read_file(root_ / "index.sqlite3");
  {
    Store store = open_store(options(root_));
    const std::string expected = str("index '", (root_ / "index.sqlite3").string(),
                                     "': damaged; start it anew with `libreyolo-kernels "
                                     "rebuild-index`");
    const auto verified = store.verify_all({}, {}, day_one);
    ASSERT_FALSE(verified);
    EXPECT_EQ(verified.error().code, Code::corrupt_store);
    EXPECT_EQ(verified.error().message, expected);
    const auto listed = store.revisions();
    ASSERT_FALSE(listed);
    EXPECT_EQ(listed.error().message, expected);
  }
  Options rebuilding = options(root_);
  rebuilding.access = Options::Access::rebuild;
  Store anew = open_store(rebuilding);
  EXPECT_EQ(read_file(root_ / "index.sqlite3.damaged"), damaged);
  const auto rebuilt = anew.rebuild_index(known_, day_one);
  ASSERT_TRUE(rebuilt) << rebuilt.error().message;
  EXPECT_EQ(rebuilt->files, 2U);
  expect_clean(anew);
}

TEST_F(StoreRebuildTest, AnIndexInUseIsNotPutAside) {
  // The store of this test has it open.
  std::filesystem::resize_file(root_ / "index.sqlite3", 0);
  std::filesystem::remove(root_ / "index.sqlite3-wal");
  write_file(root_ / "index.sqlite3", std::string(8192, 'x'));
  Options rebuilding = options(root_);
  rebuilding.access = Options::Access::rebuild;
  const auto refused = Store::open(rebuilding);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::busy) << refused.error().message;
}

}  // namespace
}  // namespace lyk::cache::test
