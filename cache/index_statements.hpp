// The statements of the index, prepared once when it is opened. Included by cache/index*.cpp only.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace lyk::cache {

enum class Sql : std::size_t {
  blob_by_sha256,
  blob_by_git_blob,
  blobs,
  blobs_of_revision,
  find,
  names_of_blob,
  is_named,
  put_blob,
  set_verified,
  drop_blob,
  drop_names_of_blob,
  drop_images,
  put_image,
  put_revision,
  put_file,
  drop_file,
  drop_empty_revisions,
  clear_names,
  clear_revisions,
  files,
  images,
  revision,
  revisions,
  stats,
  bytes,
  last_use,
  record_use,
  pinned_blobs,
  eviction_candidates,
};

struct SqlText {
  Sql number;
  std::string_view text;
};

// Those that begin with `b.id, b.sha256, ...` are read by `one_blob` and `all_blobs`; the
// parameters of a revision are in the order of `bind_origin`.
constexpr std::array sql_texts{
    SqlText{
        Sql::blob_by_sha256,
        "SELECT b.id, b.sha256, b.bytes, b.git_blob, b.added_s, b.verified_s, b.inode, b.mtime_ns "
        "FROM blobs b WHERE b.sha256 = ?"},
    SqlText{
        Sql::blob_by_git_blob,
        "SELECT b.id, b.sha256, b.bytes, b.git_blob, b.added_s, b.verified_s, b.inode, b.mtime_ns "
        "FROM blobs b WHERE b.git_blob = ?"},
    SqlText{
        Sql::blobs,
        "SELECT b.id, b.sha256, b.bytes, b.git_blob, b.added_s, b.verified_s, b.inode, b.mtime_ns "
        "FROM blobs b ORDER BY b.verified_s, b.id"},
    SqlText{
        Sql::blobs_of_revision,
        "SELECT b.id, b.sha256, b.bytes, b.git_blob, b.added_s, b.verified_s, b.inode, b.mtime_ns "
        "FROM blobs b WHERE b.id IN (SELECT f.blob FROM revisions r "
        "JOIN files f ON f.revision = r.id WHERE r.repo = ? AND r.type = ? AND r.commit_id = ?) "
        "ORDER BY b.verified_s, b.id"},
    SqlText{
        Sql::find,
        "SELECT b.id, b.sha256, b.bytes, b.git_blob, b.added_s, b.verified_s, b.inode, b.mtime_ns "
        "FROM revisions r JOIN files f ON f.revision = r.id JOIN blobs b ON b.id = f.blob "
        "WHERE r.repo = ? AND r.type = ? AND r.commit_id = ? AND f.path = ?"},
    SqlText{Sql::names_of_blob,
            "SELECT r.repo, r.type, r.commit_id, f.path FROM files f "
            "JOIN revisions r ON r.id = f.revision WHERE f.blob = ? ORDER BY r.repo, r.id, f.path"},
    SqlText{Sql::is_named, "SELECT EXISTS (SELECT 1 FROM files WHERE blob = ?)"},
    SqlText{Sql::put_blob,
            "INSERT INTO blobs (sha256, bytes, git_blob, added_s, verified_s, inode, mtime_ns) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (sha256) DO UPDATE SET "
            "git_blob = coalesce(excluded.git_blob, git_blob), verified_s = excluded.verified_s, "
            "inode = excluded.inode, mtime_ns = excluded.mtime_ns RETURNING id"},
    SqlText{Sql::set_verified,
            "UPDATE blobs SET verified_s = ?, inode = ?, mtime_ns = ? WHERE sha256 = ?"},
    SqlText{Sql::drop_blob, "DELETE FROM blobs WHERE id = ?"},
    SqlText{Sql::drop_names_of_blob, "DELETE FROM files WHERE blob = ?"},
    SqlText{Sql::drop_images, "DELETE FROM images WHERE blob = ?"},
    SqlText{Sql::put_image,
            "INSERT INTO images (blob, place, kind, container, arch, compression, bytes, sha256, "
            "toolkit, ptx_version, stored_offset, stored_bytes, unpacked_bytes, "
            "kernels) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
    SqlText{Sql::put_revision,
            "INSERT INTO revisions (repo, type, commit_id, gated) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (repo, type, commit_id) DO UPDATE SET gated = max(gated, excluded.gated) "
            "RETURNING id"},
    SqlText{
        Sql::put_file,
        "INSERT INTO files (revision, path, blob, proof, added_s) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (revision, path) DO UPDATE SET blob = excluded.blob, proof = excluded.proof, "
        "added_s = excluded.added_s"},
    SqlText{Sql::drop_file,
            "DELETE FROM files WHERE revision = (SELECT id FROM revisions r WHERE r.repo = ? "
            "AND r.type = ? AND r.commit_id = ?) AND path = ?"},
    SqlText{Sql::drop_empty_revisions,
            "DELETE FROM revisions WHERE NOT EXISTS (SELECT 1 FROM files WHERE revision = id)"},
    SqlText{Sql::clear_names, "DELETE FROM files"},
    SqlText{Sql::clear_revisions, "DELETE FROM revisions"},
    SqlText{Sql::files,
            "SELECT f.path, b.sha256, b.bytes, f.proof, f.added_s, coalesce(u.used_s, b.added_s) "
            "FROM revisions r JOIN files f ON f.revision = r.id JOIN blobs b ON b.id = f.blob "
            "LEFT JOIN uses u ON u.sha256 = b.sha256 "
            "WHERE r.repo = ? AND r.type = ? AND r.commit_id = ? ORDER BY f.path"},
    SqlText{
        Sql::images,
        "SELECT f.path, b.sha256, b.bytes, i.place, i.kind, i.container, i.arch, i.compression, "
        "i.bytes, i.sha256, i.toolkit, i.ptx_version, i.stored_offset, i.stored_bytes, "
        "i.unpacked_bytes, "
        "i.kernels "
        "FROM revisions r JOIN files f ON f.revision = r.id JOIN blobs b ON b.id = f.blob "
        "JOIN images i ON i.blob = b.id "
        "WHERE r.repo = ? AND r.type = ? AND r.commit_id = ? ORDER BY f.path, i.place"},
    SqlText{
        Sql::revision,
        "SELECT r.repo, r.type, r.commit_id, r.gated, max(f.proof = 'digests'), count(*), "
        "(SELECT count(*) FROM files g JOIN images i ON i.blob = g.blob WHERE g.revision = r.id), "
        "sum(b.bytes) FROM revisions r JOIN files f ON f.revision = r.id "
        "JOIN blobs b ON b.id = f.blob "
        "WHERE r.repo = ? AND r.type = ? AND r.commit_id = ? GROUP BY r.id"},
    SqlText{
        Sql::revisions,
        "SELECT r.repo, r.type, r.commit_id, r.gated, max(f.proof = 'digests'), count(*), "
        "(SELECT count(*) FROM files g JOIN images i ON i.blob = g.blob WHERE g.revision = r.id), "
        "sum(b.bytes) FROM revisions r JOIN files f ON f.revision = r.id "
        "JOIN blobs b ON b.id = f.blob GROUP BY r.id ORDER BY r.repo, r.type, r.commit_id"},
    SqlText{Sql::stats,
            "SELECT (SELECT coalesce(sum(bytes), 0) FROM blobs), (SELECT count(*) FROM blobs), "
            "(SELECT count(*) FROM files), (SELECT count(*) FROM images)"},
    SqlText{Sql::bytes, "SELECT coalesce(sum(bytes), 0) FROM blobs"},
    SqlText{Sql::last_use, "SELECT used_s FROM uses WHERE sha256 = ?"},
    SqlText{Sql::record_use,
            "INSERT INTO uses (sha256, used_s) VALUES (?, ?) "
            "ON CONFLICT (sha256) DO UPDATE SET used_s = max(used_s, excluded.used_s)"},
    SqlText{Sql::pinned_blobs,
            "SELECT f.blob FROM revisions r JOIN files f ON f.revision = r.id "
            "WHERE r.repo = ? AND r.commit_id = ?"},
    SqlText{Sql::eviction_candidates,
            "SELECT b.id, b.sha256, b.bytes FROM blobs b LEFT JOIN uses u ON u.sha256 = b.sha256 "
            "ORDER BY coalesce(u.used_s, b.added_s), b.id"},
};

constexpr bool sql_texts_are_in_order() {
  for (std::size_t i = 0; i < sql_texts.size(); ++i)
    if (static_cast<std::size_t>(sql_texts[i].number) != i)
      return false;
  return sql_texts.size() == static_cast<std::size_t>(Sql::eviction_candidates) + 1;
}
static_assert(sql_texts_are_in_order(), "one text per Sql, in the order of the enum");

constexpr std::size_t at(Sql number) {
  return static_cast<std::size_t>(number);
}

}  // namespace lyk::cache
