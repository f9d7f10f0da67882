// The files of a pinned commit that may be wanted, each with its proof.
// Thread rule: values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cache/types.hpp"
#include "fetcher/pin.hpp"
#include "proto/device.hpp"

namespace lyk::fetcher {

struct ListedFile {
  RepoPath path;
  cache::Proof proof;
};

struct Listing {
  cache::ProofKind kind = cache::ProofKind::git;
  // The type of the repo that holds the commit; absent with a proof by digests, which needs no
  // repo.
  std::optional<RepoType> type;
  std::vector<ListedFile> files;  // by path
  // `backend.archs` of build/<variant>/metadata.json, by variant; a hint only.
  std::map<std::string, std::vector<Arch>> variant_archs;
};

// The variant of a path `build/<variant>/...`; empty if it has none.
std::string variant_of(const RepoPath& path);

// Whether a file of this path can be wanted for a pin at all (DESIGN section 6): device code for a
// pin with an ABI, every file of a matching variant for one without.
bool is_candidate(const Pin& pin, const RepoPath& path);

}  // namespace lyk::fetcher
