#include "cache/layout.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <vector>

#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::cache {

namespace fs = std::filesystem;

namespace {

// f_type of the file systems whose files live on another machine, or behind a program that decides
// alone what locks and shared memory mean there (linux/magic.h and the file systems' own sources).
constexpr std::array<std::int64_t, 14> network_types{
    0x6969,      // nfs
    0x517b,      // smb
    0xff534d42,  // cifs
    0xfe534d42,  // smb2
    0x65735546,  // fuse: sshfs and most others
    0x01021997,  // 9p
    0x0bd00bd0,  // lustre
    0x47504653,  // gpfs
    0x00c36400,  // ceph
    0x5346414f,  // afs
    0x73757245,  // coda
    0x01161970,  // gfs2
    0x7461636f,  // ocfs2
    0x19830326,  // beegfs
};

std::string what(std::string_view verb, const fs::path& path) {
  return str(verb, " ", quoted(path.string()));
}

// The command that gives a folder to whoever runs this program.
Error not_ours(int number, const fs::path& path) {
  Error error = os_error(number, what("write in", path));
  struct stat status {};
  const bool foreign = ::stat(path.c_str(), &status) == 0 && status.st_uid != ::geteuid();
  if (number == EACCES && foreign)
    error.message += str(" (it belongs to uid ", status.st_uid, "; mend it with: chown -R ",
                         ::geteuid(), " ", quoted(path.string()), ")");
  return error;
}

Error no_folder(const fs::path& path, const struct stat& status) {
  if (S_ISLNK(status.st_mode))
    return {Code::refused,
            str(what("folder", path), " is a link, and only the store as a whole may be one: ",
                "move the folder that it leads to back to its place")};
  return {Code::refused, str(what("folder", path), " is something else: move that away")};
}

// A file in memory for as long as this lives; no bytes if it cannot be mapped.
class MappedFile {
public:
  MappedFile(int fd, std::uint64_t bytes)
      : bytes_(bytes), data_(::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0)) {}
  ~MappedFile() {
    if (data_ != MAP_FAILED)
      (void)::munmap(data_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile(MappedFile&&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<const std::byte> bytes() const {
    if (data_ == MAP_FAILED)
      return {};
    return {static_cast<const std::byte*>(data_), bytes_};
  }

private:
  std::size_t bytes_;
  void* data_;
};

}  // namespace

fs::path Layout::blob_folder(const Digest& sha256) const {
  return blobs() / sha256.hex().substr(0, 2);
}

fs::path Layout::blob(const Digest& sha256) const {
  return blob_folder(sha256) / sha256.hex();
}

fs::path Layout::git(RepoType type, const RepoId& repo) const {
  const auto slash = repo.text().find('/');
  return git() / str(name(type), "s--", repo.owner(), "--", repo.text().substr(slash + 1), ".git");
}

fs::path Layout::quarantine(const Digest& expected, std::optional<Digest> actual) const {
  return quarantine() / str(expected.hex(), ".", actual ? actual->hex() : "unreadable");
}

fs::path Layout::quarantine_of_no_file(const Digest& expected, std::uint64_t inode) const {
  return quarantine() / str(expected.hex(), ".not-a-file-", inode);
}

Result<void> Layout::create(unsigned root_mode) const {
  // The folders above the root are the user's ($XDG_CACHE_HOME may not exist yet): private too.
  std::vector<fs::path> missing;
  for (fs::path at = root_; !at.empty(); at = at.parent_path()) {
    std::error_code error;
    if (fs::exists(at, error) || error || at == at.parent_path())
      break;
    missing.push_back(at);
  }
  std::for_each(missing.begin(), missing.end(),
                [](fs::path& path) { path = path.lexically_normal(); });
  for (auto at = missing.rbegin(); at != missing.rend(); ++at)
    LYK_TRY(make_folder(*at, *at == missing.front() ? root_mode : 0700U));
  LYK_TRY(check_owner());
  const auto check_access = [](const fs::path& folder) -> Result<void> {
    if (::faccessat(AT_FDCWD, folder.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0)
      return not_ours(errno, folder);
    return {};
  };
  LYK_TRY(check_access(root_));
  for (const fs::path& folder : folders()) {
    LYK_TRY(make_folder(folder, 0700));
    LYK_TRY(check_access(folder));
  }
  return {};
}

std::vector<fs::path> Layout::folders() const {
  return {root_ / "blobs", blobs(), git(), tmp(), locks(), quarantine()};
}

bool Layout::has_all_folders() const {
  const std::vector<fs::path> all = folders();
  return std::all_of(all.begin(), all.end(), [](const fs::path& folder) {
    struct stat status {};
    return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  });
}

Result<void> Layout::check_owner() const {
  struct stat status {};
  if (::stat(root_.c_str(), &status) != 0)
    return os_error(errno, what("open", root_));
  if (!S_ISDIR(status.st_mode))
    return Error{Code::refused, "not a folder"};
  if ((status.st_mode & 0022U) != 0)
    return Error{Code::refused,
                 str("others may write in it; mend it with: chmod go-w ", quoted(root_.string()))};
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return Error{Code::refused, str("it belongs to uid ", status.st_uid,
                                    ", which is neither root nor uid ", ::geteuid())};
  return {};
}

Result<void> Layout::check_folders() const {
  for (const fs::path& folder : folders()) {
    LYK_TRY_ASSIGN(const auto status, stat_entry(folder));
    if (status && !S_ISDIR(status->st_mode))
      return no_folder(folder, *status);
  }
  return {};
}

std::optional<PathIdentity> identity_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return std::nullopt;
  return PathIdentity{.device = status.st_dev, .inode = status.st_ino};
}

Result<Options::Disk> disk_kind(const fs::path& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0)
    return os_error(errno, what("statfs", path));
  // f_type is signed on some architectures: the magic numbers have 32 bits.
  const auto type = static_cast<std::int64_t>(static_cast<std::uint32_t>(status.f_type));
  return is_network_file_system(type) ? Options::Disk::network : Options::Disk::local;
}

bool is_network_file_system(std::int64_t statfs_type) {
  return std::find(network_types.begin(), network_types.end(), statfs_type) != network_types.end();
}

Result<bool> record_locks_work(const fs::path& folder) {
  const fs::path file = folder / "probe";
  const UniqueFd fd{::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!fd)
    return os_error(errno, what("open", file));
  struct flock range {};
  range.l_type = F_RDLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  if (::fcntl(fd.get(), F_SETLK, &range) == 0)
    return true;
  // EAGAIN and EACCES say that somebody else has it, so locking works; so does anything unexpected
  // that is not one of the refusals.
  const int number = errno;
  return number != ENOSYS && number != ENOLCK && number != EINVAL && number != EOPNOTSUPP;
}

std::string index_file_name(Options::Disk disk, std::string_view host) {
  if (disk == Options::Disk::local)
    return "index.sqlite3";
  std::string safe;
  for (const char c : host) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.';
    safe += plain ? c : '_';
  }
  return str("index.", safe, ".sqlite3");
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0')
    return "unknown";
  return name.data();
}

