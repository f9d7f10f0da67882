// What a Store is inside. Included by cache/store*.cpp only.
//
// Lock order: writer before pinned; reader is never held together with another one.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/index.hpp"
#include "cache/layout.hpp"
#include "cache/lock.hpp"
#include "cache/store.hpp"

namespace lyk::cache {

// An Index, locked for as long as this lives.
class LockedIndex {
public:
  LockedIndex(std::mutex& mutex, Index& index) : lock_(mutex), index_(&index) {}
  Index* operator->() const { return index_; }

private:
  std::unique_lock<std::mutex> lock_;
  Index* index_;
};

// What hashing a stored blob found.
struct Checked {
  Verdict verdict = Verdict::missing;
  std::uint64_t bytes = 0;
  std::vector<FileName> names;   // that it had
  std::optional<Digest> actual;  // if it is damaged and readable
};

// What became of a file in blobs/ that had no row, or whose row is to be made anew.
struct Reindexed {
  Verdict verdict = Verdict::missing;
  std::optional<BlobRow> row;    // good
  std::optional<Digest> actual;  // damaged, and readable
};

// What changes when somebody else writes the index that we only read.
struct IndexStamp {
  StatHint hint;
  std::int64_t bytes = 0;
  bool has_wal = false;
  auto operator<=>(const IndexStamp&) const = default;
};

struct Store::State {
  explicit State(const Options& opened_with)
      : options(opened_with), layout(opened_with.root), locks(layout.locks()) {}

  Result<void> open_writable();
  Result<void> open_read_only();
  Result<Options::Disk> disk_of_root() const;

  // Never fails in a store that is writable.
  Result<LockedIndex> read();
  LockedIndex write();
  Result<void> check_writable() const;
  std::optional<std::vector<PinnedRevision>> pinned_now();

  // One question to the index each, with nothing locked afterwards.
  Result<std::optional<BlobRow>> row_of(const FileName& name);
  Result<std::optional<BlobRow>> row_of(const Digest& sha256);
  Result<std::optional<BlobRow>> row_of(const Proof& proof);
  Result<std::optional<Time>> last_use(const Digest& sha256);
  Result<std::vector<BlobRow>> rows_to_verify(const VerifyRequest& request);

  // A blob of the row's size stands where it belongs.
  Result<bool> is_in_place(const Blob& blob) const;

  // Hashes a file of blobs/ and writes its row and images; a damaged one is quarantined.
  Result<Reindexed> reindex(const Digest& sha256, Time now);

  // Evicts so that `bytes` more fit; no_space, and nothing evicted, if that is impossible.
  Result<void> make_room(LockedIndex& index, std::uint64_t bytes);
  // Rows, then the file, as one transaction.
  Result<Removed> drop(LockedIndex& index, const Blob& blob);
  // Names are gone already; takes the content too if it has no other. In the caller's transaction.
  Result<std::uint64_t> drop_if_nameless(LockedIndex& index, const BlobRow& row);

  // Moves a damaged file away and forgets it, if it is still the file of `seen`.
  Result<void> quarantine(const Digest& expected,
                          std::optional<Digest> actual,
                          const StatHint& seen);
  Result<void> trim_quarantine();
  // Moves away what is no file, over which no blob can be renamed. Under the one-writer lock.
  Result<void> clear_place(const Digest& sha256);
  Result<Checked> check_blob(const Digest& sha256, Time now);

  Options options;
  Layout layout;
  LockFolder locks;
  std::string read_only_reason;   // empty: writable
  bool index_is_complete = true;  // false: other hosts have indexes of their own
  std::optional<Lock> open_lock;  // says that the index is in use
  std::filesystem::path index_file;
  std::optional<PathIdentity> opened_root;
  std::optional<PathIdentity> opened_index;  // absent: the index is in memory, or read only
  std::atomic<std::uint64_t> bytes_max{0};
  std::shared_ptr<std::atomic<std::uint64_t>> reserved_bytes =
      std::make_shared<std::atomic<std::uint64_t>>(0);

  std::mutex reader_mutex;
  std::optional<Index> reader;  // absent: the index is in memory, and the writer reads too
  IndexStamp reader_stamp;      // read only: of the index when `reader` was opened
  std::mutex writer_mutex;
  std::optional<Index> writer;  // absent: read only
  std::mutex pinned_mutex;
  std::optional<std::vector<PinnedRevision>> pinned;  // absent: everything is
};

}  // namespace lyk::cache
