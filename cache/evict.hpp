// What has to go so that something else fits: a pure decision over what the index knows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/types.hpp"

namespace lyk::cache {

enum class Pinned : std::uint8_t { no, yes };

// A blob. Candidates come least recently used first.
struct EvictionCandidate {
  Blob blob;
  Pinned pinned = Pinned::yes;
};

struct EvictionPlan {
  std::vector<EvictionCandidate> evicted;  // in the order in which they go
  std::uint64_t bytes_freed = 0;
  bool enough = false;  // bytes_freed reaches what was asked for
};

// Takes unpinned candidates from the front until `bytes_wanted` are free, then gives back those
// that turned out not to be needed, the most recently used first. Empty blobs stay.
EvictionPlan plan_eviction(std::span<const EvictionCandidate> candidates,
                           std::uint64_t bytes_wanted);

}  // namespace lyk::cache
