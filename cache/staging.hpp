// A file on its way into the store: a temporary file with a name of its own in tmp/, hashed while
// it is written. Nothing reads it there. `Store::commit` proves it and makes it visible; the
// destructor of what was not committed only cleans up. A process that dies leaves the file for
// `Store::collect_orphans`.
//
// Thread rule: one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "proto/digest.hpp"
#include "proto/hash.hpp"
#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::cache {

// How much is coming. `bytes_expected` is reserved before the first byte; a write beyond
// `bytes_max` is refused. Both are the same number where the proof names the size.
struct StageSize {
  std::uint64_t bytes_max = 0;
  std::uint64_t bytes_expected = 0;

  static StageSize exactly(std::uint64_t bytes) { return {bytes, bytes}; }
};

// Space that is promised to running stagings of this process. Given back on destruction.
class Reservation {
public:
  Reservation() = default;
  Reservation(std::shared_ptr<std::atomic<std::uint64_t>> total_bytes, std::uint64_t bytes)
      : total_bytes_(std::move(total_bytes)), bytes_(bytes) {
    *total_bytes_ += bytes_;
  }
  Reservation(Reservation&& other) noexcept = default;
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(total_bytes_, other.total_bytes_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation() {
    if (total_bytes_ != nullptr)
      *total_bytes_ -= bytes_;
  }

private:
  std::shared_ptr<std::atomic<std::uint64_t>> total_bytes_;  // null: nothing is reserved
  std::uint64_t bytes_ = 0;
};

class Staging {
public:
  // Creates the file in `folder` and takes `size.bytes_expected` from the disk, where the file
  // system can do that. Called by `Store::stage`.
  static Result<Staging> create(const std::filesystem::path& folder,
                                const StageSize& size,
                                Reservation reservation);

  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&& other) noexcept;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  // Appends. size_mismatch: more than `bytes_max`, nothing of `bytes` was written. no_space, io:
  // the staging is good for `restart` only.
  Result<void> write(std::span<const std::byte> bytes);

  // Empties the file and the hash: a resumed download that has to begin again.
  Result<void> restart();

  std::uint64_t bytes_so_far() const { return bytes_so_far_; }
  const std::filesystem::path& path() const { return path_; }

private:
  friend class Store;
  // Gives back what was reserved and not used, makes the file read only, and puts it on the disk.
  Result<void> finish();

  Staging(std::filesystem::path path, UniqueFd fd, const StageSize& size, Reservation reservation);

  std::filesystem::path path_;  // empty: moved from, or renamed to its final name
  UniqueFd fd_;
  StageSize size_;
  Reservation reservation_;
  Sha256 sha256_;
  std::uint64_t bytes_so_far_ = 0;
  std::uint64_t bytes_flushing_ = 0;  // handed to the disk already, ahead of the fsync
};

}  // namespace lyk::cache