Result<std::uint64_t> free_bytes(const fs::path& path) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0)
    return os_error(errno, what("statvfs", path));
  return std::uint64_t{status.f_bavail} * std::uint64_t{status.f_frsize};
}

Result<std::optional<struct stat>> stat_entry(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    const int number = errno;
    if (number == ENOENT || number == ENOTDIR)
      return std::optional<struct stat>{};
    return os_error(number, what("stat", path));
  }
  return std::optional{status};
}

StatHint hint_of(const struct stat& status) {
  return {static_cast<std::int64_t>(status.st_ino),
          std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

Time mtime_of(const struct stat& status) {
  return Time{std::chrono::seconds{status.st_mtim.tv_sec}};
}

Result<std::optional<StoreFile>> open_file(const fs::path& path) {
  LYK_TRY_ASSIGN(const auto seen, stat_entry(path));
  if (!seen)
    return std::optional<StoreFile>{};
  // Opening a device can do something, so it is not even tried.
  if (!S_ISREG(seen->st_mode))
    return std::optional{StoreFile{.fd = UniqueFd{}, .status = *seen}};
  // It may have been replaced since. NONBLOCK: a fifo must not hold us up.
  StoreFile file{
      .fd = UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)}};
  if (!file.fd) {
    const int number = errno;
    if (number == ENOENT || number == ENOTDIR)
      return std::optional<StoreFile>{};
    return os_error(number, what("open", path));
  }
  if (::fstat(file.fd.get(), &file.status) != 0)
    return os_error(errno, what("stat", path));
  if (!S_ISREG(file.status.st_mode))
    file.fd.reset();
  return std::optional{std::move(file)};
}

