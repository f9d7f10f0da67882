// Kills a writer at every change that it makes to the store, and looks at what is left. fault_io.so
// (tests/fakes/fault_io.c) counts the changes; each is one run of crash_child. After every run:
//   - the store opens, its index is sound, every blob is what its name says, no wrong byte is found
//   - names that are there before and after the act are there; others are not
//   - the act can be done again, and then the store is as if nothing had happened
//   - nothing is left that collect_orphans does not take away
#include <cerrno>
#include <set>

#include "tests/cache/crash_run.hpp"
#include "tests/cache/crash_scenarios.hpp"
#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

namespace fs = std::filesystem;

using Names = std::set<FileName>;

Names names_of(Store& store) {
  Names names;
  const auto revisions = store.revisions();
  for (const StoredRevision& revision : *revisions) {
    const auto files = store.files(revision.origin);
    for (const StoredFile& file : *files)
      if (*store.find(file.name))
        names.insert(file.name);
  }
  return names;
}

Names names_at(const fs::path& root) {
  if (!fs::exists(root))
    return {};
  Store store = open_store(options(root));
  return names_of(store);
}

// A scenario with the store before it, and what is there after it went well.
class Prepared {
public:
  explicit Prepared(const std::string& name) : name_(name), scenario_(scenarios().at(name)) {
    scenario_.prepare(before_);
    names_before_ = names_at(before_);
    start_over();
    EXPECT_EQ(run(count()).exit_code, 0);
    changes_ = read_count();
    names_after_ = names_at(work_);
    start_over();
    EXPECT_EQ(run_child("leave_open", work_, count()).exit_code, 0);
    changes_of_opening_ = read_count();
  }

  void start_over() {
    fs::remove_all(work_);
    if (fs::exists(before_))
      fs::copy(before_, work_, fs::copy_options::recursive);
  }

  Ended run(const Fault& fault) { return run_child(name_, work_, fault); }

  void expect_sound() {
    Store store = open_store(options(work_));
    const Names names = names_of(store);
    for (const FileName& file : names)
      EXPECT_TRUE(names_before_.contains(file) || names_after_.contains(file)) << file.path.text();
    for (const FileName& file : names_before_)
      EXPECT_TRUE(!names_after_.contains(file) || names.contains(file)) << file.path.text();
    if (name_ != "verify" && name_ != "rebuild")  // these begin with damage and end without
      expect_clean(store);
    // Row after file: only a removal, which goes the other way, may leave a row without its file.
    const std::set<std::string> removing{"commit_with_eviction", "prune", "rebuild", "remove",
                                         "verify"};
    EXPECT_TRUE(removing.contains(name_) || store.verify_all({}, {}, day_one)->missing.empty());
  }

  void expect_repeatable() {
    EXPECT_EQ(run({}).exit_code, 0);
    Store store = open_store(options(work_));
    EXPECT_EQ(names_of(store), names_after_);
    expect_clean(store);
    const auto later =
        std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now()) +
        2 * one_day;
    store.set_pinned({});
    EXPECT_TRUE(store.collect_orphans(later));
    EXPECT_EQ(files_below(work_ / "tmp"), 0U);
    // Dying in the middle of a removal brings rows back without their file: misses, and reported.
    EXPECT_LE(files_below(work_ / "blobs"), store.stats()->blobs);
    EXPECT_EQ(names_of(store), names_after_);
  }

  // The changes of this act, without those of opening the store, which have a scenario of their
  // own.
  int first_change() const {
    const bool opened_before = !names_before_.empty() && name_ != "reopen" && name_ != "leave_open";
    return opened_before ? changes_of_opening_ + 1 : 1;
  }
  int last_change() const { return changes_; }
  int last_change_of_opening() const { return changes_of_opening_; }

private:
  Fault count() const {
    Fault none;
    none.count = folder_.path() / "count";
    return none;
  }
  int read_count() const {
    const std::string text = read_file(folder_.path() / "count");
    fs::remove(folder_.path() / "count");
    return std::stoi(text);
  }

  std::string name_;
  Scenario scenario_;
  FastFolder folder_;
  fs::path before_ = folder_.path() / "before";
  fs::path work_ = folder_.path() / "work";
  Names names_before_;
  Names names_after_;
  int changes_ = 0;
  int changes_of_opening_ = 0;
};

class Crash : public ::testing::TestWithParam<std::string> {};

void die_everywhere(const std::string& scenario, const std::string& action) {
  Prepared prepared{scenario};
  ASSERT_LE(prepared.first_change(), prepared.last_change()) << "nothing to die at";
  for (int at = prepared.first_change(); at <= prepared.last_change(); ++at) {
    SCOPED_TRACE(str(scenario, ": ", action, " at change ", at));
    prepared.start_over();
    ASSERT_TRUE(prepared.run({.at = at, .action = action}).killed);
    prepared.expect_sound();
    prepared.expect_repeatable();
    if (::testing::Test::HasFailure())
      return;
  }
}

TEST_P(Crash, AKillAtAnyChangeLeavesACleanStore) {
  die_everywhere(GetParam(), "kill");
}

TEST_P(Crash, APowerCutAtAnyChangeLeavesACleanStore) {
  die_everywhere(GetParam(), "power");
}

void fail_everywhere(const std::string& scenario, int number) {
  Prepared prepared{scenario};
  for (int at = prepared.first_change(); at <= prepared.last_change(); ++at) {
    SCOPED_TRACE(str(scenario, ": errno ", number, " at change ", at));
    prepared.start_over();
    const Ended ended = prepared.run({.at = at, .action = std::to_string(number)});
    ASSERT_FALSE(ended.killed);
    // Some failures are survived: space that is only asked for, SQLite's own tidying.
    if (ended.exit_code != 0) {
      EXPECT_EQ(ended.exit_code, 1);
      // SQLite forgets why it could not make a file beside the index, which it does when one opens.
      const bool forgotten = at <= prepared.last_change_of_opening() && ended.printed == "io\n";
      const std::string expected = forgotten || number != ENOSPC ? "io\n" : "no_space\n";
      EXPECT_EQ(ended.printed, expected);
    }
    prepared.expect_sound();
    prepared.expect_repeatable();
    if (::testing::Test::HasFailure())
      return;
  }
}

TEST_P(Crash, AFullDiskAtAnyChangeIsATypedErrorAndLeavesACleanStore) {
  fail_everywhere(GetParam(), ENOSPC);
}

// A failing disk takes the same paths; only the code differs.
TEST(CrashByCode, AnInputOutputErrorAtAnyChangeIsATypedError) {
  fail_everywhere("commit", EIO);
}

TEST(CrashByCode, ADiskThatTurnsReadOnlyAtAnyChangeIsATypedError) {
  fail_everywhere("remove", EROFS);
}

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const auto& [name, scenario] : scenarios())
    names.push_back(name);
  return names;
}

std::string name_of(const ::testing::TestParamInfo<std::string>& scenario) {
  return scenario.param;
}

INSTANTIATE_TEST_SUITE_P(At, Crash, ::testing::ValuesIn(scenario_names()), name_of);

}  // namespace
}  // namespace lyk::cache::test
