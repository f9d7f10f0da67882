#include "cache/layout.hpp"

#include <sys/stat.h>

#include "tests/cache/fixture.hpp"

namespace lyk::cache::test {
namespace {

namespace fs = std::filesystem;

TEST(Layout, IsWhatTheFormatStates) {
  const Layout layout{"/s"};
  const Digest content = digest_of("content");
  const std::string hex = content.hex();
  EXPECT_EQ(layout.blob(content), "/s/blobs/sha256/" + hex.substr(0, 2) + "/" + hex);
  EXPECT_EQ(layout.git(RepoType::model, repo("o.x/n-1_2")), "/s/git/models--o.x--n-1_2.git");
  EXPECT_EQ(layout.quarantine(content, digest_of("other")),
            "/s/quarantine/" + hex + "." + digest_of("other").hex());
  EXPECT_EQ(layout.quarantine(content, std::nullopt), "/s/quarantine/" + hex + ".unreadable");
  EXPECT_EQ(layout.quarantine_of_no_file(content, 7), "/s/quarantine/" + hex + ".not-a-file-7");
}

TEST(Layout, KnowsFileSystemsOfANetwork) {
  EXPECT_TRUE(is_network_file_system(0x6969)) << "nfs";
  EXPECT_TRUE(is_network_file_system(0xff534d42)) << "cifs";
  EXPECT_TRUE(is_network_file_system(0x0bd00bd0)) << "lustre";
  EXPECT_FALSE(is_network_file_system(0xef53)) << "ext4";
  EXPECT_FALSE(is_network_file_system(0x01021994)) << "tmpfs";
  EXPECT_FALSE(is_network_file_system(0x794c7630)) << "overlayfs";
  const auto here = disk_kind("/dev/shm");
  ASSERT_TRUE(here);
  EXPECT_EQ(*here, Options::Disk::local);
}

TEST(Layout, TheIndexOfAHostIsAPlainFileName) {
  EXPECT_EQ(index_file_name(Options::Disk::local, "host"), "index.sqlite3");
  EXPECT_EQ(index_file_name(Options::Disk::network, "node-1.example"),
            "index.node-1.example.sqlite3");
  EXPECT_EQ(index_file_name(Options::Disk::network, "../a b"), "index..._a_b.sqlite3");
  EXPECT_FALSE(host_name().empty());
}

TEST(Layout, LocksWorkOnALocalDisk) {
  lyk::test::TempDir folder;
  const auto work = record_locks_work(folder.path());
  ASSERT_TRUE(work);
  EXPECT_TRUE(*work);
}

TEST(Layout, OnlyRegularFilesAreOpened) {
  lyk::test::TempDir folder;
  EXPECT_FALSE(open_file(folder.path() / "missing")->has_value());
  EXPECT_FALSE(open_file(folder.path() / "missing" / "deeper")->has_value());
  write_file(folder.path() / "file", "content");
  EXPECT_FALSE(open_file(folder.path() / "file" / "deeper")->has_value());
  const auto file = open_file(folder.path() / "file");
  ASSERT_TRUE(file && *file);
  EXPECT_TRUE((*file)->fd);
  EXPECT_EQ((*file)->status.st_size, 7);

  fs::create_symlink("file", folder.path() / "link");
  ASSERT_EQ(::mkfifo((folder.path() / "fifo").c_str(), 0600), 0);
  fs::create_directory(folder.path() / "folder");
  for (const char* name : {"link", "fifo", "folder"}) {
    const auto other = open_file(folder.path() / name);
    ASSERT_TRUE(other && *other) << name;
    EXPECT_FALSE((*other)->fd) << name;
    EXPECT_FALSE(S_ISREG((*other)->status.st_mode)) << name;
  }
}

TEST(Layout, OnlyFilesWithTheNameAndPlaceOfABlobAreBlobs) {
  lyk::test::TempDir folder;
  const Layout layout{folder.path()};
  const Digest content = digest_of("content");
  EXPECT_TRUE(for_each_blob_file(layout, [](const Digest&) -> Result<void> {
    ADD_FAILURE();
    return {};
  })) << "no folder at all";
  write_file(layout.blob(content), "content");
  write_file(layout.blobs() / "zz" / content.hex(), "in the wrong place");
  write_file(layout.blob_folder(content) / "README", "not a hash");
  write_file(layout.blobs() / "README", "not a folder");
  std::vector<Digest> seen;
  EXPECT_TRUE(for_each_blob_file(layout, [&](const Digest& sha256) -> Result<void> {
    seen.push_back(sha256);
    return {};
  }));
  EXPECT_EQ(seen, std::vector<Digest>{content});
}

TEST(Layout, AnErrorEndsAWalk) {
  lyk::test::TempDir folder;
  write_file(folder.path() / "a", "");
  write_file(folder.path() / "b", "");
  int visits = 0;
  const auto walked = for_each_entry(folder.path(), [&](const std::string&) -> Result<void> {
    ++visits;
    return Error{Code::io, "enough"};
  });
  EXPECT_FALSE(walked);
  EXPECT_EQ(visits, 1);
}

TEST(Layout, MakingAFolderThatIsThereIsFine) {
  lyk::test::TempDir folder;
  EXPECT_TRUE(make_folder(folder.path() / "a", 0700));
  EXPECT_TRUE(make_folder(folder.path() / "a", 0700));
  write_file(folder.path() / "file", "");
  EXPECT_FALSE(make_folder(folder.path() / "file", 0700));
  fs::create_directory_symlink("a", folder.path() / "link");
  EXPECT_FALSE(make_folder(folder.path() / "link", 0700));
  EXPECT_TRUE(unlink_file(folder.path() / "missing"));
  EXPECT_TRUE(sync_folder(folder.path()));
}

}  // namespace
}  // namespace lyk::cache::test
