#include "fetcher/fetch.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "cache/hub_cache.hpp"
#include "fetcher/download.hpp"
#include "fetcher/wanted.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

using Clock = std::chrono::steady_clock;

// A Hub cache has something in one of the file's places: worth hashing, and worth a word.
bool may_be_in(const std::filesystem::path& hub_cache, const cache::Entry& entry) {
  const auto places = cache::hub_cache_places(hub_cache, entry);
  return std::any_of(places.begin(), places.end(), [](const std::filesystem::path& place) {
    std::error_code ignored;  // what cannot be looked at is not there for us
    return std::filesystem::exists(place, ignored);
  });
}

// Tells progress: every change of step and file, and bytes not oftener than people can read them.
class Teller {
public:
  Teller(const ProgressCallback& callback, const std::vector<ListedFile>& files)
      : callback_(callback) {
    progress_.files_total = files.size();
    for (const ListedFile& file : files)
      progress_.bytes_total += file.proof.bytes.value_or(0);
  }

  void begin(const ListedFile& file) {
    file_ = file.path.text();
    has_size_ = file.proof.bytes.has_value();
  }

  void step(Step step, const Arrival& arrival = {}) {
    const bool changed = step != progress_.step || file_ != progress_.file;
    progress_.step = step;
    progress_.file = file_;
    progress_.bytes_done = bytes_before_ + arrival.bytes;
    if (!has_size_ && arrival.bytes_total)
      count_in(*arrival.bytes_total);
    if (changed || Clock::now() - told_ >= limits::progress_interval)
      tell();
  }

  // A file that was here already has had no step, and is counted without being named.
  void end(std::uint64_t file_bytes) {
    if (!has_size_)
      count_in(file_bytes);
    counted_bytes_ = 0;
    bytes_before_ += file_bytes;
    progress_.bytes_done = bytes_before_;
    ++progress_.files_done;
    tell();
  }

private:
  // Of a file whose proof says no size: as announced last, then as it is.
  void count_in(std::uint64_t file_bytes) {
    progress_.bytes_total = progress_.bytes_total - counted_bytes_ + file_bytes;
    counted_bytes_ = file_bytes;
  }

  void tell() {
    told_ = Clock::now();
    if (callback_)
      callback_(progress_);
  }

  const ProgressCallback& callback_;
  Progress progress_;
  std::string file_;
  bool has_size_ = true;
  std::uint64_t counted_bytes_ = 0;  // of the file in hand, where its proof says no size
  std::uint64_t bytes_before_ = 0;   // of the files that are done
  Clock::time_point told_;
};

class Fetch {
public:
  Fetch(cache::Store& store, const Pin& pin, const Context& context, HttpClient& http)
      : store_(store), pin_(pin), context_(context), http_(http) {}

  Result<FetchReport> run(std::span<const Device> devices) {
    LYK_TRY_ASSIGN(Proven proven, prove(store_, pin_, context_, http_));
    const Listing& listing = proven.listing;
    LYK_TRY_ASSIGN(const std::vector<ListedFile> files, choose_wanted(listing, pin_, devices));
    kind_ = listing.kind;
    types_ = listing.type ? std::vector{*listing.type} : pin_.repo_types;
    FetchReport report{origin(types_.front()), kind_, cache::Visibility::open, {}, 0, 0, {}, {}};
    Teller teller{context_.progress, files};
    for (const ListedFile& file : files) {
      teller.begin(file);
      auto fetched = take(file, teller);
      if (!fetched)
        return annotate(std::move(fetched).error(), quoted(file.path.text()));
      LYK_TRY(proven.keep(pin_));
      teller.end(fetched->blob.bytes);
      count(report, std::move(*fetched));
    }
    report.origin = origin(types_.front());
    report.visibility = visibility_.value_or(cache::Visibility::open);
    report.warnings = http_.warnings();
    for (const FetchedFile& file : report.files)
      if (const auto hint = listing.variant_archs.find(variant_of(file.path));
          hint != listing.variant_archs.end())
        report.archs.insert(*hint);
    return report;
  }

private:
  cache::Origin origin(RepoType type) const { return {type, pin_.repo, pin_.revision}; }

  cache::Entry entry(const ListedFile& file, RepoType type) const {
    return {{origin(type), file.path},
            file.proof,
            kind_,
            visibility_.value_or(cache::Visibility::open)};
  }

  static void count(FetchReport& report, FetchedFile file) {
    if (file.source == Source::downloaded)
      report.downloaded_bytes += file.blob.bytes;
    if (file.source == Source::adopted)
      report.adopted_bytes += file.blob.bytes;
    report.files.push_back(std::move(file));
  }

