// Where things lie in a store, and the few file operations that the store is made of, each with the
// error that names its path. docs/store_format.md is the format.
//
// Thread rule: pure functions and system calls.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/index.hpp"
#include "cache/store.hpp"
#include "proto/digest.hpp"
#include "proto/names.hpp"
#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::cache {

class Layout {
public:
  explicit Layout(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path blobs() const { return root_ / "blobs" / "sha256"; }
  std::filesystem::path blob_folder(const Digest& sha256) const;
  std::filesystem::path blob(const Digest& sha256) const;
  std::filesystem::path git() const { return root_ / "git"; }
  std::filesystem::path git(RepoType type, const RepoId& repo) const;
  std::filesystem::path tmp() const { return root_ / "tmp"; }
  std::filesystem::path locks() const { return root_ / "locks"; }
  std::filesystem::path quarantine() const { return root_ / "quarantine"; }
  std::filesystem::path quarantine(const Digest& expected, std::optional<Digest> actual) const;
  // Of what is no file at all. The inode keeps two of them apart: a folder cannot be renamed over
  // another one, nor a file over a folder.
  std::filesystem::path quarantine_of_no_file(const Digest& expected, std::uint64_t inode) const;

  // Makes what is missing, and checks that we may write in all of it. io: not possible, with the
  // path; for a folder of somebody else's also with the command that mends it.
  Result<void> create(unsigned root_mode) const;

  // refused: not a folder, or one in which others may write. The caller names the store.
  Result<void> check_owner() const;

  // Every folder of the store is there.
  bool has_all_folders() const;

  // refused: one of the store's own folders is there and is a link or no folder. The root itself
  // may be a link: whoever moves a store moves all of it, so that a rename stays on one disk.
  Result<void> check_folders() const;

private:
  std::vector<std::filesystem::path> folders() const;  // below the root
  std::filesystem::path root_;
};

// What stays the same while a path leads to the same thing.
struct PathIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  auto operator<=>(const PathIdentity&) const = default;
};
// Links are followed. Empty: nothing is there, or it cannot be looked at.
std::optional<PathIdentity> identity_of(const std::filesystem::path& path);

// What may be relied on at this path, by statfs.
Result<Options::Disk> disk_kind(const std::filesystem::path& path);
bool is_network_file_system(std::int64_t statfs_type);

// False where POSIX record locks, which SQLite needs, fail (ENOSYS, ENOLCK, EINVAL, EOPNOTSUPP).
Result<bool> record_locks_work(const std::filesystem::path& folder);

// "index.sqlite3", or one for each host on a network.
std::string index_file_name(Options::Disk disk, std::string_view host);
std::string host_name();

// Bytes that we may still write.
Result<std::uint64_t> free_bytes(const std::filesystem::path& path);

// What stands at the path, a link for itself. Empty: nothing does.
Result<std::optional<struct stat>> stat_entry(const std::filesystem::path& path);
StatHint hint_of(const struct stat& status);
Time mtime_of(const struct stat& status);

// What stands where a file of the store belongs.
struct StoreFile {
  UniqueFd fd;  // read only, close-on-exec; none: not a regular file, so it was not opened
  struct stat status {};
};

// Empty: nothing stands there. Links are not followed, and nothing that could block is waited for.
Result<std::optional<StoreFile>> open_file(const std::filesystem::path& path);

// May exist already; a link to a folder is none.
Result<void> make_folder(const std::filesystem::path& path, unsigned mode);
Result<void> sync_folder(const std::filesystem::path& path);
Result<void> rename_file(const std::filesystem::path& from, const std::filesystem::path& to);
Result<void> unlink_file(const std::filesystem::path& path);  // may be gone already

// The device images inside the first `bytes` of a file that is ours alone. Whatever cannot be read
// as device code has none.
std::vector<image::Image> read_device_images(int fd, std::uint64_t bytes);

// Every entry of a folder, in no order; a folder that is not there has none.
Result<void> for_each_entry(const std::filesystem::path& folder,
                            const std::function<Result<void>(const std::string& name)>& visit);

// Everything in blobs/ that has the name and the place of a blob, be it a file or not.
Result<void> for_each_blob_file(const Layout& layout,
                                const std::function<Result<void>(const Digest& sha256)>& visit);

}  // namespace lyk::cache
