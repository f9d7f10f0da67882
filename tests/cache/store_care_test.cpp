#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <chrono>

#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

class StoreCareTest : public ::testing::Test {
protected:
  // Four files of 100 bytes in four revisions, used at one, two, three and four days.
  void fill() {
    for (unsigned i = 1; i <= 4; ++i)
      ASSERT_TRUE(put(store_, entry("a.so", content(i), i), content(i), day_one + one_day * i));
  }
  static std::string content(unsigned i) { return std::string(100, static_cast<char>('a' + i)); }
  bool has(unsigned i) { return store_.find(file_name("a.so", i))->has_value(); }
  std::string present() {
    std::string out;
    for (unsigned i = 1; i <= 4; ++i)
      if (has(i))
        out += std::to_string(i);
    return out;
  }
  static PinnedRevision pin(unsigned i) { return {repo("kernels/relu"), commit_id(i)}; }

  void make_old(const std::filesystem::path& path) {
    const auto then = std::chrono::system_clock::to_time_t(day_one);
    const std::array<timespec, 2> times{{{then, 0}, {then, 0}}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
  }

  lyk::test::TempDir folder_;
  std::filesystem::path root_ = folder_.path() / "store";
  Store store_ = open_store(options(root_));
};

TEST_F(StoreCareTest, VerifyTellsGoodFromMissingFromDamaged) {
  fill();
  EXPECT_EQ(*store_.verify(digest_of(content(1)), day_one), Verdict::good);
  EXPECT_EQ(*store_.verify(digest_of("never seen"), day_one), Verdict::missing);
  flip_byte(blob_path(root_, digest_of(content(2))));
  EXPECT_EQ(*store_.verify(digest_of(content(2)), day_one), Verdict::damaged);
  EXPECT_EQ(present(), "134");
}

TEST_F(StoreCareTest, AFlippedByteIsQuarantinedAndCanBeFetchedAgain) {
  fill();
  flip_byte(blob_path(root_, digest_of(content(2))));
  const std::string damaged = read_file(blob_path(root_, digest_of(content(2))));
  const auto report = store_.verify_all({}, {}, day_one);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->files, 4U);
  EXPECT_EQ(report->bytes, 400U);
  ASSERT_EQ(report->damaged.size(), 1U);
  EXPECT_EQ(report->damaged.front().expected, digest_of(content(2)));
  EXPECT_EQ(report->damaged.front().actual, digest_of(damaged));
  ASSERT_EQ(report->damaged.front().names.size(), 1U);
  EXPECT_EQ(report->damaged.front().names.front(), file_name("a.so", 2));

  const auto quarantined = store_.quarantine();
  ASSERT_TRUE(quarantined);
  ASSERT_EQ(quarantined->size(), 1U);
  EXPECT_EQ(quarantined->front().expected, digest_of(content(2)));
  EXPECT_EQ(quarantined->front().actual, digest_of(damaged));
  EXPECT_EQ(quarantined->front().bytes, 100U);
  EXPECT_EQ(read_file(quarantined->front().path), damaged);
  EXPECT_EQ(store_.stats()->quarantined, 1U);

  EXPECT_FALSE(has(2));
  ASSERT_TRUE(put(store_, entry("a.so", content(2), 2), content(2)));
  EXPECT_TRUE(has(2));
  expect_clean(store_);
}

TEST_F(StoreCareTest, ATruncatedFileIsDamage) {
  fill();
  std::filesystem::permissions(blob_path(root_, digest_of(content(3))),
                               std::filesystem::perms::owner_all);
  std::filesystem::resize_file(blob_path(root_, digest_of(content(3))), 10);
  const auto report = store_.verify_all({}, {}, day_one);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->damaged.size(), 1U);
  EXPECT_EQ(store_.quarantine()->front().bytes, 10U);
}

TEST_F(StoreCareTest, TheQuarantineKeepsTheNewest) {
  for (unsigned i = 0; i < limits::quarantine_files_max + 3; ++i) {
    const std::string text = str("content ", i);
    ASSERT_TRUE(put(store_, entry(str("f", i), text), text));
    flip_byte(blob_path(root_, digest_of(text)));
    ASSERT_EQ(*store_.verify(digest_of(text), day_one), Verdict::damaged);
  }
  EXPECT_EQ(store_.quarantine()->size(), limits::quarantine_files_max);
}

