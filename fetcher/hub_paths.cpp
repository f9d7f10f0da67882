#include "fetcher/hub_paths.hpp"

#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

std::string repo_path(RepoType type, const RepoId& repo) {
  return str(type == RepoType::kernel ? "/kernels/" : "/", repo.text());
}

}  // namespace

Url repo_url(const Url& endpoint, RepoType type, const RepoId& repo) {
  return endpoint.below(repo_path(type, repo));
}

Url resolve_url(const Url& endpoint,
                RepoType type,
                const RepoId& repo,
                const GitId& commit,
                const RepoPath& path) {
  return endpoint.below(str(repo_path(type, repo), "/resolve/", commit.hex(), "/",
                            percent_encode(path.text(), Slash::kept)));
}

Url lfs_batch_url(const Url& endpoint, RepoType type, const RepoId& repo) {
  return endpoint.below(str(repo_path(type, repo), ".git/info/lfs/objects/batch"));
}

}  // namespace lyk::fetcher
