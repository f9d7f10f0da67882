#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "cache/sqlite.hpp"
#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

namespace fs = std::filesystem;

// A small file system in memory, seen by this process only. `ok()` is false without the right to
// mount.
class SmallDisk {
public:
  explicit SmallDisk(const fs::path& path)
      : path_(path),
        mounted_(fs::create_directories(path) && ::unshare(CLONE_NEWNS) == 0 &&
                 ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                 ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=2m,mode=0755") == 0) {}
  ~SmallDisk() {
    if (mounted_)
      (void)::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool ok() const { return mounted_; }
  bool make_read_only() {
    return ::mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

private:
  fs::path path_;
  const bool mounted_;
};

// Runs `check` in a child as another user; false if it says so or the child cannot become that
// user.
bool passes_as(uid_t uid, const std::function<bool()>& check) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(uid) != 0 || ::setuid(uid) != 0)
      ::_exit(2);
    ::_exit(check() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

constexpr uid_t nobody = 65534;

Options with_access(const fs::path& root, Options::Access access) {
  Options out = options(root);
  out.access = access;
  return out;
}

TEST(StoreOpen, MakesTheWholeLayout) {
  lyk::test::TempDir folder;
  const fs::path root = folder.path() / "not" / "there" / "yet";
  const Store store = open_store(options(root));
  for (const char* part : {"blobs/sha256", "git", "tmp", "locks", "quarantine"})
    EXPECT_TRUE(fs::is_directory(root / part)) << part;
  EXPECT_TRUE(fs::is_regular_file(root / "index.sqlite3"));
  EXPECT_TRUE(store.writable());
  EXPECT_EQ(store.read_only_reason(), "");
}

TEST(StoreOpen, KnowsWhenItIsNoLongerInItsPlace) {
  const auto everything = [](const fs::path& root) { fs::remove_all(root); };
  const auto a_folder = [](const fs::path& root) { fs::remove_all(root / "locks"); };
  const auto the_index = [](const fs::path& root) { fs::remove(root / "index.sqlite3"); };
  const auto contents = [](const fs::path& root) {
    for (const auto& item : fs::directory_iterator(root))
      fs::remove_all(item.path());
  };
  const auto by_another = [](const fs::path& root) {
    fs::rename(root, fs::path{root} += ".old");
    (void)open_store(options(root));
  };
  for (const std::function<void(const fs::path&)>& take_away :
       {std::function<void(const fs::path&)>{everything},
        {a_folder},
        {the_index},
        {contents},
        {by_another}}) {
    const lyk::test::TempDir folder;
    const fs::path root = folder.path() / "store";
    const Store store = open_store(options(root));
    EXPECT_TRUE(store.is_in_place());
    take_away(root);
    EXPECT_FALSE(store.is_in_place());
    EXPECT_TRUE(open_store(options(root)).is_in_place());
  }
}

// SQLite finds the log of a database and its shared memory by their names, which both have.
TEST(StoreOpen, OneThatWasTakenAwayDoesNoHarmToItsSuccessor) {
  for (const char* taken_away : {"", "index.sqlite3"}) {
    const lyk::test::TempDir folder;
    const fs::path root = folder.path() / "store";
    {
      auto gone = std::make_unique<Store>(open_store(options(root)));
      ASSERT_TRUE(put(*gone, entry("lost", "lost"), "lost"));
      fs::remove_all(root / taken_away);
      Store successor = open_store(options(root));
      ASSERT_TRUE(put(successor, entry("kept", "kept"), "kept"));
      (void)gone->remove(file_name("lost"));  // whatever comes of it
      gone.reset();
      ASSERT_TRUE(put(successor, entry("later", "later"), "later"));
      expect_clean(successor);
      Store beside = open_store(options(root));
      EXPECT_TRUE(beside.find(file_name("kept")).value().has_value());
    }
    Store again = open_store(options(root));
    EXPECT_TRUE(again.find(file_name("kept")).value().has_value());
    EXPECT_TRUE(again.find(file_name("later")).value().has_value());
    EXPECT_FALSE(again.find(file_name("lost")).value().has_value());
    expect_clean(again);
  }
}

TEST(StoreOpen, RefusesAStoreOfANewerRelease) {
  lyk::test::TempDir folder;
  { open_store(options(folder.path() / "store")); }
  {
    auto database =
        Database::open(folder.path() / "store" / "index.sqlite3", Database::Mode::read_write);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->execute("PRAGMA user_version = 2"));
  }
  for (const auto access : {Options::Access::read_write, Options::Access::prefer_read_write,
                            Options::Access::read_only, Options::Access::rebuild}) {
    const auto store = Store::open(with_access(folder.path() / "store", access));
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, Code::refused) << store.error().message;
    EXPECT_NE(store.error().message.find("newer release (format 2"), std::string::npos);
  }
}

TEST(StoreOpen, RefusesADatabaseOfAnotherProgram) {
  lyk::test::TempDir folder;
  fs::create_directories(folder.path() / "store");
  {
    auto database =
        Database::open(folder.path() / "store" / "index.sqlite3", Database::Mode::read_write);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->execute("CREATE TABLE theirs (a)"));
  }
  const auto store = Store::open(options(folder.path() / "store"));
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::corrupt_store);
}

