#include "cache/evict.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lyk::cache {

EvictionPlan plan_eviction(std::span<const EvictionCandidate> candidates,
                           std::uint64_t bytes_wanted) {
  std::vector<EvictionCandidate> taken;
  std::uint64_t freed = 0;
  for (const EvictionCandidate& candidate : candidates) {
    if (freed >= bytes_wanted)
      break;
    if (candidate.pinned == Pinned::yes || candidate.blob.bytes == 0)
      continue;
    taken.push_back(candidate);
    freed += candidate.blob.bytes;
  }

  // A large file at the end may make small ones before it unnecessary.
  std::vector<EvictionCandidate> kept;
  const auto is_needed = [&](const EvictionCandidate& candidate) {
    const std::uint64_t without = freed - candidate.blob.bytes;
    if (without < bytes_wanted)
      return true;
    freed = without;
    return false;
  };
  std::copy_if(taken.rbegin(), taken.rend(), std::back_inserter(kept), is_needed);
  std::reverse(kept.begin(), kept.end());

  return {.evicted = std::move(kept), .bytes_freed = freed, .enough = freed >= bytes_wanted};
}

}  // namespace lyk::cache
