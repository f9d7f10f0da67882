// The store: proven files on disk under their sha256, and an index of their names and device
// images. docs/store_format.md is the format; this is the only program text that writes it.
//
// Invariants
//   - A file stands in blobs/ only after its bytes were hashed, and hash and size were those of its
//     proof. `commit` is the only door.
//   - Row after file, always: a row is written when its file is on the disk. A file without a row
//     is an orphan (re-indexed by `link`, else collected); a row without its file is a miss.
//   - Killed at any instruction, the store opens clean.
//   - Pinned files go by `remove` alone; neither `prune` nor making room takes them.
//
// Several processes may work on one store. Thread rule: every method may be called from any thread
// at any time; no method of a Store waits for another one's file input or output, except that the
// writers of the index take turns.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/hash_file.hpp"
#include "cache/lock.hpp"
#include "cache/staging.hpp"
#include "cache/types.hpp"
#include "proto/limits.hpp"
#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::cache {

struct BlobRow;

struct Options {
  enum class Access {
    read_write,         // an Error where the folder cannot be written
    prefer_read_write,  // read only where it cannot be written; `read_only_reason` says why
    read_only,          // writes nothing at all, not even locks
    rebuild,  // as read_write, alone, and an index that cannot be read is put aside for a new one
  };
  // What the index may rely on. Absent: decided by the file system's type.
  enum class Disk { local, network };

  std::filesystem::path root;
  std::uint64_t bytes_max = limits::cache_bytes_max_default;
  Access access = Access::prefer_read_write;
  unsigned root_mode = 0700;  // of a root that has to be created
  std::optional<Disk> disk;
};

enum class Verdict : std::uint8_t { good, missing, damaged };

struct VerifyRequest {
  std::optional<Origin> origin;        // absent: everything
  Time verified_before = Time::max();  // leave out what was verified at or after this time
};
struct VerifyProgress {
  std::uint64_t files_done = 0;
  std::uint64_t files_total = 0;
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
};
enum class Continue : std::uint8_t { yes, no };
using VerifyCallback = std::function<Continue(const VerifyProgress&)>;
struct Damaged {
  std::vector<FileName> names;
  Digest expected;
  std::optional<Digest> actual;  // absent: no file, or the disk does not give it back (EIO)
};
struct Missing {
  std::vector<FileName> names;
  Digest sha256;
};
struct VerifyReport {
  std::uint64_t files = 0;  // blobs that were hashed
  std::uint64_t bytes = 0;
  std::vector<Damaged> damaged;  // they are in the quarantine now, or (read only) where they were
  std::vector<Missing> missing;
};

struct Orphans {
  std::uint64_t files = 0;  // temporary files and blobs that nobody knows
  std::uint64_t bytes = 0;
};

struct Rebuilt {
  std::uint64_t files = 0;  // names
  std::uint64_t images = 0;
  std::uint64_t revisions = 0;
  std::uint64_t unknown_blobs = 0;  // proven by nothing that was given: left as orphans
  std::vector<Damaged> damaged;
};

class Store {
public:
  // refused: made by a newer release, a folder that others may write, or a link inside it.
  // corrupt_store: the index is not readable (the message names `rebuild-index`). io: cannot be
  // made or written; names it.
  static Result<Store> open(const Options& options);

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  const std::filesystem::path& root() const;
  // False once somebody has taken it away, or its index or a folder, or has put others there. What
  // this one writes is lost then: open it anew. It costs a few questions to the file system.
  bool is_in_place() const;
  std::uint64_t bytes_max() const;
  bool writable() const;
  // "open '/x/tmp': Read-only file system"; empty if writable.
  const std::string& read_only_reason() const;

  // What `prune`, making room and collecting orphans must not take. Until the first call everything
  // counts as pinned.
  void set_pinned(std::vector<PinnedRevision> pinned);
  // As before the first call: nobody knows what is pinned.
  void pin_everything();
  void set_bytes_max(std::uint64_t bytes);

