// Where things are on the Hub (facts hub-protocol 1.1 and 1.2).
// Thread rule: pure functions.
#pragma once

#include "fetcher/url.hpp"
#include "proto/digest.hpp"
#include "proto/names.hpp"

namespace lyk::fetcher {

Url repo_url(const Url& endpoint, RepoType type, const RepoId& repo);
// The file of exactly this commit: never of a branch, which may move between two requests.
Url resolve_url(const Url& endpoint,
                RepoType type,
                const RepoId& repo,
                const GitId& commit,
                const RepoPath& path);
Url lfs_batch_url(const Url& endpoint, RepoType type, const RepoId& repo);

}  // namespace lyk::fetcher
