// From a pin to proven files in the store. Read `fetch` in fetch.cpp for the whole order.
// Thread rule: any thread; one fetch runs on the thread that called it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cache/store.hpp"
#include "fetcher/context.hpp"
#include "fetcher/pin.hpp"
#include "fetcher/prove.hpp"

namespace lyk::fetcher {

enum class Source { stored, adopted, downloaded };

struct FetchedFile {
  RepoPath path;
  cache::Blob blob;
  Source source = Source::stored;
};

struct FetchReport {
  cache::Origin origin;
  cache::ProofKind proof = cache::ProofKind::git;
  cache::Visibility visibility = cache::Visibility::open;
  std::vector<FetchedFile> files;  // by path
  std::uint64_t downloaded_bytes = 0;
  std::uint64_t adopted_bytes = 0;
  std::vector<std::string> warnings;  // lines for people
  // What the repo says that the variants of these files are built for, where it does.
  std::map<std::string, std::vector<Arch>> archs;
};

struct FetchOptions {
  Context context;
  std::vector<Device> devices;  // empty: files for every architecture
};

// Proves, takes what the store or a Hub cache has, downloads the rest. Every file that was
// committed stays when a later one fails: each is proven by itself, and the next attempt goes on
// from there. offline: something is missing and the settings forbid to ask for it.
Result<FetchReport> fetch(cache::Store& store, const Pin& pin, FetchOptions options);

}  // namespace lyk::fetcher
