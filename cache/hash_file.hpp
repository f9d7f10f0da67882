// Hashing a file at the speed of the hash: while one thread hashes a piece, another one reads the
// next. Read with pread, not mapped, so that a file that somebody shortens meanwhile is a short
// file and not a SIGBUS.
//
// Thread rule: pure functions and system calls; the second thread ends before they return.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proto/digest.hpp"
#include "proto/result.hpp"

namespace lyk::cache {

enum class Hashes { sha256, sha256_and_git_blob };

struct FileHash {
  Digest sha256;
  std::optional<GitId> git_blob;  // with Hashes::sha256_and_git_blob
  std::uint64_t bytes = 0;
};

// `name` is for messages. Empty: the disk does not give the bytes back (EIO), which is damage like
// a wrong hash. With git_blob the size is needed before the first byte: a file that changes its
// size meanwhile gets an id that nothing matches.
Result<std::optional<FileHash>> hash_file(int fd, std::string_view name, Hashes hashes);

}  // namespace lyk::cache
