// From a commit id to its candidate files with their proofs: commit -> tree -> trees -> blobs, and
// for an LFS pointer the sha256 and size that it names (DESIGN section 2). Thread rule: as
// GitStore.
#pragma once

#include "fetcher/git_store.hpp"
#include "fetcher/listing.hpp"
#include "fetcher/pin.hpp"

namespace lyk::fetcher {

// Fails with not_cached where an object is missing, with refused where a candidate is a symbolic
// link, a submodule or a malformed pointer, or a limit is passed.
Result<Listing> list_commit(const GitStore& store, const Pin& pin);

// The licence that a commit's README.md states in its front matter; empty if it does not.
Result<std::string> license_of(const GitStore& store, const GitId& commit);

}  // namespace lyk::fetcher
