// Streaming hashes, by OpenSSL. One Hasher is used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "proto/digest.hpp"

namespace lyk {

class Sha256 {
public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  // Ends the stream and begins a new one.
  Digest finish();
  // Forgets what was fed: a resumed download that starts over.
  void reset();

private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest sha256(std::span<const std::byte> bytes);

// The git blob id of `bytes`: SHA-1 of "blob ", the decimal length, NUL, and the bytes
// (facts hub-protocol 3.2).
GitId git_blob_id(std::span<const std::byte> bytes);

// git_blob_id for a stream whose length is known before its first byte.
class GitBlobHasher {
public:
  explicit GitBlobHasher(std::uint64_t blob_bytes);
  ~GitBlobHasher();
  GitBlobHasher(GitBlobHasher&&) noexcept;
  GitBlobHasher& operator=(GitBlobHasher&&) noexcept;
  GitBlobHasher(const GitBlobHasher&) = delete;
  GitBlobHasher& operator=(const GitBlobHasher&) = delete;

  void update(std::span<const std::byte> bytes);
  GitId finish();

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lyk
