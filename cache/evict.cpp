#include "cache/evict.hpp"

#include <algorithm>
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
  for (auto last = taken.rbegin(); last != taken.rend(); ++last) {
    if (freed >= bytes_wanted && freed - last->blob.bytes >= bytes_wanted)
      freed -= last->blob.bytes;
    else
      kept.push_back(*last);
  }
  std::reverse(kept.begin(), kept.end());

  return {.evicted = std::move(kept), .bytes_freed = freed, .enough = freed >= bytes_wanted};
}

}  // namespace lyk::cache
