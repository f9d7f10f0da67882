// Keeping a store well: verification, removal, eviction, and what crashes left behind.
#include <algorithm>
#include <tuple>
#include <utility>

#include "cache/evict.hpp"
#include "cache/store_state.hpp"
#include "proto/text.hpp"

namespace lyk::cache {

namespace {

bool is_old(const struct stat& status, Time now) {
  return mtime_of(status) + limits::orphan_age <= now;
}

Result<void> collect_if_old(const std::filesystem::path& path, Time now, Orphans& orphans) {
  LYK_TRY_ASSIGN(const auto status, stat_entry(path));
  // No folder is ever ours here: what is in it is left to whoever made it.
  if (!status || S_ISDIR(status->st_mode) || !is_old(*status, now))
    return {};
  LYK_TRY(unlink_file(path));
  ++orphans.files;
  orphans.bytes += static_cast<std::uint64_t>(status->st_size);
  return {};
}

// `<expected>.<actual>`, as Layout::quarantine and quarantine_of_no_file write it.
std::optional<QuarantinedFile> parse_quarantined(const std::string& file_name) {
  const auto dot = file_name.find('.');
  if (dot == std::string::npos)
    return std::nullopt;
  const auto expected = Digest::parse(file_name.substr(0, dot));
  const std::string rest = file_name.substr(dot + 1);
  const auto actual = Digest::parse(rest);
  const bool known = actual || rest == "unreadable" || rest.starts_with("not-a-file-");
  if (!expected || !known)
    return std::nullopt;
  QuarantinedFile file;
  file.expected = *expected;
  if (actual)
    file.actual = *actual;
  return file;
}

Result<std::vector<QuarantinedFile>> list_quarantine(const Layout& layout) {
  std::vector<QuarantinedFile> out;
  const auto add = [&](const std::string& file_name) -> Result<void> {
    auto file = parse_quarantined(file_name);
    if (!file)
      return {};
    file->path = layout.quarantine() / file_name;
    LYK_TRY_ASSIGN(const auto status, stat_entry(file->path));
    if (status) {
      file->bytes = S_ISREG(status->st_mode) ? static_cast<std::uint64_t>(status->st_size) : 0;
      file->since = Time{std::chrono::seconds{status->st_ctim.tv_sec}};  // of the rename
      out.push_back(std::move(*file));
    }
    return {};
  };
  LYK_TRY(for_each_entry(layout.quarantine(), add));
  std::sort(out.begin(), out.end(), [](const QuarantinedFile& a, const QuarantinedFile& b) {
    return std::tie(b.since, a.path) < std::tie(a.since, b.path);
  });
  return out;
}

// Changed stat data first: of all hints the one that damage and foreign hands leave most often.
void order_by_suspicion(std::vector<BlobRow>& rows, const Layout& layout) {
  std::stable_partition(rows.begin(), rows.end(), [&](const BlobRow& row) {
    const auto status = stat_entry(layout.blob(row.blob.sha256));
    return !status || !*status || !S_ISREG((*status)->st_mode) || hint_of(**status) != row.stat ||
           static_cast<std::uint64_t>((*status)->st_size) != row.blob.bytes;
  });
}

}  // namespace

Result<std::optional<Time>> Store::State::last_use(const Digest& sha256) {
  LYK_TRY_ASSIGN(const LockedIndex index, read());
  return index->last_use(sha256);
}

Result<std::vector<BlobRow>> Store::State::rows_to_verify(const VerifyRequest& request) {
  LYK_TRY_ASSIGN(const LockedIndex index, read());
  LYK_TRY(index->check());
  auto listed = request.origin ? index->blobs(*request.origin) : index->blobs();
  LYK_TRY_ASSIGN(std::vector<BlobRow> rows, std::move(listed));
  std::erase_if(rows, [&](const BlobRow& row) { return row.verified >= request.verified_before; });
  return rows;
}

Result<void> Store::State::trim_quarantine() {
  LYK_TRY_ASSIGN(const auto files, list_quarantine(layout));
  for (std::size_t i = limits::quarantine_files_max; i < files.size(); ++i) {
    LYK_TRY_ASSIGN(const auto status, stat_entry(files[i].path));
    // A folder stays until somebody has looked into it: what is in it was never ours.
    if (status && !S_ISDIR(status->st_mode))
      LYK_TRY(unlink_file(files[i].path));
  }
  return {};
}

Result<std::vector<QuarantinedFile>> Store::quarantine() const {
  return list_quarantine(state_->layout);
}

Result<void> Store::record_use(const Digest& sha256, Time now) {
  if (!writable())
    return {};
  LYK_TRY_ASSIGN(const auto last, state_->last_use(sha256));
  if (last && *last + limits::use_granularity > now)
    return {};
  return state_->write()->record_use(sha256, now);
}

Result<Verdict> Store::verify(const Digest& sha256, Time now) {
  LYK_TRY_ASSIGN(const Checked checked, state_->check_blob(sha256, now));
  return checked.verdict;
}

Result<VerifyReport> Store::verify_all(const VerifyRequest& request,
                                       const VerifyCallback& progress,
                                       Time now) {
  LYK_TRY_ASSIGN(std::vector<BlobRow> rows, state_->rows_to_verify(request));
  order_by_suspicion(rows, state_->layout);

  VerifyProgress at{.files_total = rows.size()};
  for (const BlobRow& row : rows)
    at.bytes_total += row.blob.bytes;
  VerifyReport report;
  for (const BlobRow& row : rows) {
    if (progress && progress(at) == Continue::no)
      return Error{Code::cancelled, "verify: given up"};
    LYK_TRY_ASSIGN(Checked checked, state_->check_blob(row.blob.sha256, now));
    if (checked.verdict == Verdict::missing) {
      report.missing.push_back({std::move(checked.names), row.blob.sha256});
    } else {
      ++report.files;
      report.bytes += checked.bytes;
      if (checked.verdict == Verdict::damaged)
        report.damaged.push_back({std::move(checked.names), row.blob.sha256, checked.actual});
    }
    ++at.files_done;
    at.bytes_done += row.blob.bytes;
  }
  if (progress)
    (void)progress(at);  // all is done: there is nothing left to give up
  return report;
}

Result<Removed> Store::remove(const FileName& name) {
  LYK_TRY(state_->check_writable());
  LockedIndex index = state_->write();
  LYK_TRY_ASSIGN(Transaction transaction, index->begin());
  LYK_TRY_ASSIGN(const auto row, index->find(name));
  if (!row)
    return Removed{};
  LYK_TRY(index->drop_file(name));
  LYK_TRY_ASSIGN(const std::uint64_t bytes, state_->drop_if_nameless(index, *row));
  LYK_TRY(transaction.commit());
  return Removed{.files = 1, .bytes = bytes};
}

Result<Removed> Store::remove(const Origin& origin) {
  LYK_TRY_ASSIGN(const auto listed, files(origin));
  Removed all;
  for (const StoredFile& file : listed) {
    LYK_TRY_ASSIGN(const Removed one, remove(file.name));
    all.files += one.files;
    all.bytes += one.bytes;
  }
  return all;
}

Result<Removed> Store::prune(std::uint64_t bytes_max) {
  LYK_TRY(state_->check_writable());
  Removed all;
  const auto keep = state_->pinned_now();
  if (!keep)
    return all;
  LockedIndex index = state_->write();
  LYK_TRY_ASSIGN(const std::uint64_t stored, index->bytes());
  if (stored <= bytes_max)
    return all;
  LYK_TRY_ASSIGN(const auto candidates, index->eviction_candidates(*keep));
  for (const EvictionCandidate& candidate : plan_eviction(candidates, stored - bytes_max).evicted) {
    LYK_TRY_ASSIGN(const Removed one, state_->drop(index, candidate.blob));
    all.files += one.files;
    all.bytes += one.bytes;
  }
  return all;
}

Result<Orphans> Store::collect_orphans(Time now) {
  LYK_TRY(state_->check_writable());
  const Layout& layout = state_->layout;
  Orphans orphans;
  const auto temporary = [&](const std::string& file) {
    return collect_if_old(layout.tmp() / file, now, orphans);
  };
  const auto lock = [&](const std::string& file) -> Result<void> {
    LYK_TRY_ASSIGN(const auto status, stat_entry(layout.locks() / file));
    if (status && S_ISREG(status->st_mode) && is_old(*status, now))
      LYK_TRY(state_->locks.remove_if_free(file));
    return {};
  };
  const auto blob = [&](const Digest& sha256) -> Result<void> {
    LYK_TRY_ASSIGN(const auto known, state_->row_of(sha256));
    if (known)
      return {};
    LockedIndex index = state_->write();
    LYK_TRY_ASSIGN(const Transaction held, index->begin());  // nobody commits it meanwhile
    LYK_TRY_ASSIGN(const auto known_now, index->blob(sha256));
    return known_now ? Result<void>{} : collect_if_old(layout.blob(sha256), now, orphans);
  };
  LYK_TRY(for_each_entry(layout.tmp(), temporary));
  LYK_TRY(for_each_entry(layout.locks(), lock));
  // Where other hosts keep indexes of their own, a blob without a row may have one there.
  if (state_->index_is_complete && state_->pinned_now())
    LYK_TRY(for_each_blob_file(layout, blob));
  return orphans;
}

}  // namespace lyk::cache