Result<void> make_folder(const fs::path& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0)
    return {};
  const int number = errno;
  // EROFS and EACCES come before EEXIST on some file systems: what is there is good.
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0)
    return os_error(number, what("make folder", path));
  if (!S_ISDIR(status.st_mode))
    return no_folder(path, status);
  return {};
}

Result<void> sync_folder(const fs::path& path) {
  const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd)
    return os_error(errno, what("open", path));
  if (::fsync(fd.get()) != 0) {
    const int number = errno;
    if (number != EINVAL)  // some network file systems cannot sync a folder: nothing better is left
      return os_error(number, what("fsync", path));
  }
  return {};
}

Result<void> rename_file(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    return os_error(errno, what("rename to", to));
  return {};
}

Result<void> unlink_file(const fs::path& path) {
  if (::unlink(path.c_str()) != 0) {
    const int number = errno;
    if (number != ENOENT)
      return os_error(number, what("delete", path));
  }
  return {};
}

Result<void> for_each_entry(const fs::path& folder,
                            const std::function<Result<void>(const std::string& name)>& visit) {
  const UniqueHandle<DIR, ::closedir> listing{::opendir(folder.c_str())};
  if (listing == nullptr) {
    const int number = errno;
    if (number == ENOENT)
      return {};
    return os_error(number, what("list", folder));
  }
  while (true) {
    errno = 0;
    const struct dirent* entry = ::readdir(listing.get());
    if (entry == nullptr) {
      if (errno != 0)
        return os_error(errno, what("list", folder));
      return {};
    }
    const std::string entry_name = entry->d_name;
    if (entry_name != "." && entry_name != "..")
      LYK_TRY(visit(entry_name));
  }
}

Result<void> for_each_blob_file(const Layout& layout,
                                const std::function<Result<void>(const Digest& sha256)>& visit) {
  return for_each_entry(layout.blobs(), [&](const std::string& folder) -> Result<void> {
    if (folder.size() != 2)
      return {};
    LYK_TRY_ASSIGN(const auto status, stat_entry(layout.blobs() / folder));
    if (!status || !S_ISDIR(status->st_mode))
      return {};
    return for_each_entry(layout.blobs() / folder, [&](const std::string& file) -> Result<void> {
      const auto sha256 = Digest::parse(file);
      if (!sha256 || !file.starts_with(folder))
        return {};  // not ours: left alone
      return visit(*sha256);
    });
  });
}

std::vector<image::Image> read_device_images(int fd, std::uint64_t bytes) {
  std::array<std::byte, 4096> head{};
  const ssize_t got = ::pread(fd, head.data(), std::min<std::uint64_t>(head.size(), bytes), 0);
  if (got <= 0 || !image::recognise(std::span{head}.first(static_cast<std::size_t>(got))))
    return {};
  const MappedFile file{fd, bytes};
  auto images = image::read_images(file.bytes());
  if (!images)
    return {};
  std::uint64_t text_bytes = 0;
  for (const image::Image& image : *images)
    for (const image::Kernel& kernel : image.kernels)
      text_bytes += kernel.symbol.size() + kernel.name.size() + 24 * kernel.parameters.size();
  if (text_bytes > limits::index_kernels_bytes_max)
    return {};
  return std::move(images).value();
}

}  // namespace lyk::cache
