// How libgit2 reaches the network: a smart subtransport on our HTTP client, so proxies,
// certificates, deadlines, tokens, redirects and limits are the same as for downloads (DESIGN
// section 2).
//
// An answer is taken whole into an unnamed temporary file and checked on the way
// (UploadPackReader); only then does libgit2 read it. So a broken answer can be asked for again,
// and a pack that breaks a limit never reaches the indexer. Thread rule: one Wire is used by one
// thread at a time.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fetcher/http.hpp"
#include "fetcher/pack_guard.hpp"

struct git_remote;
struct git_transport;

namespace lyk::fetcher {

// One repo over HTTP; outlives the git_remote that uses it.
struct GitWire {
  GitWire(HttpClient& client, Url repo_url) : http(&client), repo(std::move(repo_url)) {}

  HttpClient* http;
  Url repo;                      // follows a rename: where info/refs was found
  std::filesystem::path folder;  // for temporary files
  PackLimits bounds;
  // What the server says it can do, once it has listed its refs.
  std::vector<std::string> capabilities;
  // Why a call into libgit2 failed, if it was us.
  std::optional<Error> error;
};

// A git_transport_cb whose `payload` is a GitWire*.
int make_git_transport(git_transport** out, git_remote* owner, void* payload) noexcept;

}  // namespace lyk::fetcher
