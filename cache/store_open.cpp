// Opening a store: the folders, the right to write in them, and the index that fits the disk.
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "cache/store_state.hpp"
#include "proto/text.hpp"

namespace lyk::cache {

namespace {

constexpr std::string_view open_lock_name = "store";     // held shared by all who have it open
constexpr std::string_view making_lock_name = "making";  // held while an index is opened or made

LockWait short_wait() {
  return {.deadline = std::chrono::steady_clock::now() + limits::store_open_wait, .cancelled = {}};
}

Error store_error(Error error, const std::filesystem::path& root) {
  return annotate(std::move(error), str("store ", quoted(root.string())));
}

// SQLite finds them by their name. Whoever still has the index open whose they were must not share
// them with the one that is made in its place.
Result<void> remove_companions(const std::filesystem::path& file) {
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    std::filesystem::path companion = file;
    companion += suffix;
    LYK_TRY(unlink_file(companion));
  }
  return {};
}

// An index that cannot be read is kept beside the new one, to be looked at.
Result<void> put_index_aside(const std::filesystem::path& file) {
  std::filesystem::path aside = file;
  aside += ".damaged";
  LYK_TRY(rename_file(file, aside));
  return remove_companions(file);
}

IndexStamp stamp_of(const std::filesystem::path& file) {
  IndexStamp stamp;
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0) {
    stamp.hint = hint_of(status);
    stamp.bytes = status.st_size;
  }
  stamp.has_wal = ::stat((std::filesystem::path{file} += "-wal").c_str(), &status) == 0;
  return stamp;
}

// SQLite would follow a link, and might wait for a fifo.
Result<void> check_index_files(const std::filesystem::path& file) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    const std::filesystem::path path = std::filesystem::path{file} += suffix;
    LYK_TRY_ASSIGN(const auto status, stat_entry(path));
    if (status && !S_ISREG(status->st_mode))
      return Error{Code::refused,
                   str("index ", quoted(path.string()),
                       S_ISLNK(status->st_mode)
                           ? " is a link, and only the store as a whole may be one: move the file "
                             "that it leads to back to its place"
                           : " is no regular file: move it away")};
  }
  return {};
}

struct Placed {
  std::filesystem::path file;
  Index::Journal journal = Index::Journal::wal;
};

// Where the index is and how it is kept: docs/store_format.md, "The index".
Result<Placed> place_index(const Layout& layout, Options::Disk disk) {
  Placed placed{.file = layout.root() / index_file_name(disk, host_name())};
  if (disk == Options::Disk::local)
    return placed;
  LYK_TRY_ASSIGN(const bool lockable, record_locks_work(layout.locks()));
  placed.journal = lockable ? Index::Journal::rollback : Index::Journal::memory;
  return placed;
}

}  // namespace

Result<void> Store::State::open_writable() {
  LYK_TRY(layout.create(options.root_mode));
  LYK_TRY_ASSIGN(const Options::Disk disk, disk_of_root());
  LYK_TRY_ASSIGN(const Placed placed, place_index(layout, disk));
  LYK_TRY(check_index_files(placed.file));
  index_is_complete = disk == Options::Disk::local;

  const bool rebuild = options.access == Options::Access::rebuild;
  LYK_TRY_ASSIGN(const Lock making, locks.lock(making_lock_name, short_wait()));
  if (!identity_of(placed.file))
    LYK_TRY(remove_companions(placed.file));
  auto opened = Index::open_writer(placed.file, placed.journal);
  if (opened && rebuild)
    if (auto sound = opened->check(); !sound)
      opened = std::move(sound).error();
  if (!opened && rebuild && opened.error().code == Code::corrupt_store) {
    LYK_TRY_ASSIGN(const auto alone, locks.try_lock(open_lock_name));
    if (!alone)
      return Error{Code::busy, "another process has it open: stop it first"};
    LYK_TRY(put_index_aside(placed.file));
    opened = Index::open_writer(placed.file, placed.journal);
  }
  LYK_TRY_ASSIGN(writer, std::move(opened));
  if (placed.journal != Index::Journal::memory) {
    LYK_TRY_ASSIGN(reader, Index::open_reader(placed.file));
  }
  LYK_TRY_ASSIGN(open_lock, locks.try_lock(open_lock_name, Lock::Strength::shared));
  opened_root = identity_of(layout.root());
  index_file = placed.file;
  if (placed.journal != Index::Journal::memory)
    opened_index = identity_of(index_file);
  return {};
}

Result<void> Store::State::open_read_only() {
  LYK_TRY(layout.check_owner());
  LYK_TRY(layout.check_folders());
  LYK_TRY_ASSIGN(const Options::Disk disk, disk_of_root());
  index_file = layout.root() / index_file_name(disk, host_name());
  LYK_TRY(check_index_files(index_file));
  reader_stamp = stamp_of(index_file);
  LYK_TRY_ASSIGN(reader, Index::open_read_only(index_file));
  opened_root = identity_of(layout.root());
  return {};
}

// Somebody else may write where we only read (a cache that is mounted read only into a container).
// An index that was opened as one that cannot change must then be opened anew.
Result<LockedIndex> Store::State::read() {
  if (!reader) {
    LYK_CHECK(writer.has_value());
    return LockedIndex{writer_mutex, *writer};
  }
  LockedIndex locked{reader_mutex, *reader};
  if (writer)
    return locked;
  const IndexStamp now = stamp_of(index_file);
  if (now != reader_stamp) {
    LYK_TRY_ASSIGN(Index anew, Index::open_read_only(index_file));
    *reader = std::move(anew);
    reader_stamp = now;
  }
  return locked;
}

bool Store::is_in_place() const {
  const State& state = *state_;
  const auto is_the_same = [&](const std::filesystem::path& path, const PathIdentity& opened) {
    const auto now = identity_of(path);
    // What lives on another machine may get other numbers from time to time.
    return now && (now == opened || !state.index_is_complete);
  };
  if (state.opened_root && !is_the_same(state.layout.root(), *state.opened_root))
    return false;
  if (state.opened_index && !is_the_same(state.index_file, *state.opened_index))
    return false;
  return !state.writer || state.layout.has_all_folders();
}

Result<Options::Disk> Store::State::disk_of_root() const {
  if (options.disk)
    return *options.disk;
  return disk_kind(layout.root());
}

Result<Store> Store::open(const Options& options) {
  auto state = std::make_unique<State>(options);
  state->bytes_max = options.bytes_max;
  const auto& root = state->layout.root();
  if (options.access == Options::Access::read_only) {
    state->read_only_reason = "asked for";
    if (auto opened = state->open_read_only(); !opened)
      return store_error(std::move(opened).error(), root);
    return Store{std::move(state)};
  }
  auto opened = state->open_writable();
  if (opened)
    return Store{std::move(state)};
  // What cannot be written may still be read: the files of a cache on a read-only mount are as good
  // as any. A full disk (no_space) is one of those cases too.
  const bool unwritable = opened.error().code == Code::io || opened.error().code == Code::no_space;
  if (options.access != Options::Access::prefer_read_write || !unwritable)
    return store_error(std::move(opened).error(), root);
  auto fallback = std::make_unique<State>(options);
  fallback->bytes_max = options.bytes_max;
  fallback->read_only_reason = opened.error().message;
  if (!fallback->open_read_only())
    return store_error(std::move(opened).error(), root);  // the first cause is the one to mend
  return Store{std::move(fallback)};
}

}  // namespace lyk::cache
