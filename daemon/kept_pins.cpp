#include "daemon/kept_pins.hpp"

#include <algorithm>
#include <filesystem>

namespace lyk::daemon {
namespace {

// A folder that is refused is every file in it.
bool is_refused_by(const std::string& source, const fetcher::RefusedPin& refused) {
  const std::filesystem::path folder = std::filesystem::path{refused.source} / "";
  return source == refused.source ||
         std::filesystem::path{source}.parent_path() == folder.parent_path();
}

}  // namespace

KeptPins keep_pins(const fetcher::PinSet& read, const KeptPins& before) {
  KeptPins kept;
  for (const auto& [slot, loaded] : read.pins)
    kept.by_source.emplace(loaded.source, loaded.pin);
  // What nobody understood once stays unknown for as long as anything is refused: a folder that is
  // refused now may hold the file that was refused then.
  kept.may_name_any = before.may_name_any && !read.refused.empty();
  for (const fetcher::RefusedPin& refused : read.refused) {
    bool is_known = false;
    for (const auto& [source, pin] : before.by_source) {
      if (!is_refused_by(source, refused))
        continue;
      kept.by_source.emplace(source, pin);
      is_known = true;
    }
    kept.may_name_any = kept.may_name_any || !is_known;
  }
  return kept;
}

bool names(const KeptPins& kept, const RepoId& repo, const GitId& revision) {
  return std::any_of(kept.by_source.begin(), kept.by_source.end(), [&](const auto& each) {
    return each.second.repo == repo && each.second.revision == revision;
  });
}

std::optional<std::vector<cache::PinnedRevision>> pinned_revisions(const KeptPins& kept) {
  if (kept.may_name_any)
    return std::nullopt;
  std::vector<cache::PinnedRevision> pinned;
  pinned.reserve(kept.by_source.size());
  for (const auto& [source, pin] : kept.by_source)
    pinned.push_back({pin.repo, pin.revision});
  return pinned;
}

}  // namespace lyk::daemon
