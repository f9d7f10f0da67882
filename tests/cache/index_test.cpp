#include "cache/index.hpp"

#include <set>

#include "cache/index_statements.hpp"
#include "cache/schema_sql.hpp"
#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

class IndexTest : public ::testing::Test {
protected:
  Index open(Index::Journal journal = Index::Journal::wal) {
    auto index = Index::open_writer(folder_.path() / "index.sqlite3", journal);
    if (!index)
      ADD_FAILURE() << index.error().message;
    return std::move(index).value();
  }
  static BlobRow row(std::string_view content) {
    return {.id = 0,
            .blob = {digest_of(content), content.size()},
            .git_blob = std::nullopt,
            .added = day_one,
            .verified = day_one,
            .stat = {1, 2}};
  }
  lyk::test::TempDir folder_;
};

TEST_F(IndexTest, ABlobComesBackAsItWasPut) {
  Index index = open();
  BlobRow put = row("content");
  put.git_blob = git_blob_id(bytes_of("content"));
  const auto id = index.put_blob(put);
  ASSERT_TRUE(id) << id.error().message;
  for (const auto& found : {index.blob(put.blob.sha256), index.blob(*put.git_blob)}) {
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->id, *id);
    EXPECT_EQ((*found)->blob, put.blob);
    EXPECT_EQ((*found)->git_blob, put.git_blob);
    EXPECT_EQ((*found)->added, day_one);
    EXPECT_EQ((*found)->stat, put.stat);
  }
}

TEST_F(IndexTest, PuttingABlobAgainRefreshesItAndForgetsNothing) {
  Index index = open();
  BlobRow first = row("content");
  first.git_blob = git_blob_id(bytes_of("content"));
  const auto id = index.put_blob(first);
  BlobRow second = row("content");
  second.added = second.verified = day_one + one_day;
  second.stat = {3, 4};
  EXPECT_EQ(*index.put_blob(second), *id);
  const auto found = index.blob(first.blob.sha256);
  EXPECT_EQ((*found)->git_blob, first.git_blob);
  EXPECT_EQ((*found)->added, day_one);
  EXPECT_EQ((*found)->verified, day_one + one_day);
  EXPECT_EQ((*found)->stat, second.stat);
}

TEST_F(IndexTest, ImagesOfEveryShapeComeBack) {
  Index index = open();
  const auto id = index.put_blob(row("content"));
  image::Image cubin;
  cubin.kind = image::Kind::cubin;
  cubin.container = image::Container::library;
  cubin.arch = *Arch::parse("sm_90a");
  cubin.compression = image::Compression::zstd;
  cubin.bytes = 12345;
  cubin.sha256 = digest_of("image");
  cubin.toolkit = CudaVersion{13, 0};
  cubin.kernels = {{"_Z1kPf", "k(float*)", {{0, 8}}}, {"none", "none", {}}};
  cubin.location = {100, 200, 300};
  image::Image ptx_image;
  ptx_image.kind = image::Kind::ptx;
  ptx_image.container = image::Container::fatbin;
  ptx_image.arch = *Arch::parse("sm_100f");
  ptx_image.compression = image::Compression::lz4;
  ptx_image.ptx_version = CudaVersion{8, 7};
  ASSERT_TRUE(index.put_images(*id, std::vector{cubin, ptx_image}));
  ASSERT_TRUE(index.put_file(entry("a.so", "content"), *id, day_one));
  const auto images = index.images(origin());
  ASSERT_TRUE(images) << images.error().message;
  ASSERT_EQ(images->size(), 2U);
  for (const auto& [stored, put] :
       {std::pair{(*images)[0].image, cubin}, std::pair{(*images)[1].image, ptx_image}}) {
    EXPECT_EQ(stored.kind, put.kind);
    EXPECT_EQ(stored.container, put.container);
    EXPECT_EQ(stored.arch, put.arch);
    EXPECT_EQ(stored.compression, put.compression);
    EXPECT_EQ(stored.bytes, put.bytes);
    EXPECT_EQ(stored.sha256, put.sha256);
    EXPECT_EQ(stored.toolkit, put.toolkit);
    EXPECT_EQ(stored.ptx_version, put.ptx_version);
    EXPECT_EQ(stored.kernels, put.kernels);
    EXPECT_EQ(stored.location, put.location);
  }
  EXPECT_EQ((*images)[1].ordinal, 1U);
  ASSERT_TRUE(index.put_images(*id, {}));
  EXPECT_TRUE(index.images(origin())->empty());
}