TEST(StoreOpen, RefusesAFolderThatOthersMayWrite) {
  lyk::test::TempDir folder;
  const fs::path root = folder.path() / "store";
  fs::create_directories(root);
  ASSERT_EQ(::chmod(root.c_str(), 0777), 0);
  const auto store = Store::open(options(root));
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::refused);
  EXPECT_NE(store.error().message.find("chmod go-w"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(root)) << "nothing was changed";
}

TEST(StoreOpen, RefusesAFile) {
  lyk::test::TempDir folder;
  write_file(folder.path() / "store", "a file");
  const auto store = Store::open(options(folder.path() / "store"));
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::refused) << store.error().message;
}

TEST(StoreOpen, ReadOnlyWritesNothingAtAll) {
  lyk::test::TempDir folder;
  const fs::path root = folder.path() / "store";
  {
    Store store = open_store(options(root));
    ASSERT_TRUE(put(store, entry("a.so", "content"), "content"));
  }
  const std::size_t before = files_below(root);
  Store store = open_store(with_access(root, Options::Access::read_only));
  EXPECT_FALSE(store.writable());
  EXPECT_TRUE(store.find(file_name("a.so"))->has_value());
  EXPECT_EQ(*store.verify(digest_of("content"), day_one), Verdict::good);
  ASSERT_TRUE(store.record_use(digest_of("content"), day_one));
  const auto staging = store.stage(StageSize::exactly(1));
  ASSERT_FALSE(staging);
  EXPECT_EQ(staging.error().code, Code::io);
  EXPECT_EQ(files_below(root), before);
}

TEST(StoreOpen, ReadOnlyReadsBesideAWriter) {
  lyk::test::TempDir folder;
  Store writer = open_store(options(folder.path() / "store"));
  ASSERT_TRUE(put(writer, entry("a.so", "content"), "content"));
  const Store reader = open_store(with_access(folder.path() / "store", Options::Access::read_only));
  EXPECT_TRUE(reader.find(file_name("a.so"))->has_value());
}

TEST(StoreOpen, ReadOnlySeesWhatAWriterDoesLater) {
  lyk::test::TempDir folder;
  const fs::path root = folder.path() / "store";
  {
    Store writer = open_store(options(root));
    ASSERT_TRUE(put(writer, entry("a.so", "content"), "content"));
  }
  const Store reader = open_store(with_access(root, Options::Access::read_only));
  ASSERT_TRUE(reader.find(file_name("a.so"))->has_value());
  {
    Store writer = open_store(options(root));
    ASSERT_TRUE(put(writer, entry("b.so", "more"), "more"));
    EXPECT_TRUE(reader.find(file_name("b.so"))->has_value()) << "while it is there";
    ASSERT_TRUE(put(writer, entry("c.so", "most"), "most"));
  }
  EXPECT_TRUE(reader.find(file_name("c.so"))->has_value()) << "after it has gone";
}