TEST_F(StoreCareTest, VerifyBeginsWithChangedFilesAndThenTheOnesVerifiedLongestAgo) {
  fill();
  ASSERT_EQ(*store_.verify(digest_of(content(1)), day_one + one_day * 9), Verdict::good);
  make_old(blob_path(root_, digest_of(content(3))));
  // 3 has changed stat data; then 2 (day two), 4 (day four), 1 (day nine): stopped after two.
  int asked = 0;
  const auto stopped = store_.verify_all(
      {}, [&](const VerifyProgress&) { return ++asked > 2 ? Continue::no : Continue::yes; },
      day_one + one_day * 10);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::cancelled);
  const auto rest =
      store_.verify_all({.origin = std::nullopt, .verified_before = day_one + one_day * 10}, {},
                        day_one + one_day * 10);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->files, 2U);
  const auto none =
      store_.verify_all({.origin = std::nullopt, .verified_before = day_one + one_day * 10}, {},
                        day_one + one_day * 10);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->files, 0U);
}

TEST_F(StoreCareTest, VerifyOfOneRevisionLeavesTheOthersAlone) {
  fill();
  flip_byte(blob_path(root_, digest_of(content(1))));
  VerifyRequest request;
  request.origin = origin(2);
  const auto report = store_.verify_all(request, {}, day_one);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->files, 1U);
  EXPECT_TRUE(report->damaged.empty());
}

TEST_F(StoreCareTest, VerifyTellsItsProgress) {
  fill();
  std::vector<VerifyProgress> seen;
  ASSERT_TRUE(store_.verify_all(
      {},
      [&](const VerifyProgress& at) {
        seen.push_back(at);
        return Continue::yes;
      },
      day_one));
  ASSERT_EQ(seen.size(), 5U);
  EXPECT_EQ(seen.front().files_done, 0U);
  EXPECT_EQ(seen.front().files_total, 4U);
  EXPECT_EQ(seen.back().files_done, 4U);
  EXPECT_EQ(seen.back().bytes_done, seen.back().bytes_total);
}

TEST_F(StoreCareTest, RemoveTakesTheContentWithItsLastName) {
  ASSERT_TRUE(put(store_, entry("a.so", "content", 1), "content"));
  ASSERT_TRUE(put(store_, entry("a.so", "content", 2), "content"));
  const auto first = store_.remove(file_name("a.so", 1));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->files, 1U);
  EXPECT_EQ(first->bytes, 0U);
  EXPECT_TRUE(has(2));
  const auto second = store_.remove(origin(2));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->files, 1U);
  EXPECT_EQ(second->bytes, 7U);
  EXPECT_EQ(files_below(root_ / "blobs"), 0U);
  EXPECT_TRUE(store_.revisions()->empty());
  const auto nothing = store_.remove(file_name("a.so", 2));
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->files, 0U);
}

TEST_F(StoreCareTest, PruneTakesTheLeastRecentlyUsedFilesThatNoPinNames) {
  fill();
  store_.set_pinned({pin(1)});
  ASSERT_TRUE(store_.record_use(digest_of(content(2)), day_one + one_day * 20));
  const auto pruned = store_.prune(250);
  ASSERT_TRUE(pruned) << pruned.error().message;
  EXPECT_EQ(pruned->files, 2U);
  EXPECT_EQ(pruned->bytes, 200U);
  EXPECT_EQ(present(), "12");
  expect_clean(store_);
}

TEST_F(StoreCareTest, PruneNeverTakesAPinnedFile) {
  fill();
  store_.set_pinned({pin(2), pin(4)});
  ASSERT_TRUE(store_.prune(0));
  EXPECT_EQ(present(), "24");
}

TEST_F(StoreCareTest, AFileWithAnyPinnedNameIsPinned) {
  ASSERT_TRUE(put(store_, entry("a.so", "content", 1), "content"));
  ASSERT_TRUE(put(store_, entry("other.so", "content", 2), "content"));
  store_.set_pinned({pin(2)});
  ASSERT_TRUE(store_.prune(0));
  EXPECT_TRUE(has(1));
}

TEST_F(StoreCareTest, UntilThePinsAreKnownEverythingIsPinned) {
  fill();
  ASSERT_TRUE(store_.prune(0));
  EXPECT_EQ(present(), "1234");
  store_.set_pinned({});
  ASSERT_TRUE(store_.prune(0));
  EXPECT_EQ(present(), "");
}

TEST_F(StoreCareTest, StageMakesRoomByEvictingWhatNoPinNames) {
  fill();
  store_.set_bytes_max(450);
  store_.set_pinned({pin(1)});
  const std::string fresh(150, 'x');
  ASSERT_TRUE(put(store_, entry("fresh.so", fresh, 5), fresh, day_one + one_day * 5));
  EXPECT_EQ(present(), "134");
  EXPECT_LE(store_.stats()->bytes, 450U);
}

TEST_F(StoreCareTest, StageRefusesWhatPinnedFilesLeaveNoRoomForAndEvictsNothing) {
  fill();
  store_.set_bytes_max(450);
  store_.set_pinned({pin(1), pin(2), pin(3)});
  const auto staging = store_.stage(StageSize::exactly(151));
  ASSERT_FALSE(staging);
  EXPECT_EQ(staging.error().code, Code::no_space);
  EXPECT_NE(staging.error().message.find("cache_max_bytes is 450"), std::string::npos)
      << staging.error().message;
  EXPECT_EQ(present(), "1234");
}

