// What eviction must leave alone: the files of every pin in force, and those of pins that are
// refused just now. Whoever mistypes a line of a pin file, or the mode of its folder, takes the
// slot out of force, and did not mean to give up files that were proven and downloaded.
// Thread rule: values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/types.hpp"
#include "fetcher/pin_set.hpp"

namespace lyk::daemon {

struct KeptPins {
  // By the path of its file: the pin in force from there or, while the file or its folder is
  // refused, the one that was.
  std::map<std::string, fetcher::Pin> by_source;
  // Something is refused that has given no pin since the service started: it may name any file.
  bool may_name_any = false;
};

// Of the pins that were just read, and what was kept before that.
KeptPins keep_pins(const fetcher::PinSet& read, const KeptPins& before);

bool names(const KeptPins& kept, const RepoId& repo, const GitId& revision);

// Absent: everything.
std::optional<std::vector<cache::PinnedRevision>> pinned_revisions(const KeptPins& kept);

}  // namespace lyk::daemon
