// What a branch, tag or version of a repo is right now: the commit that a new pin names.
// Thread rule: as Context.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/store.hpp"
#include "fetcher/context.hpp"
#include "fetcher/git_store.hpp"

namespace lyk::fetcher {

// A repo and what its owner calls a revision.
struct ProbeRequest {
  RepoId repo;
  std::string revision;              // branch, tag, version ("1" is the branch "v1") or commit
  std::vector<RepoType> repo_types;  // tried in this order
};

struct Probe {
  RepoType type = RepoType::kernel;
  GitId commit;
  std::string reference;  // "refs/heads/v1"; empty: the revision was a commit
  std::string license;    // as the repo's README states it; empty: it does not
  std::vector<std::string> warnings;
};

// Asks the repo what a revision means now, and fetches and checks the git objects of that commit,
// so that a pin of it proves without network. not_found: no such revision; the nearest name is
// told.
Result<Probe> probe(cache::Store& store, const ProbeRequest& request, const Context& context);

// Which of a repo's refs a revision means: "1" is refs/heads/v1, "v1" a branch or a tag,
// "refs/pr/3" itself. not_found, or invalid_argument where a branch and a tag of that name lead to
// different commits. A pure function.
Result<RemoteRef> choose_ref(std::span<const RemoteRef> refs, std::string_view revision);

}  // namespace lyk::fetcher
