#include "cache/hash_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include "proto/hash.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"
#include "proto/unique.hpp"

namespace lyk::cache {

namespace {

using Piece = std::vector<std::byte>;

// Fills `out` from `offset` with `bytes_max` bytes, fewer only at the end of the file. Returns
// errno, 0 for success.
int read_piece(int fd, std::uint64_t offset, std::size_t bytes_max, Piece& out) {
  out.resize(bytes_max);
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t got =
        ::pread(fd, out.data() + filled, out.size() - filled, static_cast<off_t>(offset + filled));
    if (got < 0) {
      const int number = errno;
      if (number == EINTR)
        continue;
      return number;
    }
    if (got == 0)
      break;
    filled += static_cast<std::size_t>(got);
  }
  out.resize(filled);
  return 0;
}

// A ring of pieces between the thread that reads and the one that hashes. Invariant: pieces
// [taken, filled) hold bytes, the others are the reader's; a piece that is not full is the last.
class Ring {
public:
  explicit Ring(int fd) : fd_(fd) {}

  // The reader's thread: until the end of the file, an error, or `stop`.
  void fill() {
    std::uint64_t offset = 0;
    for (std::size_t number = 0;; ++number) {
      {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return stopped_ || number - taken_ < limits::hash_pieces; });
        if (stopped_)
          return;
      }
      Piece& piece = pieces_[number % limits::hash_pieces];
      const int error = read_piece(fd_, offset, limits::hash_piece_bytes, piece);
      offset += piece.size();
      const bool last = error != 0 || piece.size() < limits::hash_piece_bytes;
      {
        const std::lock_guard lock{mutex_};
        error_ = error;
        filled_ = number + 1;
      }
      changed_.notify_all();
      if (last)
        return;
    }
  }

  // The next piece; valid until `give_back`. Null: `error` says why.
  const Piece* take() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [&] { return taken_ < filled_; });
    // An error belongs to the piece that was filled last: what came before it is good.
    if (error_ != 0 && taken_ + 1 == filled_)
      return nullptr;
    return &pieces_[taken_ % limits::hash_pieces];
  }
  void give_back() {
    {
      const std::lock_guard lock{mutex_};
      ++taken_;
    }
    changed_.notify_all();
  }
  void stop() {
    {
      const std::lock_guard lock{mutex_};
      stopped_ = true;
    }
    changed_.notify_all();
  }
  int error() {
    const std::lock_guard lock{mutex_};
    return error_;
  }

private:
  const int fd_;
  std::array<Piece, limits::hash_pieces> pieces_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0;  // pieces since the beginning of the file, here and below
  std::size_t taken_ = 0;
  int error_ = 0;
  bool stopped_ = false;
};

// What is fed to both hashes.
struct Hashers {
  Sha256 sha256;
  std::optional<GitBlobHasher> git_blob;
  std::uint64_t bytes = 0;

  void update(std::span<const std::byte> piece) {
    sha256.update(piece);
    if (git_blob)
      git_blob->update(piece);
    bytes += piece.size();
  }
};

// A small file is hashed sooner than a thread is made. `bytes` is its size, with which a file of
// one piece needs no more memory than that. Returns errno, 0 for success.
int feed_alone(int fd, std::uint64_t bytes, Hashers& hashers) {
  const std::size_t bytes_max = std::min<std::uint64_t>(bytes + 1, limits::hash_piece_bytes);
  Piece piece;
  while (true) {
    const int error = read_piece(fd, hashers.bytes, bytes_max, piece);
    if (error != 0)
      return error;
    hashers.update(piece);
    if (piece.size() < bytes_max)
      return 0;
  }
}

// Empty where the system has no more threads to give.
std::optional<std::thread> start_reader(Ring& ring) {
  try {
    return std::thread{[&ring] { ring.fill(); }};
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

// Returns errno, 0 for success.
int feed_with_reader(int fd, std::uint64_t bytes, Hashers& hashers) {
  Ring ring{fd};
  std::optional<std::thread> reader = start_reader(ring);
  if (!reader)
    return feed_alone(fd, bytes, hashers);
  while (true) {
    const Piece* piece = ring.take();
    if (piece == nullptr)
      break;
    const bool last = piece->size() < limits::hash_piece_bytes;
    hashers.update(*piece);
    ring.give_back();
    if (last)
      break;
  }
  const int error = ring.error();
  ring.stop();
  reader->join();
  return error;
}

}  // namespace

Result<std::optional<FileHash>> hash_file(int fd, std::string_view name, Hashes hashes) {
  struct stat status {};
  if (::fstat(fd, &status) != 0)
    return os_error(errno, str("stat ", quoted(name)));
  if (!S_ISREG(status.st_mode))
    return Error{Code::refused, str("read ", quoted(name), ": not a regular file")};
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);  // advice

  Hashers hashers;
  if (hashes == Hashes::sha256_and_git_blob)
    hashers.git_blob.emplace(bytes);
  const bool small = bytes < limits::hash_pieces * limits::hash_piece_bytes;
  const int error = small ? feed_alone(fd, bytes, hashers) : feed_with_reader(fd, bytes, hashers);
  if (error == EIO)
    return std::optional<FileHash>{};
  if (error != 0)
    return os_error(error, str("read ", quoted(name)));
  FileHash out{.sha256 = hashers.sha256.finish(), .git_blob = std::nullopt, .bytes = hashers.bytes};
  if (hashers.git_blob)
    out.git_blob = hashers.git_blob->finish();
  return std::optional{out};
}

}  // namespace lyk::cache