TEST(StoreOpen, ReadOnlyOfAnEmptyFolderIsAnEmptyStore) {
  lyk::test::TempDir folder;
  const Store store = open_store(with_access(folder.path(), Options::Access::read_only));
  EXPECT_FALSE(store.find(file_name("a.so"))->has_value());
  EXPECT_TRUE(store.revisions()->empty());
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(StoreOpen, AReadOnlyMountServesWhatIsCached) {
  lyk::test::TempDir folder;
  SmallDisk disk{folder.path() / "disk"};
  if (!disk.ok())
    GTEST_SKIP() << "needs the right to mount";
  const fs::path root = folder.path() / "disk" / "store";
  const std::string image = ptx("relu");
  {
    Store store = open_store(options(root));
    ASSERT_TRUE(put(store, entry("relu.ptx", image), image));
    flip_byte(blob_path(root, digest_of(image)));
  }
  ASSERT_TRUE(disk.make_read_only());

  const auto strict = Store::open(options(root));
  ASSERT_FALSE(strict);
  EXPECT_NE(strict.error().message.find("Read-only file system"), std::string::npos);

  Store store = open_store(with_access(root, Options::Access::prefer_read_write));
  EXPECT_FALSE(store.writable());
  EXPECT_NE(store.read_only_reason().find("Read-only file system"), std::string::npos);
  EXPECT_TRUE(store.find(file_name("relu.ptx"))->has_value());
  EXPECT_EQ(store.images(origin())->size(), 1U);
  ASSERT_TRUE(store.record_use(digest_of(image), day_one));
  EXPECT_EQ(*store.verify(digest_of(image), day_one), Verdict::damaged);
  EXPECT_TRUE(store.find(file_name("relu.ptx"))->has_value()) << "reported, not moved";
  const auto staging = store.stage(StageSize::exactly(1));
  ASSERT_FALSE(staging);
  EXPECT_EQ(staging.error().code, Code::io);
  EXPECT_NE(staging.error().message.find("Read-only file system"), std::string::npos);
}

TEST(StoreOpen, AFullDiskIsNoSpaceAndLeavesTheStoreAsItWas) {
  lyk::test::TempDir folder;
  const SmallDisk disk{folder.path() / "disk"};
  if (!disk.ok())
    GTEST_SKIP() << "needs the right to mount";
  const fs::path root = folder.path() / "disk" / "store";
  Options roomy = options(root);
  roomy.bytes_max = limits::cache_bytes_max_default;
  Store store = open_store(roomy);
  ASSERT_TRUE(put(store, entry("a.so", "content"), "content"));

  const auto too_much = store.stage(StageSize::exactly(64 * limits::mib));
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code, Code::no_space) << too_much.error().message;

  auto unknown_size = store.stage({.bytes_max = 64 * limits::mib, .bytes_expected = 0});
  ASSERT_TRUE(unknown_size);
  const std::vector<std::byte> piece(limits::mib);
  Result<void> written;
  for (int i = 0; i < 64 && written; ++i)
    written = unknown_size->write(piece);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::no_space);
  { const Staging gone = std::move(*unknown_size); }

  EXPECT_EQ(files_below(root / "tmp"), 0U);
  expect_clean(store);
  ASSERT_TRUE(put(store, entry("b.so", "more"), "more"));
}

TEST(StoreOpen, ADiskThatIsNeededMakesRoomForPinnedFiles) {
  lyk::test::TempDir folder;
  const SmallDisk disk{folder.path() / "disk"};
  if (!disk.ok())
    GTEST_SKIP() << "needs the right to mount";
  Options roomy = options(folder.path() / "disk" / "store");
  roomy.bytes_max = limits::cache_bytes_max_default;
  Store store = open_store(roomy);
  const std::string large(1'000'000, 'x');
  ASSERT_TRUE(put(store, entry("old.so", large, 1), large));
  store.set_pinned({});
  const std::string other(1'000'000, 'y');
  const auto blob = put(store, entry("new.so", other, 2), other);
  ASSERT_TRUE(blob) << blob.error().message;
  EXPECT_FALSE(store.find(file_name("old.so", 1))->has_value());
}

