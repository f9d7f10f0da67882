// From a pin to the list of its files with their proofs (DESIGN section 2).
//
// With [digests] the pin itself is the proof and nothing is asked. Otherwise the proof is git's:
// the commit id is hashed from the commit, which names the tree, which names the blobs. The objects
// are fetched once into the store's bare object store of the repo and every id is checked on every
// reading. Thread rule: as Context.
#pragma once

#include "cache/store.hpp"
#include "fetcher/context.hpp"
#include "fetcher/listing.hpp"
#include "fetcher/pin.hpp"

namespace lyk::fetcher {

// Tries the pin's repo types in order; the error says what each lacked. Objects that are in the
// store already need no network. offline: they are not, and the settings forbid to ask. `warnings`
// gets lines for people: a token that was rejected, a notice of the Hub.
Result<Listing> prove(cache::Store& store,
                      const Pin& pin,
                      Context& context,
                      std::vector<std::string>& warnings);

// The proof of what is here already, without network or writing: not_cached if the objects are not.
Result<Listing> prove_offline(const cache::Store& store, const Pin& pin);

}  // namespace lyk::fetcher