TEST_F(StoreCareTest, RunningDownloadsCountAsStored) {
  store_.set_bytes_max(1000);
  {
    const auto first = store_.stage(StageSize::exactly(600));
    ASSERT_TRUE(first);
    const auto second = store_.stage(StageSize::exactly(600));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::no_space);
  }
  EXPECT_TRUE(store_.stage(StageSize::exactly(600)));
}

TEST_F(StoreCareTest, AnUnknownSizeReservesOnlyWhatIsExpected) {
  store_.set_bytes_max(1000);
  auto staging = store_.stage({.bytes_max = 1'000'000, .bytes_expected = 10});
  ASSERT_TRUE(staging) << staging.error().message;
  ASSERT_TRUE(staging->write(bytes_of("content")));
  EXPECT_TRUE(store_.commit(std::move(*staging), entry("a.so", "content"), day_one));
}

TEST_F(StoreCareTest, AUseIsRecordedOnceInTenMinutes) {
  fill();
  const Digest sha256 = digest_of(content(1));
  const Time first = day_one + one_day * 30;
  const auto used = [&] { return store_.files(origin(1))->front().used; };
  ASSERT_TRUE(store_.record_use(sha256, first));
  EXPECT_EQ(used(), first);
  ASSERT_TRUE(store_.record_use(sha256, first + std::chrono::minutes{9}));
  EXPECT_EQ(used(), first);
  ASSERT_TRUE(store_.record_use(sha256, first + std::chrono::minutes{10}));
  EXPECT_EQ(used(), first + std::chrono::minutes{10});
}

TEST_F(StoreCareTest, OrphansAreCollectedOnceTheyAreOlderThanAnyFetch) {
  fill();
  const auto temporary = root_ / "tmp" / "1-0000000000000000";
  const auto orphan = blob_path(root_, digest_of("orphan"));
  write_file(temporary, "half");
  write_file(orphan, "orphan");
  make_old(temporary);
  make_old(orphan);
  for (const auto& file : {blob_path(root_, digest_of(content(1)))})
    make_old(file);  // old, but it has a row
  store_.set_pinned({});
  const auto early = store_.collect_orphans(day_one + limits::orphan_age - std::chrono::seconds{1});
  ASSERT_TRUE(early);
  EXPECT_EQ(early->files, 0U);
  const auto due = store_.collect_orphans(day_one + limits::orphan_age);
  ASSERT_TRUE(due);
  EXPECT_EQ(due->files, 2U);
  EXPECT_EQ(due->bytes, 10U);
  EXPECT_FALSE(std::filesystem::exists(temporary));
  EXPECT_FALSE(std::filesystem::exists(orphan));
  EXPECT_EQ(present(), "1234");
}

TEST_F(StoreCareTest, WhileNobodyKnowsWhatIsPinnedNoBlobGoes) {
  fill();
  store_.set_pinned({});
  store_.pin_everything();
  const auto temporary = root_ / "tmp" / "1-0000000000000000";
  const auto orphan = blob_path(root_, digest_of("orphan"));
  write_file(temporary, "half");
  write_file(orphan, "orphan");
  make_old(temporary);
  make_old(orphan);
  ASSERT_TRUE(store_.prune(0));
  EXPECT_EQ(present(), "1234");
  const auto due = store_.collect_orphans(day_one + limits::orphan_age);
  ASSERT_TRUE(due);
  EXPECT_EQ(due->files, 1U) << "what is half there is nobody's";
  EXPECT_TRUE(std::filesystem::exists(orphan)) << "a pin may give it its name";
  store_.set_bytes_max(450);
  const auto staging = store_.stage(StageSize::exactly(151));
  ASSERT_FALSE(staging);
  EXPECT_NE(staging.error().message.find("`libreyolo-kernels pins` names it"), std::string::npos)
      << staging.error().message;
}

TEST_F(StoreCareTest, LockFilesAreCollectedUnlessSomebodyHoldsThem) {
  auto held = store_.try_lock("held");
  ASSERT_TRUE(held && *held);
  { ASSERT_TRUE(store_.try_lock("free")); }
  const std::size_t before = files_below(root_ / "locks");
  for (const auto& item : std::filesystem::directory_iterator(root_ / "locks"))
    make_old(item.path());
  ASSERT_TRUE(store_.collect_orphans(day_one + one_day * 2));
  EXPECT_LT(files_below(root_ / "locks"), before);
  const auto again = store_.try_lock("held");
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->has_value());
}

}  // namespace
}  // namespace lyk::cache::test
