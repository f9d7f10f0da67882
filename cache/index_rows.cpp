#include "cache/index_rows.hpp"

#include <span>
#include <utility>

#include "cache/kernel_list.hpp"
#include "proto/text.hpp"

namespace lyk::cache {

std::int64_t seconds(Time time) {
  return time.time_since_epoch().count();
}
Time time_of(std::int64_t seconds_since_1970) {
  return Time{std::chrono::seconds{seconds_since_1970}};
}

void bind_origin(Query& query, const Origin& origin) {
  query.bind(std::string_view{origin.repo.text()})
      .bind(name(origin.type))
      .bind(std::span{origin.commit.bytes});
}

namespace {

template <typename Id>
Result<Id> hash_at(const Query& query, int column) {
  Id out;
  const auto bytes = query.bytes(column);
  if (bytes.size() != out.bytes.size())
    return query.damage("a hash is not readable");
  std::copy(bytes.begin(), bytes.end(), out.bytes.begin());
  return out;
}

}  // namespace

Result<Digest> digest_at(const Query& query, int column) {
  return hash_at<Digest>(query, column);
}

Result<RepoPath> path_at(const Query& query, int column) {
  auto path = RepoPath::parse(query.text(column));
  if (!path)
    return query.damage("a path is not readable");
  return path;
}

std::uint64_t count_at(const Query& query, int column) {
  return static_cast<std::uint64_t>(query.integer(column));
}

Result<Origin> origin_at(const Query& query, int column) {
  auto repo = RepoId::parse(query.text(column));
  const auto type = parse_repo_type(query.text(column + 1));
  if (!repo || !type)
    return query.damage("a repo is not readable");
  LYK_TRY_ASSIGN(const GitId commit, hash_at<GitId>(query, column + 2));
  return Origin{*type, std::move(*repo), commit};
}

namespace {

Result<BlobRow> blob_row(const Query& query) {
  LYK_TRY_ASSIGN(const Digest sha256, digest_at(query, 1));
  BlobRow row{.id = query.integer(0),
              .blob = {sha256, count_at(query, 2)},
              .git_blob = std::nullopt,
              .added = time_of(query.integer(4)),
              .verified = time_of(query.integer(5)),
              .stat = {query.integer(6), query.integer(7)}};
  if (!query.is_null(3)) {
    LYK_TRY_ASSIGN(row.git_blob, hash_at<GitId>(query, 3));
  }
  return row;
}

}  // namespace

Result<std::optional<BlobRow>> one_blob(Query& query) {
  LYK_TRY_ASSIGN(const bool there, query.next());
  if (!there)
    return std::optional<BlobRow>{};
  LYK_TRY_ASSIGN(const BlobRow row, blob_row(query));
  return std::optional<BlobRow>{row};
}

Result<std::vector<BlobRow>> all_blobs(Query& query) {
  std::vector<BlobRow> out;
  while (true) {
    LYK_TRY_ASSIGN(const bool there, query.next());
    if (!there)
      return out;
    LYK_TRY_ASSIGN(const BlobRow row, blob_row(query));
    out.push_back(row);
  }
}

namespace {

Result<std::optional<CudaVersion>> version_at(const Query& query, int column) {
  if (query.is_null(column))
    return std::optional<CudaVersion>{};
  const auto version = CudaVersion::parse(query.text(column));
  if (!version)
    return query.damage("a CUDA version is not readable");
  return std::optional<CudaVersion>{*version};
}

}  // namespace

Result<StoredImage> image_row(const Query& query) {
  LYK_TRY_ASSIGN(RepoPath path, path_at(query, 0));
  LYK_TRY_ASSIGN(const Digest file, digest_at(query, 1));
  const auto kind = image::parse_kind(query.text(4));
  const auto container = image::parse_container(query.text(5));
  const auto compression = image::parse_compression(query.text(7));
  if (!kind || !container || !compression)
    return query.damage("the kind of an image is not readable");
  const auto arch = Arch::parse(query.text(6));
  if (!arch)
    return query.damage("an architecture is not readable");
  LYK_TRY_ASSIGN(const Digest sha256, digest_at(query, 9));
  LYK_TRY_ASSIGN(const auto toolkit, version_at(query, 10));
  LYK_TRY_ASSIGN(const auto ptx_version, version_at(query, 11));
  auto kernels = decode_kernels(query.bytes(15));
  if (!kernels)
    return query.damage("a list of kernels is not readable");
  return StoredImage{
      .path = std::move(path),
      .file = {file, count_at(query, 2)},
      .ordinal = static_cast<std::uint32_t>(query.integer(3)),
      .image = {.kind = *kind,
                .container = *container,
                .arch = *arch,
                .compression = *compression,
                .bytes = count_at(query, 8),
                .sha256 = sha256,
                .toolkit = toolkit,
                .ptx_version = ptx_version,
                .kernels = std::move(*kernels),
                .location = {count_at(query, 12), count_at(query, 13), count_at(query, 14)}}};
}

Result<StoredRevision> revision_row(const Query& query) {
  LYK_TRY_ASSIGN(Origin origin, origin_at(query, 0));
  return StoredRevision{.origin = std::move(origin),
                        .kind = query.integer(4) != 0 ? ProofKind::digests : ProofKind::git,
                        .visibility = query.integer(3) != 0 ? Visibility::gated : Visibility::open,
                        .files = count_at(query, 5),
                        .images = count_at(query, 6),
                        .bytes = count_at(query, 7)};
}

}  // namespace lyk::cache
