#include "cache/staging.hpp"

#include <sys/stat.h>

#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

class StagingTest : public ::testing::Test {
protected:
  Staging create(const StageSize& size) {
    auto staging =
        Staging::create(folder_.path(), size, Reservation{reserved_, size.bytes_expected});
    if (!staging)
      ADD_FAILURE() << staging.error().message;
    return std::move(staging).value();
  }
  lyk::test::TempDir folder_;
  std::shared_ptr<std::atomic<std::uint64_t>> reserved_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
};

TEST_F(StagingTest, WritesOneAfterTheOther) {
  Staging staging = create(StageSize::exactly(7));
  ASSERT_TRUE(staging.write(bytes_of("con")));
  ASSERT_TRUE(staging.write(bytes_of("")));
  ASSERT_TRUE(staging.write(bytes_of("tent")));
  EXPECT_EQ(staging.bytes_so_far(), 7U);
  EXPECT_EQ(read_file(staging.path()), "content");
}

TEST_F(StagingTest, RefusesAByteMoreThanTheMaximumAndWritesNoneOfIt) {
  Staging staging = create(StageSize::exactly(7));
  ASSERT_TRUE(staging.write(bytes_of("conte")));
  const auto refused = staging.write(bytes_of("nts"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::size_mismatch);
  EXPECT_EQ(staging.bytes_so_far(), 5U);
  EXPECT_EQ(read_file(staging.path()), "conte");
  EXPECT_TRUE(staging.write(bytes_of("nt")));
}

TEST_F(StagingTest, RestartForgetsEverything) {
  lyk::test::TempDir root;
  Store store = open_store(options(root.path() / "store"));
  auto staging = store.stage(StageSize::exactly(7));
  ASSERT_TRUE(staging);
  ASSERT_TRUE(staging->write(bytes_of("wrong")));
  ASSERT_TRUE(staging->restart());
  EXPECT_EQ(staging->bytes_so_far(), 0U);
  ASSERT_TRUE(staging->write(bytes_of("content")));
  EXPECT_TRUE(store.commit(std::move(*staging), entry("a.so", "content"), day_one));
}

TEST_F(StagingTest, NamesAreUniqueAndPrivate) {
  const Staging one = create(StageSize::exactly(1));
  const Staging two = create(StageSize::exactly(1));
  EXPECT_NE(one.path(), two.path());
  struct stat status {};
  ASSERT_EQ(::stat(one.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
}

TEST_F(StagingTest, DestructionDeletesTheFileAndGivesTheSpaceBack) {
  {
    Staging staging = create(StageSize::exactly(100));
    EXPECT_EQ(*reserved_, 100U);
    const Staging moved = std::move(staging);
    EXPECT_EQ(*reserved_, 100U);
    EXPECT_EQ(files_below(folder_.path()), 1U);
  }
  EXPECT_EQ(*reserved_, 0U);
  EXPECT_EQ(files_below(folder_.path()), 0U);
}

TEST_F(StagingTest, AssignmentDeletesTheFileThatIsReplaced) {
  Staging staging = create(StageSize::exactly(1));
  staging = create(StageSize::exactly(2));
  EXPECT_EQ(files_below(folder_.path()), 1U);
  EXPECT_EQ(*reserved_, 2U);
}

TEST_F(StagingTest, ReservesTheSpaceOnTheDisk) {
  const Staging staging = create(StageSize::exactly(1 << 20));
  struct stat status {};
  ASSERT_EQ(::stat(staging.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 0) << "reserved, not written";
}

TEST_F(StagingTest, AFolderThatIsNotThereIsNamed) {
  const auto staging =
      Staging::create(folder_.path() / "gone", StageSize::exactly(1), Reservation{});
  ASSERT_FALSE(staging);
  EXPECT_EQ(staging.error().code, Code::io);
  EXPECT_NE(staging.error().message.find("gone"), std::string::npos);
}

}  // namespace
}  // namespace lyk::cache::test