  // --- in ---
  // Reserves room first, evicting what no pin names. no_space: the disk or `bytes_max` is too
  // small, and nothing was evicted.
  Result<Staging> stage(const StageSize& size);

  // The only door. digest_mismatch, size_mismatch: not what the proof says; the store is as it was
  // and the bytes are gone. The images inside are read and indexed; a file that is no device code,
  // or cannot be read as such, simply has none.
  Result<Blob> commit(Staging staging, const Entry& entry, Time now);

  // Content that is here already, under another name or as an orphan, gets this name too; empty if
  // it is not here, or the store is read only. An orphan is hashed first.
  Result<std::optional<Blob>> link(const Entry& entry, Time now);

  // Copies the file from a cache of huggingface_hub (facts hub-protocol 4: plain, without symlinks,
  // or with shared blobs) if what is there proves to be it. Nothing is ever written to `hub_cache`.
  Result<std::optional<Blob>> adopt(const Entry& entry,
                                    const std::filesystem::path& hub_cache,
                                    Time now);

  // --- out ---
  // Row, and file of the row's size. With a proof: only if it is the content that this proof names.
  Result<std::optional<Blob>> find(const FileName& name, const Proof* proof = nullptr) const;

  // Read only, close-on-exec. not_cached: it is not there. The bytes are not hashed here: whoever
  // hands them out hashes what it hands out, and calls `verify` when that fails.
  Result<UniqueFd> open_blob(const Digest& sha256) const;

  Result<std::vector<StoredImage>> images(const Origin& origin) const;  // by path, then ordinal
  Result<std::vector<StoredFile>> files(const Origin& origin) const;    // by path
  Result<std::optional<StoredRevision>> revision(const Origin& origin) const;
  Result<std::vector<StoredRevision>> revisions() const;  // by repo, type, commit
  Result<Stats> stats() const;
  Result<std::vector<QuarantinedFile>> quarantine() const;  // newest first

  // --- care ---
  // For the order of eviction. Kept to limits::use_granularity; nothing at all when read only.
  Result<void> record_use(const Digest& sha256, Time now);

  // Hashes the blob anew. A damaged one goes to the quarantine, and its names are forgotten; not
  // when read only.
  Result<Verdict> verify(const Digest& sha256, Time now);
  // In order of suspicion: changed stat data first, then what was verified longest ago. Also checks
  // the index itself (corrupt_store). `progress` may be empty; cancelled when it says no.
  Result<VerifyReport> verify_all(const VerifyRequest& request,
                                  const VerifyCallback& progress,
                                  Time now);

  // Forget names; content that has no name left goes too, pinned or not.
  Result<Removed> remove(const Origin& origin);
  Result<Removed> remove(const FileName& name);

  // Evicts unpinned content, least recently used first, until at most `bytes_max` are left, or only
  // pinned content.
  Result<Removed> prune(std::uint64_t bytes_max);

  // Temporary files, lock files and blobs without a row that are older than limits::orphan_age. No
  // blobs while everything is pinned: a pin may still give one its name.
  Result<Orphans> collect_orphans(Time now);

  // Starts the index anew: hashes every blob, quarantines the damaged, and gives the others those
  // of `known`'s names that they prove to be. Uses are kept.
  Result<Rebuilt> rebuild_index(std::span<const Entry> known, Time now);

  // --- shared places ---
  // The bare object store of a repo. The fetcher makes and fills it.
  std::filesystem::path git_path(RepoType type, const RepoId& repo) const;

  // One at a time among all processes, where the file system can lock. busy after the deadline.
  Result<Lock> lock(std::string_view name, const LockWait& wait) const;
  Result<std::optional<Lock>> try_lock(std::string_view name) const;

private:
  struct State;
  explicit Store(std::unique_ptr<State> state);

  static Result<FileHash> hash_of(Staging& staging, const Proof& proof);
  Result<void> publish(Staging& staging,
                       const BlobRow& row,
                       std::span<const image::Image> images,
                       const Entry& entry,
                       Time now);

  std::unique_ptr<State> state_;
};

}  // namespace lyk::cache
