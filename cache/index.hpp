// The index of the store: everything that is said in SQL, and nothing else. It knows names,
// revisions, blobs, images and uses; it knows no files but its own. cache/schema.sql is the schema.
//
// Thread rule: one thread at a time; the Store has one Index for readers and one for the writer,
// each behind a mutex. Methods that write several rows want a Transaction around them, and say so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/evict.hpp"
#include "cache/sqlite.hpp"
#include "cache/types.hpp"
#include "kernels/image/image.hpp"
#include "proto/result.hpp"

namespace lyk::cache {

using BlobId = std::int64_t;

// What a blob's file had when it was last hashed: a hint for what to hash first, never a proof.
struct StatHint {
  std::int64_t inode = 0;
  std::int64_t mtime_ns = 0;
  auto operator<=>(const StatHint&) const = default;
};

struct BlobRow {
  BlobId id = 0;
  Blob blob;
  std::optional<GitId> git_blob;
  Time added;
  Time verified;
  StatHint stat;
};

class Index {
public:
  enum class Journal {
    wal,       // a local disk
    rollback,  // a network file system
    memory,    // a file system without locks: nothing is kept
  };

  // Makes the schema in a new file. refused: of a newer format. corrupt_store: not an index.
  static Result<Index> open_writer(const std::filesystem::path& file, Journal journal);
  // A second connection beside an open writer (not for Journal::memory).
  static Result<Index> open_reader(const std::filesystem::path& file);
  // For a store that must not or cannot be written. A file that is not there is an empty index.
  static Result<Index> open_read_only(const std::filesystem::path& file);

  Result<Transaction> begin() { return Transaction::begin(database_); }
  // corrupt_store: SQLite finds a page or a row that is not as it should be.
  Result<void> check();

  // --- blobs ---
  Result<std::optional<BlobRow>> blob(const Digest& sha256);
  Result<std::optional<BlobRow>> blob(const GitId& git_blob);
  Result<std::vector<BlobRow>> blobs();                      // by verification, oldest first
  Result<std::vector<BlobRow>> blobs(const Origin& origin);  // the same of one revision
  Result<std::vector<FileName>> names(BlobId blob);
  // Inserts, or refreshes all but `added`. Ignores `row.id`, returns the id.
  Result<BlobId> put_blob(const BlobRow& row);
  Result<void> put_images(BlobId blob, std::span<const image::Image> images);  // in place of others
  Result<void> set_verified(const Digest& sha256, Time now, const StatHint& stat);
  // Blob, names, images, and revisions without files; in a Transaction. Says how many names.
  Result<std::uint64_t> drop_blob(BlobId blob);

  // --- names ---
  Result<std::optional<BlobRow>> find(const FileName& name);
  Result<void> put_file(const Entry& entry, BlobId blob, Time now);  // in a Transaction
  // The revision too, if it has no other file; in a Transaction. Says whether the name was there.
  Result<bool> drop_file(const FileName& name);
  Result<bool> is_named(BlobId blob);

  Result<std::vector<StoredFile>> files(const Origin& origin);
  Result<std::vector<StoredImage>> images(const Origin& origin);
  Result<std::optional<StoredRevision>> revision(const Origin& origin);
  Result<std::vector<StoredRevision>> revisions();

  // --- sums and uses ---
  Result<Stats> stats();  // `quarantined` stays 0: that is counted in its folder
  Result<std::uint64_t> bytes();
  Result<std::optional<Time>> last_use(const Digest& sha256);
  Result<void> record_use(const Digest& sha256, Time now);
  // Least recently used first. Pinned: a blob with any name of a revision in `pinned`.
  Result<std::vector<EvictionCandidate>> eviction_candidates(
      std::span<const PinnedRevision> pinned);

  // Every name and revision; in a Transaction.
  Result<void> clear_names();

private:
  Index(Database database, std::vector<Statement> statements)
      : database_(std::move(database)), statements_(std::move(statements)) {}
  static Result<Index> prepare(Database database);
  Result<std::int64_t> put_revision(const Origin& origin, Visibility visibility);
  Result<void> drop_empty_revisions();

  Database database_;
  std::vector<Statement> statements_;  // by Sql, an enum of index.cpp; prepared once
};

}  // namespace lyk::cache
