// Where a cache of huggingface_hub may already have a file (facts hub-protocol 4.1, 4.4, 4.9). Only
// places: whether the file there is the right one, its hash decides.
//
// Thread rule: pure functions.
#pragma once

#include <filesystem>
#include <vector>

#include "cache/types.hpp"

namespace lyk::cache {

// The likeliest first. A blob is named by the sha256 of an LFS file or by the git id of a plain
// one; without symlinks the content lies in the snapshot itself; with shared blobs the blob is a
// link. The other repo type comes last: the same commit may have been fetched under it.
std::vector<std::filesystem::path> hub_cache_places(const std::filesystem::path& hub_cache,
                                                    const Entry& entry);

}  // namespace lyk::cache
