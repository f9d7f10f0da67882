// Watches a git pack while it arrives, before libgit2 sees any of it: a pack is compressed, and
// what a few kilobytes unpack to must not decide how much memory and time we spend (a "pack bomb").
//
// Every entry is inflated into nothing and counted: the size that its header states, what really
// comes out, and for a delta the size of what it makes. None may be above git_object_bytes_max, all
// together not above git_unpacked_bytes_max. Memory is constant. Ids and checksums are libgit2's
// part. Thread rule: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "proto/limits.hpp"
#include "proto/result.hpp"

namespace lyk::fetcher {

struct PackLimits {
  std::uint64_t pack_bytes_max = limits::git_pack_bytes_max;
  std::uint64_t object_bytes_max = limits::git_object_bytes_max;
  std::uint64_t unpacked_bytes_max = limits::git_unpacked_bytes_max;
  std::uint64_t objects_max = limits::git_objects_max;
};

class PackGuard {
public:
  explicit PackGuard(const PackLimits& bounds);
  ~PackGuard();
  PackGuard(PackGuard&&) noexcept;
  PackGuard& operator=(PackGuard&&) noexcept;
  PackGuard(const PackGuard&) = delete;
  PackGuard& operator=(const PackGuard&) = delete;

  // The next part of the pack. refused: a limit is passed; protocol: it is no pack.
  Result<void> feed(std::span<const std::byte> bytes);
  // Nothing more comes: protocol if the pack is not complete.
  Result<void> finish() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lyk::fetcher