TEST(StoreOpen, AFolderOfSomebodyElseBelowOursIsNamedWithTheCommandThatMendsIt) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root";
  lyk::test::TempDir folder;
  const fs::path root = folder.path() / "store";
  { open_store(options(root)); }
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(::chown(root.c_str(), nobody, nobody), 0);
  EXPECT_TRUE(passes_as(nobody, [&] {
    const auto store = Store::open(options(root));
    return !store && store.error().code == Code::io &&
           store.error().message.find("chown -R 65534") != std::string::npos;
  }));
}

TEST(StoreOpen, AStoreOfRootIsReadByOthersWhereTheyMay) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root";
  lyk::test::TempDir folder;
  const fs::path root = folder.path() / "store";
  {
    Store store = open_store(options(root));
    ASSERT_TRUE(put(store, entry("a.so", "content"), "content"));
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  for (const auto& item : fs::recursive_directory_iterator(root))
    ASSERT_EQ(::chmod(item.path().c_str(), item.is_directory() ? 0755 : 0444), 0);
  ASSERT_EQ(::chmod(root.c_str(), 0755), 0);
  EXPECT_TRUE(passes_as(nobody, [&] {
    const auto store = Store::open(with_access(root, Options::Access::prefer_read_write));
    if (!store || store->writable())
      return false;
    const auto found = store->find(file_name("a.so"));
    return found && found->has_value();
  }));
}

TEST(StoreOpen, RefusesAStoreOfAnotherUser) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "needs root";
  lyk::test::TempDir folder;
  const fs::path root = folder.path() / "store";
  fs::create_directories(root);
  ASSERT_EQ(::chown(root.c_str(), nobody, nobody), 0);
  const auto store = Store::open(options(root));
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::refused);
}

// --- network file systems ---

Options on_network(const fs::path& root) {
  Options out = options(root);
  out.disk = Options::Disk::network;
  return out;
}

TEST(StoreOnANetwork, KeepsAnIndexForEachHostInRollbackMode) {
  lyk::test::TempDir folder;
  Store store = open_store(on_network(folder.path() / "store"));
  ASSERT_TRUE(put(store, entry("a.so", "content"), "content"));
  EXPECT_FALSE(fs::exists(folder.path() / "store" / "index.sqlite3"));
  std::size_t indexes = 0;
  for (const auto& item : fs::directory_iterator(folder.path() / "store")) {
    const std::string name = item.path().filename();
    if (name.starts_with("index.")) {
      ++indexes;
      EXPECT_TRUE(name.ends_with(".sqlite3")) << name << ": no WAL beside it";
    }
  }
  EXPECT_EQ(indexes, 1U);
  EXPECT_TRUE(store.find(file_name("a.so"))->has_value());
  expect_clean(store);
}

TEST(StoreOnANetwork, BlobsOfOtherHostsAreLinkedAndNeverCollected) {
  lyk::test::TempDir folder;
  const fs::path root = folder.path() / "store";
  Store store = open_store(on_network(root));
  write_file(blob_path(root, digest_of("theirs")), "theirs");  // another host's index has its row
  store.set_pinned({});
  ASSERT_TRUE(store.collect_orphans(
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now()) +
      one_day * 100));
  EXPECT_TRUE(fs::exists(blob_path(root, digest_of("theirs"))));
  const auto linked = store.link(entry("a.so", "theirs"), day_one);
  ASSERT_TRUE(linked && *linked);
  EXPECT_TRUE(store.find(file_name("a.so"))->has_value());
}

}  // namespace
}  // namespace lyk::cache::test
