// File systems that cannot lock, and disks that do not give their bytes back.
#include <cerrno>

#include "tests/cache/crash_run.hpp"
#include "tests/cache/crash_scenarios.hpp"
#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

// Lustre and NFS without a lock daemon, CIFS, and kernels without the system call (trap 5).
TEST(Faults, WithoutLocksTheWorkIsDoneTwiceAndNeverWrongly) {
  for (const int number : {ENOLCK, ENOSYS, EINVAL, EOPNOTSUPP}) {
    FastFolder folder;
    const auto root = folder.path() / "store";
    Fault fault;
    fault.no_locks = std::to_string(number);
    for (int run = 0; run < 2; ++run) {
      const Ended ended = run_child("network", root, fault);
      EXPECT_EQ(ended.exit_code, 0) << number << " " << ended.printed;
    }
    EXPECT_EQ(files_below(root / "blobs"), 1U);
    EXPECT_EQ(files_below(root / "tmp"), 0U);
    for (const auto& item : std::filesystem::directory_iterator(root))
      EXPECT_FALSE(item.path().filename().string().starts_with("index.")) << item.path();
  }
}

TEST(Faults, WithoutFlockALocalStoreWorks) {
  FastFolder folder;
  const auto root = folder.path() / "store";
  scenarios().at("commit").prepare(root);
  Fault fault;
  fault.no_flock = std::to_string(ENOSYS);
  EXPECT_EQ(run_child("commit", root, fault).exit_code, 0);
}

TEST(Faults, AFileThatTheDiskDoesNotGiveBackIsQuarantined) {
  FastFolder folder;
  const auto root = folder.path() / "store";
  scenarios().at("prune").prepare(root);
  Fault fault;
  const Digest lost = digest_of(ptx("old_2"));
  fault.unreadable = "/blobs/sha256/" + lost.hex().substr(0, 2) + "/" + lost.hex();
  EXPECT_EQ(run_child("verify", root, fault).exit_code, 0);
  Store store = open_store(options(root));
  const auto quarantined = store.quarantine();
  ASSERT_TRUE(quarantined);
  ASSERT_EQ(quarantined->size(), 1U);
  EXPECT_EQ(quarantined->front().expected, lost);
  EXPECT_FALSE(quarantined->front().actual);
  expect_clean(store);
}

}  // namespace
}  // namespace lyk::cache::test
