#include "cache/hub_cache.hpp"

#include <array>

#include "proto/text.hpp"

namespace lyk::cache {

std::vector<std::filesystem::path> hub_cache_places(const std::filesystem::path& hub_cache,
                                                    const Entry& entry) {
  const Origin& origin = entry.name.origin;
  const auto slash = origin.repo.text().find('/');
  const std::array types{origin.type,
                         origin.type == RepoType::kernel ? RepoType::model : RepoType::kernel};
  std::vector<std::filesystem::path> out;
  for (const RepoType type : types) {
    const std::filesystem::path repo =
        hub_cache / str(name(type), "s--", origin.repo.owner(), "--",
                        std::string_view{origin.repo.text()}.substr(slash + 1));
    if (entry.proof.sha256)
      out.push_back(repo / "blobs" / entry.proof.sha256->hex());
    if (entry.proof.git_blob)
      out.push_back(repo / "blobs" / entry.proof.git_blob->hex());
    out.push_back(repo / "snapshots" / origin.commit.hex() / entry.name.path.text());
  }
  return out;
}

}  // namespace lyk::cache
