// From the columns of a row to our values, and back. Included by cache/index*.cpp only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cache/index.hpp"
#include "cache/sqlite.hpp"
#include "cache/types.hpp"
#include "proto/result.hpp"

namespace lyk::cache {

std::int64_t seconds(Time time);
Time time_of(std::int64_t seconds_since_1970);

// The three parameters of a revision: repo, type, commit.
void bind_origin(Query& query, const Origin& origin);

// corrupt_store: a column does not hold what we write there.
Result<Digest> digest_at(const Query& query, int column);
Result<Origin> origin_at(const Query& query, int column);  // repo, type, commit
Result<RepoPath> path_at(const Query& query, int column);
std::uint64_t count_at(const Query& query, int column);

Result<std::optional<BlobRow>> one_blob(Query& query);
Result<std::vector<BlobRow>> all_blobs(Query& query);
Result<StoredImage> image_row(const Query& query);        // of Sql::images
Result<StoredRevision> revision_row(const Query& query);  // of Sql::revision, Sql::revisions

}  // namespace lyk::cache
