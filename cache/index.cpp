#include "cache/index.hpp"

#include <unordered_set>
#include <utility>

#include "cache/index_rows.hpp"
#include "cache/index_statements.hpp"
#include "cache/kernel_list.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::cache {

Result<std::optional<BlobRow>> Index::blob(const Digest& sha256) {
  Query query{statements_[at(Sql::blob_by_sha256)]};
  query.bind(std::span{sha256.bytes});
  return one_blob(query);
}

Result<std::optional<BlobRow>> Index::blob(const GitId& git_blob) {
  Query query{statements_[at(Sql::blob_by_git_blob)]};
  query.bind(std::span{git_blob.bytes});
  return one_blob(query);
}

Result<std::vector<BlobRow>> Index::blobs() {
  Query query{statements_[at(Sql::blobs)]};
  return all_blobs(query);
}

Result<std::vector<BlobRow>> Index::blobs(const Origin& origin) {
  Query query{statements_[at(Sql::blobs_of_revision)]};
  bind_origin(query, origin);
  return all_blobs(query);
}

Result<std::vector<FileName>> Index::names(BlobId blob) {
  Query query{statements_[at(Sql::names_of_blob)]};
  query.bind(blob);
  std::vector<FileName> out;
  while (true) {
    LYK_TRY_ASSIGN(const bool there, query.next());
    if (!there)
      return out;
    LYK_TRY_ASSIGN(Origin origin, origin_at(query, 0));
    LYK_TRY_ASSIGN(RepoPath path, path_at(query, 3));
    out.push_back({std::move(origin), std::move(path)});
  }
}

Result<bool> Index::is_named(BlobId blob) {
  Query query{statements_[at(Sql::is_named)]};
  query.bind(blob);
  LYK_TRY(query.next());
  return query.integer(0) != 0;
}

Result<BlobId> Index::put_blob(const BlobRow& row) {
  Query query{statements_[at(Sql::put_blob)]};
  query.bind(std::span{row.blob.sha256.bytes}).bind(static_cast<std::int64_t>(row.blob.bytes));
  if (row.git_blob)
    query.bind(std::span{row.git_blob->bytes});
  else
    query.bind_null();
  query.bind(seconds(row.added)).bind(seconds(row.verified));
  query.bind(row.stat.inode).bind(row.stat.mtime_ns);
  LYK_TRY(query.next());
  return query.integer(0);
}

Result<void> Index::put_images(BlobId blob, std::span<const image::Image> images) {
  LYK_TRY(Query{statements_[at(Sql::drop_images)]}.bind(blob).run());
  const auto bind_version = [](Query& query, const std::optional<CudaVersion>& version) {
    if (version)
      query.bind(std::string_view{version->text()});
    else
      query.bind_null();
  };
  std::int64_t place = 0;
  for (const image::Image& image : images) {
    const std::string kernels = encode_kernels(image.kernels);
    Query query{statements_[at(Sql::put_image)]};
    query.bind(blob).bind(place++);
    query.bind(image::name(image.kind)).bind(image::name(image.container));
    query.bind(std::string_view{image.arch.sm()}).bind(image::name(image.compression));
    query.bind(static_cast<std::int64_t>(image.bytes)).bind(std::span{image.sha256.bytes});
    bind_version(query, image.toolkit);
    bind_version(query, image.ptx_version);
    query.bind(static_cast<std::int64_t>(image.location.offset));
    query.bind(static_cast<std::int64_t>(image.location.stored_bytes));
    query.bind(static_cast<std::int64_t>(image.location.unpacked_bytes));
    query.bind(std::span{reinterpret_cast<const std::uint8_t*>(kernels.data()), kernels.size()});
    LYK_TRY(query.run());
  }
  return {};
}

Result<void> Index::set_verified(const Digest& sha256, Time now, const StatHint& stat) {
  Query query{statements_[at(Sql::set_verified)]};
  query.bind(seconds(now)).bind(stat.inode).bind(stat.mtime_ns);
  query.bind(std::span{sha256.bytes});
  return query.run();
}

Result<std::uint64_t> Index::drop_blob(BlobId blob) {
  LYK_TRY(Query{statements_[at(Sql::drop_names_of_blob)]}.bind(blob).run());
  const auto names = static_cast<std::uint64_t>(database_.changed_rows());
  LYK_TRY(Query{statements_[at(Sql::drop_images)]}.bind(blob).run());
  LYK_TRY(Query{statements_[at(Sql::drop_blob)]}.bind(blob).run());
  LYK_TRY(drop_empty_revisions());
  return names;
}

Result<void> Index::drop_empty_revisions() {
  return Query{statements_[at(Sql::drop_empty_revisions)]}.run();
}

Result<std::optional<BlobRow>> Index::find(const FileName& name) {
  Query query{statements_[at(Sql::find)]};
  bind_origin(query, name.origin);
  query.bind(std::string_view{name.path.text()});
  return one_blob(query);
}

Result<std::int64_t> Index::put_revision(const Origin& origin, Visibility visibility) {
  Query query{statements_[at(Sql::put_revision)]};
  bind_origin(query, origin);
  query.bind(std::int64_t{visibility == Visibility::gated ? 1 : 0});
  LYK_TRY(query.next());
  return query.integer(0);
}

