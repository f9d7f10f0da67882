// From a pin to the list of its files with their proofs (DESIGN section 2).
//
// With [digests] the pin itself is the proof and nothing is asked. Otherwise the proof is git's:
// the commit id is hashed from the commit, which names the tree, which names the blobs. The objects
// are fetched once into the store's bare object store of the repo and every id is checked on every
// reading. Thread rule: as Context.
#pragma once

#include <functional>

#include "cache/store.hpp"
#include "fetcher/context.hpp"
#include "fetcher/git_store.hpp"
#include "fetcher/http.hpp"
#include "fetcher/listing.hpp"
#include "fetcher/pin.hpp"

namespace lyk::fetcher {

// A proven listing, and the git objects that prove it if they are new. They go into the store by
// `keep`, once a file that they prove is there; without it they are gone with the value, and the
// store is as it was.
struct Proven {
  Listing listing;
  std::optional<GitBatch> objects;

  Result<void> keep(const Pin& pin);
};

// Tries the pin's repo types in order; the error says what each lacked. Objects that are in the
// store already need no network. offline: they are not, and the settings forbid to ask.
Result<Proven> prove(cache::Store& store, const Pin& pin, const Context& context, HttpClient& http);

// The proof of what is here already, without network or writing: not_cached if the objects are not.
Result<Listing> prove_offline(const cache::Store& store, const Pin& pin);

// The same work for whoever needs other things of a repo's git side than a pin's files: `use` is
// called with a batch that is connected to the repo, while the repo's lock is held.
struct GitPlace {
  RepoType type;
  const RepoId& repo;  // borrowed
};
using BatchUse = std::function<Result<void>(GitBatch& batch)>;
Result<void> with_git_batch(cache::Store& store,
                            const GitPlace& place,
                            const Context& context,
                            HttpClient& http,
                            const BatchUse& use);

}  // namespace lyk::fetcher
