// Locks between the processes that share a store: flock on locks/<sha256 of the name>. They save
// work (one download instead of two) and are never what correctness rests on: file systems exist on
// which flock fails or locks nothing, and there a Lock that does not exclude is handed out instead
// of an error.
//
// Thread rule: a Lock is a value with one owner; two Locks of one name in one process exclude each
// other too.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::cache {

class Lock {
public:
  enum class Strength { exclusive, shared };

  // False where the file system cannot lock.
  bool excludes() const { return excludes_; }

private:
  friend class LockFolder;
  Lock(UniqueFd fd, bool excludes) : fd_(std::move(fd)), excludes_(excludes) {}
  UniqueFd fd_;  // closing it unlocks
  bool excludes_ = false;
};

struct LockWait {
  std::chrono::steady_clock::time_point deadline;
  std::function<bool()> cancelled;  // asked between two tries; may be empty
};

class LockFolder {
public:
  explicit LockFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Empty: somebody else has it.
  Result<std::optional<Lock>> try_lock(std::string_view name,
                                       Lock::Strength strength = Lock::Strength::exclusive) const;

  // Tries again until the deadline: busy after it, cancelled when told so.
  Result<Lock> lock(std::string_view name, const LockWait& wait) const;

  // Deletes a lock file that nobody holds; false: somebody does, or nobody can tell.
  Result<bool> remove_if_free(const std::string& file_name) const;

private:
  std::filesystem::path file(std::string_view name) const;
  std::filesystem::path folder_;
};

}  // namespace lyk::cache
