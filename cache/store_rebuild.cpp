// The index made anew from what is on the disk and what the caller can prove.
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "cache/hash_file.hpp"
#include "cache/store_state.hpp"
#include "proto/text.hpp"

namespace lyk::cache {

namespace {

// What is in blobs/ and is what its name says.
struct Found {
  std::map<Digest, BlobRow> rows;
  std::map<GitId, Digest> by_git_blob;
};

// The blob that a proof names, if it was found and all of the proof holds.
const BlobRow* proven(const Found& found, const Proof& proof) {
  Digest sha256;
  if (proof.sha256) {
    sha256 = *proof.sha256;
  } else if (proof.git_blob) {
    const auto at = found.by_git_blob.find(*proof.git_blob);
    if (at == found.by_git_blob.end())
      return nullptr;
    sha256 = at->second;
  } else {
    return nullptr;
  }
  const auto at = found.rows.find(sha256);
  if (at == found.rows.end())
    return nullptr;
  const BlobRow& row = at->second;
  const bool holds = (!proof.bytes || *proof.bytes == row.blob.bytes) &&
                     (!proof.git_blob || proof.git_blob == row.git_blob);
  return holds ? &row : nullptr;
}

}  // namespace

// Blobs first, each in a transaction of its own, so that no other process waits for the hashing;
// then all names in one. A crash in between leaves the old names, and blobs without one.
Result<Rebuilt> Store::rebuild_index(std::span<const Entry> known, Time now) {
  LYK_TRY(state_->check_writable());
  Rebuilt rebuilt;
  Found found;
  const auto reindex = [&](const Digest& sha256) -> Result<void> {
    LYK_TRY_ASSIGN(Reindexed file, state_->reindex(sha256, now));
    if (file.verdict == Verdict::damaged)
      rebuilt.damaged.push_back({.names = {}, .expected = sha256, .actual = file.actual});
    if (!file.row)
      return {};
    if (file.row->git_blob)
      found.by_git_blob.emplace(*file.row->git_blob, sha256);
    found.rows.emplace(sha256, *file.row);
    return {};
  };
  LYK_TRY(for_each_blob_file(state_->layout, reindex));

  LockedIndex index = state_->write();
  LYK_TRY_ASSIGN(Transaction transaction, index->begin());
  LYK_TRY(index->clear_names());
  std::set<Digest> named;
  for (const Entry& entry : known)
    if (const BlobRow* blob = proven(found, entry.proof)) {
      LYK_TRY_ASSIGN(const auto row, index->blob(blob->blob.sha256));
      if (!row)
        continue;  // another process has taken it away since
      LYK_TRY(index->put_file(entry, row->id, now));
      named.insert(blob->blob.sha256);
    }
  LYK_TRY_ASSIGN(const auto rows, index->blobs());
  for (const BlobRow& row : rows)
    if (!named.contains(row.blob.sha256))
      LYK_TRY(index->drop_blob(row.id));
  LYK_TRY_ASSIGN(const Stats stats, index->stats());
  LYK_TRY_ASSIGN(const auto revisions, index->revisions());
  LYK_TRY(transaction.commit());
  rebuilt.files = stats.files;
  rebuilt.images = stats.images;
  rebuilt.revisions = revisions.size();
  rebuilt.unknown_blobs = found.rows.size() - named.size();
  return rebuilt;
}

}  // namespace lyk::cache
