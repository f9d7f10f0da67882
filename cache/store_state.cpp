#include "cache/store_state.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cache/evict.hpp"
#include "cache/hash_file.hpp"
#include "proto/text.hpp"

namespace lyk::cache {

namespace {

constexpr std::string_view nothing_is_evicted =
    "; nothing is evicted while a pin is refused: `libreyolo-kernels pins` names it";

// Empty: there are no bytes to hash, since it is no file or the disk does not give them back.
Result<std::optional<FileHash>> hash_store_file(const StoreFile& file,
                                                std::string_view name,
                                                Hashes hashes) {
  if (!file.fd)
    return std::optional<FileHash>{};
  return hash_file(file.fd.get(), name, hashes);
}

}  // namespace

LockedIndex Store::State::write() {
  LYK_CHECK(writer.has_value());  // check_writable came before
  return {writer_mutex, *writer};
}

Result<void> Store::State::check_writable() const {
  if (writer)
    return {};
  return Error{Code::io, str("store ", quoted(layout.root().string()), ": read only (",
                             read_only_reason, ")")};
}

std::optional<std::vector<PinnedRevision>> Store::State::pinned_now() {
  const std::lock_guard lock{pinned_mutex};
  return pinned;
}

Result<std::optional<BlobRow>> Store::State::row_of(const FileName& name) {
  LYK_TRY_ASSIGN(const LockedIndex index, read());
  return index->find(name);
}

Result<std::optional<BlobRow>> Store::State::row_of(const Digest& sha256) {
  LYK_TRY_ASSIGN(const LockedIndex index, read());
  return index->blob(sha256);
}

Result<std::optional<BlobRow>> Store::State::row_of(const Proof& proof) {
  LYK_CHECK(proof.sha256 || proof.git_blob);
  LYK_TRY_ASSIGN(const LockedIndex index, read());
  return proof.sha256 ? index->blob(*proof.sha256) : index->blob(*proof.git_blob);
}

Result<bool> Store::State::is_in_place(const Blob& blob) const {
  LYK_TRY_ASSIGN(const auto status, stat_entry(layout.blob(blob.sha256)));
  return status && S_ISREG(status->st_mode) &&
         static_cast<std::uint64_t>(status->st_size) == blob.bytes;
}

Result<void> Store::State::make_room(LockedIndex& index, std::uint64_t bytes) {
  LYK_TRY_ASSIGN(const std::uint64_t stored, index->bytes());
  LYK_TRY_ASSIGN(const std::uint64_t free, free_bytes(layout.tmp()));
  const std::uint64_t wanted_in_all = stored + *reserved_bytes + bytes;
  const std::uint64_t over = wanted_in_all > bytes_max ? wanted_in_all - bytes_max : 0;
  const std::uint64_t lacking = bytes > free ? bytes - free : 0;
  const std::uint64_t wanted = std::max(over, lacking);
  if (wanted == 0)
    return {};

  EvictionPlan plan;
  const auto keep = pinned_now();
  if (keep) {
    LYK_TRY_ASSIGN(const auto candidates, index->eviction_candidates(*keep));
    plan = plan_eviction(candidates, wanted);
  }
  if (!plan.enough) {
    const std::string store =
        str("store ", quoted(layout.root().string()), ": no room for ", bytes, " bytes: ");
    const std::string_view why_none = keep ? "" : nothing_is_evicted;
    if (over >= lacking)
      return Error{Code::no_space,
                   str(store, "cache_max_bytes is ", bytes_max.load(), " and ",
                       stored + *reserved_bytes - plan.bytes_freed,
                       " are pinned or being downloaded; raise it or remove a slot", why_none)};
    return Error{Code::no_space, str(store, "the disk has ", free, " bytes left", why_none)};
  }
  for (const EvictionCandidate& candidate : plan.evicted)
    LYK_TRY(drop(index, candidate.blob));
  return {};
}

// Rows, then the file, then the commit: a crash before it brings the rows back without their file,
// which is a miss.
Result<Removed> Store::State::drop(LockedIndex& index, const Blob& blob) {
  LYK_TRY_ASSIGN(Transaction transaction, index->begin());
  // The plan was made before: another process may have been faster, and row ids are used again.
  LYK_TRY_ASSIGN(const auto row, index->blob(blob.sha256));
  if (!row)
    return Removed{};
  LYK_TRY_ASSIGN(const std::uint64_t names, index->drop_blob(row->id));
  LYK_TRY(unlink_file(layout.blob(blob.sha256)));
  LYK_TRY(transaction.commit());
  return Removed{.files = names, .bytes = blob.bytes};
}

Result<std::uint64_t> Store::State::drop_if_nameless(LockedIndex& index, const BlobRow& row) {
  LYK_TRY_ASSIGN(const bool named, index->is_named(row.id));
  if (named)
    return std::uint64_t{0};
  LYK_TRY(index->drop_blob(row.id));
  LYK_TRY(unlink_file(layout.blob(row.blob.sha256)));
  return row.blob.bytes;
}

Result<Checked> Store::State::check_blob(const Digest& sha256, Time now) {
  Checked checked;
  LYK_TRY_ASSIGN(const auto row, row_of(sha256));
  if (row) {
    LYK_TRY_ASSIGN(const LockedIndex index, read());
    LYK_TRY_ASSIGN(checked.names, index->names(row->id));
  }
  LYK_TRY_ASSIGN(const auto file, open_file(layout.blob(sha256)));
  if (!file)
    return checked;
  LYK_TRY_ASSIGN(const auto hash,
                 hash_store_file(*file, layout.blob(sha256).string(), Hashes::sha256));
  checked.bytes = hash ? hash->bytes : 0;
  if (hash && hash->sha256 == sha256) {
    checked.verdict = Verdict::good;
    if (row && writer)
      LYK_TRY(write()->set_verified(sha256, now, hint_of(file->status)));
    return checked;
  }
  checked.verdict = Verdict::damaged;
  if (hash)
    checked.actual = hash->sha256;
  if (writer)
    LYK_TRY(quarantine(sha256, checked.actual, hint_of(file->status)));
  return checked;
}

Result<void> Store::State::quarantine(const Digest& expected,
                                      std::optional<Digest> actual,
                                      const StatHint& seen) {
  {
    LockedIndex index = write();
    LYK_TRY_ASSIGN(Transaction transaction, index->begin());
    LYK_TRY_ASSIGN(const auto status, stat_entry(layout.blob(expected)));
    if (!status || hint_of(*status).inode != seen.inode)
      return {};  // gone or replaced meanwhile: what was damaged is no longer there
    LYK_TRY_ASSIGN(const auto row, index->blob(expected));
    if (row)
      LYK_TRY(index->drop_blob(row->id));
    LYK_TRY(rename_file(layout.blob(expected),
                        S_ISREG(status->st_mode)
                            ? layout.quarantine(expected, actual)
                            : layout.quarantine_of_no_file(expected, status->st_ino)));
    LYK_TRY(transaction.commit());
  }
  return trim_quarantine();
}

Result<void> Store::State::clear_place(const Digest& sha256) {
  LYK_TRY_ASSIGN(const auto status, stat_entry(layout.blob(sha256)));
  if (!status || S_ISREG(status->st_mode))
    return {};
  return rename_file(layout.blob(sha256), layout.quarantine_of_no_file(sha256, status->st_ino));
}

Result<Reindexed> Store::State::reindex(const Digest& sha256, Time now) {
  Reindexed out;
  const auto path = layout.blob(sha256);
  LYK_TRY_ASSIGN(const auto file, open_file(path));
  if (!file)
    return out;
  LYK_TRY_ASSIGN(const auto hash,
                 hash_store_file(*file, path.string(), Hashes::sha256_and_git_blob));
  if (!hash || hash->sha256 != sha256) {
    out.verdict = Verdict::damaged;
    if (hash)
      out.actual = hash->sha256;
    LYK_TRY(quarantine(sha256, out.actual, hint_of(file->status)));
    return out;
  }
  BlobRow row{.id = 0,
              .blob = {sha256, hash->bytes},
              .git_blob = hash->git_blob,
              .added = now,
              .verified = now,
              .stat = hint_of(file->status)};
  const auto images = read_device_images(file->fd.get(), hash->bytes);
  LockedIndex index = write();
  LYK_TRY_ASSIGN(Transaction transaction, index->begin());
  LYK_TRY_ASSIGN(const bool there, is_in_place(row.blob));
  if (!there)
    return out;
  LYK_TRY_ASSIGN(row.id, index->put_blob(row));
  LYK_TRY(index->put_images(row.id, images));
  LYK_TRY(transaction.commit());
  out.verdict = Verdict::good;
  out.row = row;
  return out;
}

}  // namespace lyk::cache
