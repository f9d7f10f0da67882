#include "cache/staging.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "proto/text.hpp"

namespace lyk::cache {

namespace {

// The disk starts on what was written while more arrives, so that the fsync at the end is short.
constexpr std::uint64_t flush_bytes = 8ULL * 1024 * 1024;

Result<std::string> unique_name() {
  std::array<std::uint8_t, 8> random{};
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    return os_error(errno, "getrandom");
  return str(::getpid(), "-", detail::to_hex(random.data(), random.size()));
}

// Takes the space now, so that a full disk shows before the download. File systems that cannot do
// that show it at a write.
Result<void> reserve(int fd, std::uint64_t bytes, const std::filesystem::path& path) {
  if (bytes == 0)
    return {};
  while (::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0) {
    const int number = errno;
    if (number == EINTR)
      continue;
    if (number == EOPNOTSUPP || number == ENOSYS || number == EINVAL)
      return {};
    return os_error(number, str("reserve ", bytes, " bytes in ", quoted(path.string())));
  }
  return {};
}

}  // namespace

Staging::Staging(std::filesystem::path path,
                 UniqueFd fd,
                 const StageSize& size,
                 Reservation reservation)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      size_(size),
      reservation_(std::move(reservation)) {}

Staging::Staging(Staging&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      fd_(std::move(other.fd_)),
      size_(other.size_),
      reservation_(std::move(other.reservation_)),
      sha256_(std::move(other.sha256_)),
      bytes_so_far_(other.bytes_so_far_),
      bytes_flushing_(other.bytes_flushing_) {}

Staging& Staging::operator=(Staging&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(reservation_, other.reservation_);
  std::swap(sha256_, other.sha256_);
  std::swap(bytes_so_far_, other.bytes_so_far_);
  std::swap(bytes_flushing_, other.bytes_flushing_);
  return *this;
}

Staging::~Staging() {
  if (!path_.empty())
    (void)::unlink(path_.c_str());  // what is left behind is collected as an orphan
}

Result<Staging> Staging::create(const std::filesystem::path& folder,
                                const StageSize& size,
                                Reservation reservation) {
  LYK_TRY_ASSIGN(const std::string name, unique_name());
  std::filesystem::path path = folder / name;
  UniqueFd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!fd)
    return os_error(errno, str("create ", quoted(path.string())));
  Staging staging{std::move(path), std::move(fd), size, std::move(reservation)};
  LYK_TRY(reserve(staging.fd_.get(), size.bytes_expected, staging.path_));
  return staging;
}

Result<void> Staging::write(std::span<const std::byte> bytes) {
  if (bytes.size() > size_.bytes_max - bytes_so_far_)
    return Error{Code::size_mismatch,
                 str("download: more than the expected ", size_.bytes_max, " bytes")};
  std::span<const std::byte> rest = bytes;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_.get(), rest.data(), rest.size());
    if (written < 0) {
      const int number = errno;
      if (number == EINTR)
        continue;
      return os_error(number, str("write ", quoted(path_.string())));
    }
    rest = rest.subspan(static_cast<std::size_t>(written));
  }
  sha256_.update(bytes);
  bytes_so_far_ += bytes.size();
  if (bytes_so_far_ - bytes_flushing_ >= flush_bytes) {
    const std::uint64_t length = bytes_so_far_ - bytes_flushing_;
    (void)::sync_file_range(fd_.get(), static_cast<off_t>(bytes_flushing_),
                            static_cast<off_t>(length),
                            SYNC_FILE_RANGE_WRITE);  // only a head start: the fsync is what counts
    bytes_flushing_ = bytes_so_far_;
  }
  return {};
}

Result<void> Staging::restart() {
  if (::ftruncate(fd_.get(), 0) != 0 || ::lseek(fd_.get(), 0, SEEK_SET) != 0)
    return os_error(errno, str("truncate ", quoted(path_.string())));
  sha256_.reset();
  bytes_so_far_ = 0;
  bytes_flushing_ = 0;
  return reserve(fd_.get(), size_.bytes_expected, path_);
}

Result<void> Staging::finish() {
  const std::string what = quoted(path_.string());
  if (size_.bytes_expected > bytes_so_far_ &&
      ::ftruncate(fd_.get(), static_cast<off_t>(bytes_so_far_)) != 0)
    return os_error(errno, str("truncate ", what));
  if (::fchmod(fd_.get(), 0444) != 0)
    return os_error(errno, str("chmod ", what));
  if (::fsync(fd_.get()) != 0)
    return os_error(errno, str("fsync ", what));
  return {};
}

}  // namespace lyk::cache