TEST_F(IndexTest, DroppingABlobTakesEverythingThatNamesIt) {
  Index index = open();
  const auto id = index.put_blob(row("content"));
  ASSERT_TRUE(index.put_file(entry("a.so", "content", 1), *id, day_one));
  ASSERT_TRUE(index.put_file(entry("b.so", "content", 2), *id, day_one));
  EXPECT_EQ(index.names(*id)->size(), 2U);
  EXPECT_EQ(*index.drop_blob(*id), 2U);
  EXPECT_TRUE(index.revisions()->empty());
  EXPECT_EQ(index.stats()->blobs, 0U);
  EXPECT_TRUE(index.check());
}

TEST_F(IndexTest, TheSameCommitOfBothRepoTypesIsTwoRevisions) {
  Index index = open();
  const auto id = index.put_blob(row("content"));
  Entry as_model = entry("a.so", "content");
  as_model.name.origin.type = RepoType::model;
  ASSERT_TRUE(index.put_file(as_model, *id, day_one));
  EXPECT_FALSE(index.find(entry("a.so", "content").name)->has_value());
  EXPECT_TRUE(index.find(as_model.name)->has_value());
}

TEST_F(IndexTest, ADanglingRowIsCorruption) {
  { open(); }
  {
    auto database = Database::open(folder_.path() / "index.sqlite3", Database::Mode::read_write);
    ASSERT_TRUE(database->execute("INSERT INTO files VALUES (7, 'a.so', 8, 'git', 0)"));
  }
  Index index = open();
  const auto checked = index.check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::corrupt_store);
}

TEST_F(IndexTest, AColumnThatWeDidNotWriteIsCorruption) {
  Index index = open();
  const auto id = index.put_blob(row("content"));
  ASSERT_TRUE(index.put_file(entry("a.so", "content"), *id, day_one));
  for (const char* damage :
       {"UPDATE revisions SET repo = '../x'", "UPDATE files SET path = 'a/../b'"}) {
    auto database = Database::open(folder_.path() / "index.sqlite3", Database::Mode::read_write);
    ASSERT_TRUE(database->execute(damage));
  }
  const auto revisions = index.revisions();
  ASSERT_FALSE(revisions);
  EXPECT_EQ(revisions.error().code, Code::corrupt_store);
  const auto names = index.names(*id);
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().code, Code::corrupt_store);
}

TEST_F(IndexTest, ALinkInPlaceOfTheFileIsNotFollowed) {
  write_file(folder_.path() / "elsewhere", "");
  std::filesystem::create_symlink("elsewhere", folder_.path() / "index.sqlite3");
  EXPECT_FALSE(Index::open_writer(folder_.path() / "index.sqlite3", Index::Journal::wal));
}

TEST_F(IndexTest, AnIndexInMemoryNeedsNoFile) {
  Index index = open(Index::Journal::memory);
  ASSERT_TRUE(index.put_blob(row("content")));
  EXPECT_EQ(files_below(folder_.path()), 0U);
}

// What a Resolve or a List of one slot asks must not depend on how much else is stored.
TEST(IndexStatements, QuestionsAboutARevisionOrABlobScanNoTable) {
  auto database = Database::open("", Database::Mode::memory);
  ASSERT_TRUE(database);
  ASSERT_TRUE(database->execute(schema_sql));
  const std::set<Sql> everything{Sql::blobs,     Sql::drop_empty_revisions, Sql::clear_names,
                                 Sql::revisions, Sql::clear_revisions,      Sql::stats,
                                 Sql::bytes,     Sql::eviction_candidates};
  for (const SqlText& sql : sql_texts) {
    if (everything.contains(sql.number))
      continue;
    auto plan = database->prepare(str("EXPLAIN QUERY PLAN ", sql.text));
    ASSERT_TRUE(plan) << sql.text;
    Query query{*plan};
    while (*query.next())
      EXPECT_TRUE(!query.text(3).starts_with("SCAN ") || query.text(3) == "SCAN CONSTANT ROW")
          << sql.text << "\n"
          << query.text(3);
  }
}

}  // namespace
}  // namespace lyk::cache::test