  // The store under this name, the store under another one, a Hub cache, the network: in this
  // order.
  Result<FetchedFile> take(const ListedFile& file, Teller& teller) {
    LYK_TRY_ASSIGN(std::optional<cache::Blob> blob, find(file));
    if (blob)
      return FetchedFile{file.path, *blob, Source::stored};
    if (!store_.writable())
      return Error{Code::io, store_.read_only_reason()};
    if (context_.cancel.stop_requested())
      return Error{Code::cancelled, "stopped"};
    LYK_TRY_ASSIGN(const std::optional<cache::Lock> lock, lock_file(file, teller));
    LYK_TRY_ASSIGN(blob, find(file));  // another process may have been first
    if (blob)
      return FetchedFile{file.path, *blob, Source::stored};
    decide_visibility(file);
    LYK_TRY_ASSIGN(blob, store_.link(entry(file, types_.front()), cache::now()));
    if (blob)
      return FetchedFile{file.path, *blob, Source::stored};
    LYK_TRY_ASSIGN(blob, adopt(file, teller));
    if (blob)
      return FetchedFile{file.path, *blob, Source::adopted};
    if (context_.settings.offline)
      return Error{Code::offline, str("it is not here, and ", *context_.settings.offline,
                                      " forbids to ask for it")};
    LYK_TRY_ASSIGN(const cache::Blob downloaded, download_any_type(file, teller));
    return FetchedFile{file.path, downloaded, Source::downloaded};
  }

  Result<std::optional<cache::Blob>> find(const ListedFile& file) {
    for (const RepoType type : types_) {
      LYK_TRY_ASSIGN(const std::optional<cache::Blob> blob,
                     store_.find({origin(type), file.path}, &file.proof));
      if (blob) {
        settle(type);
        return blob;
      }
    }
    return std::optional<cache::Blob>{};
  }

  // Only with a proof by digests is the type open until the first file is found.
  void settle(RepoType type) { types_ = {type}; }

  // One process downloads a file; the others wait and find it.
  Result<std::optional<cache::Lock>> lock_file(const ListedFile& file, Teller& teller) {
    const std::string lock_name =
        file.proof.sha256 ? file.proof.sha256->hex() : file.proof.git_blob->hex();
    LYK_TRY_ASSIGN(std::optional<cache::Lock> lock, store_.try_lock(lock_name));
    if (lock)
      return lock;
    teller.step(Step::waiting);
    const cache::LockWait wait{Clock::now() + limits::lock_wait_max,
                               [&] { return context_.cancel.stop_requested(); }};
    auto waited = store_.lock(lock_name, wait);
    if (waited)
      return std::optional{std::move(*waited)};
    if (waited.error().code != Code::busy)
      return std::move(waited).error();
    return std::optional<cache::Lock>{};  // the work is done twice then
  }

  // What came without a token is open. With one, the first file that is not here decides.
  void decide_visibility(const ListedFile& file) {
    if (visibility_)
      return;
    const auto is_open = [&](RepoType type) {
      return visibility_of({origin(type), file.path}, context_) == cache::Visibility::open;
    };
    const bool open = !http_.has_token() || (!context_.settings.offline &&
                                             std::any_of(types_.begin(), types_.end(), is_open));
    visibility_ = open ? cache::Visibility::open : cache::Visibility::gated;
  }

  Result<std::optional<cache::Blob>> adopt(const ListedFile& file, Teller& teller) {
    for (const std::filesystem::path& folder : context_.settings.hf_caches)
      for (const RepoType type : types_) {
        const cache::Entry wanted = entry(file, type);
        if (!may_be_in(folder, wanted))
          continue;
        teller.step(Step::adopting);
        LYK_TRY_ASSIGN(const std::optional<cache::Blob> blob,
                       store_.adopt(wanted, folder, cache::now()));
        if (blob) {
          settle(type);
          return blob;
        }
      }
    return std::optional<cache::Blob>{};
  }

  Result<cache::Blob> download_any_type(const ListedFile& file, Teller& teller) {
    std::optional<Error> lacks;
    for (const RepoType type : std::vector{types_}) {
      teller.step(Step::downloading);
      const Download wanted{entry(file, type), [&](const Arrival& arrival) {
                              teller.step(Step::downloading, arrival);
                            }};
      auto blob = download(store_, wanted, context_, http_);
      if (blob) {
        settle(type);
        return blob;
      }
      Error error = std::move(blob).error();
      if (types_.size() == 1)
        return error;
      const bool other_type_may_have_it =
          error.code == Code::not_found || error.code == Code::remote_status;
      if (!other_type_may_have_it)
        return annotate(std::move(error), str(name(type), " repo"));
      error.message = str(name(type), " repo: ", error.message);
      if (lacks)
        lacks->message += "; " + error.message;
      else
        lacks = std::move(error);
    }
    LYK_CHECK(lacks.has_value());
    return std::move(*lacks);
  }

  cache::Store& store_;
  const Pin& pin_;
  const Context& context_;
  HttpClient& http_;
  cache::ProofKind kind_ = cache::ProofKind::git;
  std::vector<RepoType> types_;  // that the commit may be of; one once that is known
  std::optional<cache::Visibility> visibility_;
};

}  // namespace

Result<FetchReport> fetch(cache::Store& store, const Pin& pin, FetchOptions options) {
  LYK_TRY_ASSIGN(HttpClient http, HttpClient::open(options.context));
  return Fetch{store, pin, options.context, http}.run(options.devices);
}

}  // namespace lyk::fetcher
