#include "cache/evict.hpp"

#include <algorithm>

namespace lyk::cache {

EvictionPlan plan_eviction(std::span<const EvictionCandidate> candidates,
                           std::uint64_t bytes_wanted) {
  std::vector<EvictionCandidate> taken;
  std::uint64_t freed = 0;
  for (const EvictionCandidate& candidate : candidates) {
    if (freed >= bytes_wanted)
      break;
    if (candidate.pinned == Pinned::yes || candidate.bytes == 0)
      continue;
    taken.push_back(candidate);
    freed += candidate.bytes;
  }

  // A large file at the end may make small ones before it unnecessary.
  std::vector<EvictionCandidate> kept;
  for (auto last = taken.rbegin(); last != taken.rend(); ++last) {
    if (freed >= bytes_wanted && freed - last->bytes >= bytes_wanted)
      freed -= last->bytes;
    else
      kept.push_back(*last);
  }
  std::reverse(kept.begin(), kept.end());

  EvictionPlan plan{.blobs = {}, .bytes_freed = freed, .enough = freed >= bytes_wanted};
  for (const EvictionCandidate& candidate : kept)
    plan.blobs.push_back(candidate.blob);
  return plan;
}

}  // namespace lyk::cache
