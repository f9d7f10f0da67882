#include "cache/lock.hpp"

#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

class LockTest : public ::testing::Test {
protected:
  static LockWait no_wait() {
    return {.deadline = std::chrono::steady_clock::now(), .cancelled = {}};
  }
  bool is_free(std::string_view name) { return locks_.try_lock(name)->has_value(); }

  lyk::test::TempDir folder_;
  LockFolder locks_{folder_.path()};
};

TEST_F(LockTest, OneAtATime) {
  {
    const auto held = locks_.try_lock("relu");
    ASSERT_TRUE(held && *held);
    EXPECT_TRUE((*held)->excludes());
    EXPECT_FALSE(is_free("relu"));
    EXPECT_TRUE(is_free("gelu"));
  }
  EXPECT_TRUE(is_free("relu"));
}

TEST_F(LockTest, SharedOnesShareAndKeepExclusiveOnesOut) {
  const auto one = locks_.try_lock("store", Lock::Strength::shared);
  const auto two = locks_.try_lock("store", Lock::Strength::shared);
  EXPECT_TRUE(*one && *two);
  EXPECT_FALSE(is_free("store"));
}

TEST_F(LockTest, WaitingEndsAtTheDeadline) {
  const auto held = locks_.try_lock("relu");
  const auto late = locks_.lock("relu", no_wait());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::busy);
}

TEST_F(LockTest, WaitingEndsWhenItIsCancelled) {
  const auto held = locks_.try_lock("relu");
  int asked = 0;
  const LockWait wait{.deadline = std::chrono::steady_clock::time_point::max(),
                      .cancelled = [&] { return ++asked == 2; }};
  const auto given_up = locks_.lock("relu", wait);
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, Code::cancelled);
}

TEST_F(LockTest, AFreeLockIsTakenWithoutWaiting) {
  EXPECT_TRUE(locks_.lock("relu", no_wait()));
}

TEST_F(LockTest, NamesOfAnyKindAreFileNames) {
  ASSERT_TRUE(locks_.try_lock("../../etc/passwd"));
  ASSERT_TRUE(locks_.try_lock(std::string(10'000, 'x')));
  for (const auto& item : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_TRUE(Digest::parse(item.path().filename().string()));
  EXPECT_EQ(files_below(folder_.path()), 2U);
}

TEST_F(LockTest, ADeletedLockFileIsMadeAnew) {
  const auto held = locks_.try_lock("relu");
  for (const auto& item : std::filesystem::directory_iterator(folder_.path()))
    std::filesystem::remove(item.path());
  // The holder keeps a lock that excludes nobody any more; the next one gets a file of its own.
  EXPECT_TRUE(is_free("relu"));
  EXPECT_EQ(files_below(folder_.path()), 1U);
}

TEST_F(LockTest, RemovesOnlyWhatIsFree) {
  const auto held = locks_.try_lock("held");
  { ASSERT_TRUE(locks_.try_lock("free")); }
  std::size_t removed = 0;
  for (const auto& item : std::filesystem::directory_iterator(folder_.path()))
    removed += *locks_.remove_if_free(item.path().filename().string()) ? 1U : 0U;
  EXPECT_EQ(removed, 1U);
  EXPECT_FALSE(is_free("held"));
}

TEST_F(LockTest, AFolderThatIsNotThereIsNamed) {
  const auto lock = LockFolder{folder_.path() / "gone"}.try_lock("relu");
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, Code::io);
}

}  // namespace
}  // namespace lyk::cache::test
