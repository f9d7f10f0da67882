// One proven file from the network into the store. Ways, in this order: the endpoint's resolve link
// of the pinned commit, the endpoint's LFS batch, each mirror's resolve link. The first that brings
// the proven bytes wins; the error says what each of them did. Thread rule: as Context.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "cache/store.hpp"
#include "fetcher/context.hpp"
#include "fetcher/http.hpp"

namespace lyk::fetcher {

struct Arrival {
  std::uint64_t bytes = 0;  // that are here; falls back where a transfer starts over
  // As the proof says or, for people only, as the answer announces; absent: nobody said.
  std::optional<std::uint64_t> bytes_total;
};

struct Download {
  cache::Entry entry;
  std::function<void(const Arrival&)> progress;
};

Result<cache::Blob> download(cache::Store& store,
                             const Download& wanted,
                             const Context& context,
                             HttpClient& http);

// Whether a request without a token gets the file too. An answer that says neither is `gated`.
cache::Visibility visibility_of(const cache::FileName& file, const Context& context);

}  // namespace lyk::fetcher
