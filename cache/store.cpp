#include "cache/store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "cache/hash_file.hpp"
#include "cache/hub_cache.hpp"
#include "cache/store_state.hpp"
#include "proto/text.hpp"

namespace lyk::cache {

namespace {

std::string label(const FileName& name) {
  return str(name.origin.repo.text(), "@", name.origin.commit.hex().substr(0, 12), "/",
             name.path.text());
}

// Everything that the proof states must hold. `git_blob` empty: not computed, so nothing is proven
// by it.
Result<void> compare(const Proof& proof, const FileHash& actual) {
  if (!proof.sha256 && !proof.git_blob)
    return Error{Code::refused, "nothing proves the file: neither git nor digests name its hash"};
  if (proof.bytes && *proof.bytes != actual.bytes)
    return Error{Code::size_mismatch, str("expected ", *proof.bytes, " bytes, got ", actual.bytes)};
  if (proof.sha256 && *proof.sha256 != actual.sha256)
    return Error{Code::digest_mismatch,
                 str("expected sha256 ", proof.sha256->hex(), ", got ", actual.sha256.hex())};
  if (proof.git_blob && proof.git_blob != actual.git_blob)
    return Error{Code::digest_mismatch, str("expected git blob ", proof.git_blob->hex(), ", got ",
                                            actual.git_blob ? actual.git_blob->hex() : "none")};
  return {};
}

bool is_mismatch(const Error& error) {
  return error.code == Code::digest_mismatch || error.code == Code::size_mismatch;
}

bool proves(const Proof& proof, const BlobRow& row) {
  return bool{compare(proof, {row.blob.sha256, row.git_blob, row.blob.bytes})};
}

// A foreign file that may be what we want: links are followed, since its hash decides.
UniqueFd open_foreign(const std::filesystem::path& path, const Proof& proof) {
  UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return UniqueFd{};
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  const bool plausible = proof.bytes ? bytes == *proof.bytes : bytes <= limits::file_bytes_max;
  return plausible ? std::move(fd) : UniqueFd{};
}

// Copies `from` into `to`, hashing on the way.
Result<void> copy(int from, std::string_view name, Staging& to) {
  std::vector<std::byte> piece(limits::hash_piece_bytes);
  while (true) {
    const ssize_t got =
        ::pread(from, piece.data(), piece.size(), static_cast<off_t>(to.bytes_so_far()));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return os_error(errno, str("read ", quoted(name)));
    if (got == 0)
      return {};
    LYK_TRY(to.write(std::span{piece}.first(static_cast<std::size_t>(got))));
  }
}

}  // namespace

std::string_view name(ProofKind kind) {
  return kind == ProofKind::git ? "git" : "digests";
}

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

const std::filesystem::path& Store::root() const {
  return state_->layout.root();
}
std::uint64_t Store::bytes_max() const {
  return state_->bytes_max;
}
bool Store::writable() const {
  return state_->writer.has_value();
}
const std::string& Store::read_only_reason() const {
  return state_->read_only_reason;
}
void Store::set_bytes_max(std::uint64_t bytes) {
  state_->bytes_max = bytes;
}

void Store::set_pinned(std::vector<PinnedRevision> pinned) {
  const std::lock_guard lock{state_->pinned_mutex};
  state_->pinned = std::move(pinned);
}

void Store::pin_everything() {
  const std::lock_guard lock{state_->pinned_mutex};
  state_->pinned.reset();
}

std::filesystem::path Store::git_path(RepoType type, const RepoId& repo) const {
  return state_->layout.git(type, repo);
}

Result<Lock> Store::lock(std::string_view name, const LockWait& wait) const {
  LYK_TRY(state_->check_writable());
  return state_->locks.lock(str("user ", name), wait);
}

Result<std::optional<Lock>> Store::try_lock(std::string_view name) const {
  LYK_TRY(state_->check_writable());
  return state_->locks.try_lock(str("user ", name));
}

Result<Staging> Store::stage(const StageSize& size) {
  LYK_TRY(state_->check_writable());
  Reservation reservation;
  {
    LockedIndex writer = state_->write();
    LYK_TRY(state_->make_room(writer, size.bytes_expected));
    reservation = Reservation{state_->reserved_bytes, size.bytes_expected};
  }
  return Staging::create(state_->layout.tmp(), size, std::move(reservation));
}

// The order, and what a crash after each step leaves (docs/store_format.md, "Commit"):
//   1. the temporary file is complete and on the disk    an orphan in tmp/
//   2. its hashes and size are compared with the proof   the same; a mismatch deletes it
//   3. its images are read                               the same
//   4. the index's one-writer lock is taken              the same
//   5. rename to the blob's name, fsync of the folders   a proven blob without a row: an orphan
//   6. rows, commit                                      stored
// Steps 5 and 6 are under the one-writer lock, as are removal and collection, so nobody takes the
// file away between its rename and its row.
Result<Blob> Store::commit(Staging staging, const Entry& entry, Time now) {
  LYK_TRY(state_->check_writable());
  LYK_CHECK(!staging.path_.empty());
  LYK_TRY(staging.finish());
  LYK_TRY_ASSIGN(const FileHash hash, hash_of(staging, entry.proof));
  if (auto proven = compare(entry.proof, hash); !proven)
    return annotate(std::move(proven).error(), label(entry.name));

  const auto images = read_device_images(staging.fd_.get(), hash.bytes);
  struct stat status {};
  if (::fstat(staging.fd_.get(), &status) != 0)
    return os_error(errno, str("stat ", quoted(staging.path_.string())));
  const BlobRow row{.id = 0,
                    .blob = {hash.sha256, hash.bytes},
                    .git_blob = hash.git_blob,
                    .added = now,
                    .verified = now,
                    .stat = hint_of(status)};
  LYK_TRY(publish(staging, row, images, entry, now));
  return row.blob;
}

// Step 1's hashes. The git id needs the size before the first byte, which a download does not know:
// a second look, at the file itself. Only plain files have such a proof, and they are small.
Result<FileHash> Store::hash_of(Staging& staging, const Proof& proof) {
  FileHash hash{
      .sha256 = staging.sha256_.finish(), .git_blob = std::nullopt, .bytes = staging.bytes_so_far_};
  if (!proof.git_blob)
    return hash;
  LYK_TRY_ASSIGN(const auto again,
                 hash_file(staging.fd_.get(), staging.path_.string(), Hashes::sha256_and_git_blob));
  if (!again || again->sha256 != hash.sha256)
    return Error{Code::io, str("read back ", quoted(staging.path_.string()),
                               ": the disk does not give back what was written")};
  return *again;
}

// Steps 4 to 6. If they fail after the rename, what the rename made visible is taken back, unless
// the same content stood there before.
Result<void> Store::publish(Staging& staging,
                            const BlobRow& row,
                            std::span<const image::Image> images,
                            const Entry& entry,
                            Time now) {
  const Layout& layout = state_->layout;
  const Digest& sha256 = row.blob.sha256;
  LockedIndex index = state_->write();
  LYK_TRY_ASSIGN(Transaction transaction, index->begin());
  LYK_TRY_ASSIGN(const auto known, index->blob(sha256));
  LYK_TRY(make_folder(layout.blob_folder(sha256), 0700));
  LYK_TRY(state_->clear_place(sha256));
  LYK_TRY(rename_file(staging.path_, layout.blob(sha256)));
  staging.path_.clear();
  const auto finish = [&]() -> Result<void> {
    LYK_TRY(sync_folder(layout.blob_folder(sha256)));
    LYK_TRY(sync_folder(layout.blobs()));
    LYK_TRY_ASSIGN(const BlobId id, index->put_blob(row));
    LYK_TRY(index->put_images(id, images));
    LYK_TRY(index->put_file(entry, id, now));
    return transaction.commit();
  };
  Result<void> finished = finish();
  if (!finished && !known)
    (void)unlink_file(layout.blob(sha256));  // where even this fails, it stays as an orphan
  return finished;
}

Result<std::optional<Blob>> Store::find(const FileName& name, const Proof* proof) const {
  LYK_TRY_ASSIGN(const auto row, state_->row_of(name));
  if (!row || (proof != nullptr && !proves(*proof, *row)))
    return std::optional<Blob>{};
  LYK_TRY_ASSIGN(const bool there, state_->is_in_place(row->blob));
  return there ? std::optional{row->blob} : std::nullopt;
}

Result<std::optional<Blob>> Store::link(const Entry& entry, Time now) {
  if (!writable())
    return std::optional<Blob>{};
  const Proof& proof = entry.proof;
  if (!proof.sha256 && !proof.git_blob)
    return std::optional<Blob>{};
  LYK_TRY_ASSIGN(std::optional<BlobRow> row, state_->row_of(proof));
  if (!row && proof.sha256) {
    LYK_TRY_ASSIGN(Reindexed orphan, state_->reindex(*proof.sha256, now));
    row = orphan.row;
  }
  if (!row || !proves(proof, *row))
    return std::optional<Blob>{};

  LockedIndex writer = state_->write();
  LYK_TRY_ASSIGN(Transaction transaction, writer->begin());
  // Both may have gone while nobody held the lock.
  LYK_TRY_ASSIGN(const auto still, writer->blob(row->blob.sha256));
  LYK_TRY_ASSIGN(const bool there, state_->is_in_place(row->blob));
  if (!still || !there)
    return std::optional<Blob>{};
  LYK_TRY(writer->put_file(entry, still->id, now));
  LYK_TRY(transaction.commit());
  return std::optional{row->blob};
}

Result<std::optional<Blob>> Store::adopt(const Entry& entry,
                                         const std::filesystem::path& hub_cache,
                                         Time now) {
  for (const auto& place : hub_cache_places(hub_cache, entry)) {
    const UniqueFd fd = open_foreign(place, entry.proof);
    if (!fd)
      continue;
    const auto found = hash_file(fd.get(), place.string(), Hashes::sha256_and_git_blob);
    if (!found || !*found || !compare(entry.proof, **found))
      continue;  // damaged, or not this file: no concern of ours
    LYK_TRY_ASSIGN(Staging staging, stage(StageSize::exactly((*found)->bytes)));
    LYK_TRY(copy(fd.get(), place.string(), staging));
    auto blob = commit(std::move(staging), entry, now);
    if (blob)
      return std::optional{*blob};
    if (!is_mismatch(blob.error()))
      return std::move(blob).error();
  }
  return std::optional<Blob>{};
}

Result<UniqueFd> Store::open_blob(const Digest& sha256) const {
  LYK_TRY_ASSIGN(auto file, open_file(state_->layout.blob(sha256)));
  if (!file)
    return Error{Code::not_cached, str("blob ", sha256.hex(), ": not in the store")};
  if (!file->fd)
    return Error{Code::not_cached,
                 str("blob ", sha256.hex(), ": not a regular file; `verify` moves it away")};
  return std::move(file->fd);
}

Result<std::vector<StoredImage>> Store::images(const Origin& origin) const {
  LYK_TRY_ASSIGN(const LockedIndex index, state_->read());
  return index->images(origin);
}

Result<std::vector<StoredFile>> Store::files(const Origin& origin) const {
  LYK_TRY_ASSIGN(const LockedIndex index, state_->read());
  return index->files(origin);
}

Result<std::optional<StoredRevision>> Store::revision(const Origin& origin) const {
  LYK_TRY_ASSIGN(const LockedIndex index, state_->read());
  return index->revision(origin);
}

Result<std::vector<StoredRevision>> Store::revisions() const {
  LYK_TRY_ASSIGN(const LockedIndex index, state_->read());
  return index->revisions();
}

Result<Stats> Store::stats() const {
  LYK_TRY_ASSIGN(const auto damaged, quarantine());
  LYK_TRY_ASSIGN(const LockedIndex index, state_->read());
  LYK_TRY_ASSIGN(Stats stats, index->stats());
  stats.quarantined = damaged.size();
  return stats;
}

}  // namespace lyk::cache