Result<void> Index::put_file(const Entry& entry, BlobId blob, Time now) {
  LYK_TRY_ASSIGN(const std::int64_t revision, put_revision(entry.name.origin, entry.visibility));
  Query query{statements_[at(Sql::put_file)]};
  query.bind(revision).bind(std::string_view{entry.name.path.text()}).bind(blob);
  query.bind(cache::name(entry.kind)).bind(seconds(now));
  return query.run();
}

Result<bool> Index::drop_file(const FileName& name) {
  {
    Query query{statements_[at(Sql::drop_file)]};
    bind_origin(query, name.origin);
    query.bind(std::string_view{name.path.text()});
    LYK_TRY(query.run());
  }
  const bool dropped = database_.changed_rows() > 0;
  LYK_TRY(drop_empty_revisions());
  return dropped;
}

Result<std::vector<StoredFile>> Index::files(const Origin& origin) {
  Query query{statements_[at(Sql::files)]};
  bind_origin(query, origin);
  std::vector<StoredFile> out;
  while (true) {
    LYK_TRY_ASSIGN(const bool there, query.next());
    if (!there)
      return out;
    LYK_TRY_ASSIGN(RepoPath path, path_at(query, 0));
    LYK_TRY_ASSIGN(const Digest sha256, digest_at(query, 1));
    out.push_back({.name = {origin, std::move(path)},
                   .blob = {sha256, count_at(query, 2)},
                   .kind = query.text(3) == "git" ? ProofKind::git : ProofKind::digests,
                   .added = time_of(query.integer(4)),
                   .used = time_of(query.integer(5))});
  }
}

Result<std::vector<StoredImage>> Index::images(const Origin& origin) {
  Query query{statements_[at(Sql::images)]};
  bind_origin(query, origin);
  std::vector<StoredImage> out;
  while (true) {
    LYK_TRY_ASSIGN(const bool there, query.next());
    if (!there)
      return out;
    LYK_TRY_ASSIGN(StoredImage row, image_row(query));
    out.push_back(std::move(row));
  }
}

Result<std::optional<StoredRevision>> Index::revision(const Origin& origin) {
  Query query{statements_[at(Sql::revision)]};
  bind_origin(query, origin);
  LYK_TRY_ASSIGN(const bool there, query.next());
  if (!there)
    return std::optional<StoredRevision>{};
  LYK_TRY_ASSIGN(StoredRevision row, revision_row(query));
  return std::optional<StoredRevision>{std::move(row)};
}

Result<std::vector<StoredRevision>> Index::revisions() {
  Query query{statements_[at(Sql::revisions)]};
  std::vector<StoredRevision> out;
  while (true) {
    LYK_TRY_ASSIGN(const bool there, query.next());
    if (!there)
      return out;
    LYK_TRY_ASSIGN(StoredRevision row, revision_row(query));
    out.push_back(std::move(row));
  }
}

Result<Stats> Index::stats() {
  Query query{statements_[at(Sql::stats)]};
  LYK_TRY(query.next());
  return Stats{.bytes = count_at(query, 0),
               .blobs = count_at(query, 1),
               .files = count_at(query, 2),
               .images = count_at(query, 3)};
}

Result<std::uint64_t> Index::bytes() {
  Query query{statements_[at(Sql::bytes)]};
  LYK_TRY(query.next());
  return count_at(query, 0);
}

Result<std::optional<Time>> Index::last_use(const Digest& sha256) {
  Query query{statements_[at(Sql::last_use)]};
  query.bind(std::span{sha256.bytes});
  LYK_TRY_ASSIGN(const bool there, query.next());
  return there ? std::optional{time_of(query.integer(0))} : std::nullopt;
}

Result<void> Index::record_use(const Digest& sha256, Time now) {
  Query query{statements_[at(Sql::record_use)]};
  query.bind(std::span{sha256.bytes}).bind(seconds(now));
  return query.run();
}

Result<std::vector<EvictionCandidate>> Index::eviction_candidates(
    std::span<const PinnedRevision> pinned) {
  std::unordered_set<BlobId> kept;
  for (const PinnedRevision& revision : pinned) {
    Query query{statements_[at(Sql::pinned_blobs)]};
    query.bind(std::string_view{revision.repo.text()}).bind(std::span{revision.commit.bytes});
    while (true) {
      LYK_TRY_ASSIGN(const bool there, query.next());
      if (!there)
        break;
      kept.insert(query.integer(0));
    }
  }
  Query query{statements_[at(Sql::eviction_candidates)]};
  std::vector<EvictionCandidate> out;
  while (true) {
    LYK_TRY_ASSIGN(const bool there, query.next());
    if (!there)
      return out;
    LYK_TRY_ASSIGN(const Digest sha256, digest_at(query, 1));
    out.push_back({.blob = {sha256, count_at(query, 2)},
                   .pinned = kept.contains(query.integer(0)) ? Pinned::yes : Pinned::no});
  }
}

Result<void> Index::clear_names() {
  LYK_TRY(Query{statements_[at(Sql::clear_names)]}.run());
  return Query{statements_[at(Sql::clear_revisions)]}.run();
}

}  // namespace lyk::cache
