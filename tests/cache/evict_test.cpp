#include "cache/evict.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lyk::cache {
namespace {

struct Case {
  const char* what;
  std::vector<std::pair<std::uint64_t, Pinned>> candidates;  // bytes, least recently used first
  std::uint64_t wanted;
  std::vector<std::size_t> evicted;  // places in `candidates`
  bool enough;
};

constexpr Pinned no = Pinned::no;
constexpr Pinned yes = Pinned::yes;

TEST(EvictionPlan, TakesTheOldestUnpinnedFilesThatAreEnough) {
  const std::vector<Case> cases{
      {"nothing stored, nothing wanted", {}, 0, {}, true},
      {"nothing stored", {}, 1, {}, false},
      {"nothing wanted", {{10, no}}, 0, {}, true},
      {"one is enough", {{10, no}, {10, no}}, 10, {0}, true},
      {"one is nearly enough", {{10, no}, {10, no}}, 11, {0, 1}, true},
      {"all together are not enough", {{10, no}, {10, no}}, 21, {0, 1}, false},
      {"the oldest is pinned", {{10, yes}, {10, no}}, 5, {1}, true},
      {"all are pinned", {{10, yes}, {10, yes}}, 5, {}, false},
      {"pinned ones do not count", {{10, no}, {90, yes}}, 50, {0}, false},
      {"a large one makes the small ones before it unnecessary",
       {{1, no}, {2, no}, {50, no}},
       50,
       {2},
       true},
      {"only as many small ones are given back as possible",
       {{1, no}, {2, no}, {50, no}},
       52,
       {1, 2},
       true},
      {"empty files free nothing", {{0, no}, {5, no}}, 5, {1}, true},
  };
  for (const Case& test : cases) {
    std::vector<EvictionCandidate> candidates;
    for (const auto& [bytes, pinned] : test.candidates) {
      Digest place;
      place.bytes[0] = static_cast<std::uint8_t>(candidates.size());
      candidates.push_back({.blob = {place, bytes}, .pinned = pinned});
    }
    const EvictionPlan plan = plan_eviction(candidates, test.wanted);
    std::vector<std::size_t> places;
    std::uint64_t freed = 0;
    for (const EvictionCandidate& candidate : plan.evicted) {
      places.push_back(candidate.blob.sha256.bytes[0]);
      freed += candidate.blob.bytes;
    }
    EXPECT_EQ(places, test.evicted) << test.what;
    EXPECT_EQ(plan.enough, test.enough) << test.what;
    EXPECT_EQ(plan.bytes_freed, freed) << test.what;
  }
}

}  // namespace
}  // namespace lyk::cache
