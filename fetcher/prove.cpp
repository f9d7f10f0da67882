#include "fetcher/prove.hpp"

#include <algorithm>

#include "fetcher/git_walk.hpp"
#include "fetcher/hub_paths.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

Listing listing_of_digests(const Pin& pin) {
  Listing listing;
  listing.kind = cache::ProofKind::digests;
  listing.variant_archs = pin.archs;
  for (const auto& [path, digest] : pin.digests)
    listing.files.push_back({path, cache::Proof{digest, std::nullopt, std::nullopt}});
  return listing;
}

Result<Listing> list_stored(const cache::Store& store, const Pin& pin, RepoType type) {
  LYK_TRY_ASSIGN(const GitStore objects, GitStore::open(store.git_path(type, pin.repo)));
  LYK_TRY_ASSIGN(Listing listing, list_commit(objects, pin));
  listing.type = type;
  return listing;
}

// Whether an error of reading objects speaks of damage on this disk. What a pack brings has the id
// that its content has, so a mismatch can only be old.
bool is_damage(const Error& error) {
  return error.code == Code::corrupt_store || error.code == Code::digest_mismatch;
}

// Fetches the commit and lists it, in a batch that uses or replaces what is there.
Result<Proven> fetch_listing(
    cache::Store& store, const Pin& pin, RepoType type, const GitWire& wire, GitBatch::Old old) {
  LYK_TRY_ASSIGN(GitBatch batch, GitBatch::open(store.git_path(type, pin.repo), wire, old));
  LYK_TRY(batch.fetch(pin.revision));
  LYK_TRY_ASSIGN(Listing listing, list_commit(batch.store(), pin));
  listing.type = type;
  return Proven{std::move(listing), std::move(batch)};
}

// Held while a repo's objects are fetched, so that one process fetches them and the others find
// them.
Result<std::optional<cache::Lock>> lock_repo(const cache::Store& store,
                                             const GitPlace& place,
                                             const Context& context) {
  if (context.settings.offline)
    return Error{Code::offline, str("its git objects are not here, and ", *context.settings.offline,
                                    " forbids to ask for them")};
  if (!store.writable())
    return Error{Code::io, store.read_only_reason()};
  const cache::LockWait wait{std::chrono::steady_clock::now() + limits::proof_lock_wait,
                             [&] { return context.cancel.stop_requested(); }};
  auto lock = store.lock(str("git:", name(place.type), ":", place.repo.text()), wait);
  if (lock)
    return std::optional{std::move(*lock)};
  if (lock.error().code != Code::busy)
    return std::move(lock).error();
  return std::optional<cache::Lock>{};  // the work is done twice then, and no harm comes of it
}

Result<Proven> prove_by_network(
    cache::Store& store, const Pin& pin, RepoType type, const Context& context, HttpClient& http) {
  LYK_TRY_ASSIGN(const auto lock, lock_repo(store, {type, pin.repo}, context));
  auto stored = list_stored(store, pin, type);  // another process may have been first
  if (stored)
    return Proven{std::move(*stored), std::nullopt};
  const GitWire wire{http, repo_url(context.settings.endpoint, type, pin.repo)};
  const bool damaged = is_damage(stored.error());
  auto proven = fetch_listing(store, pin, type, wire,
                              damaged ? GitBatch::Old::replaced : GitBatch::Old::used);
  const bool worth_another =
      !proven && !damaged &&
      (is_damage(proven.error()) || proven.error().code == Code::not_cached) &&
      GitStore::open(store.git_path(type, pin.repo)).has_value();
  if (worth_another)  // the old objects are damaged, or they promised the server what is not there
    proven = fetch_listing(store, pin, type, wire, GitBatch::Old::replaced);
  if (!proven && proven.error().code == Code::not_cached)
    return Error{Code::digest_mismatch,
                 str(wire.repo.redacted(),
                     ": the server's pack is not what the commit names: ", proven.error().message)};
  return proven;
}

struct Lack {
  RepoType type;
  Error error;
  int status;  // of the last answer, if an answer is why
};

// Whether the repo or the commit is simply not there for us, so that another pin can help.
bool is_absent(const Lack& lack) {
  return lack.error.code == Code::not_found || lack.status == 401 || lack.status == 403;
}

// One error for all types. Its code is that of the most telling one: a refusal of what came, then a
// plain "is not there", then a status.
Error combined(const Pin& pin, const std::vector<Lack>& lacks) {
  std::string text = str(pin.repo.text(), " at ", pin.revision.hex().substr(0, 12));
  const auto rank = [](const Lack& lack) {
    return !is_absent(lack) ? 0 : lack.error.code == Code::not_found ? 1 : 2;
  };
  const auto first = std::min_element(
      lacks.begin(), lacks.end(), [&](const Lack& a, const Lack& b) { return rank(a) < rank(b); });
  for (const Lack& lack : lacks)
    text +=
        str(&lack == &lacks.front() ? ": " : "; ", name(lack.type), " repo: ", lack.error.message);
  if (std::all_of(lacks.begin(), lacks.end(), is_absent))
    text += str("; for a new pin: libreyolo-kernels pin ", pin.slot.text(), " --repo ",
                pin.repo.text(), " --revision v1", pin.abi ? str(" --abi ", *pin.abi) : "");
  return Error{first->error.code, std::move(text)};
}

}  // namespace

Result<void> Proven::keep(const Pin& pin) {
  if (!objects)
    return {};
  LYK_TRY(objects->keep(pin.revision));
  objects.reset();
  return {};
}

Result<Listing> prove_offline(const cache::Store& store, const Pin& pin) {
  if (!pin.digests.empty())
    return listing_of_digests(pin);
  std::optional<Error> damage;
  for (const RepoType type : pin.repo_types) {
    auto listing = list_stored(store, pin, type);
    if (listing)
      return listing;
    if (listing.error().code != Code::not_cached)
      damage = std::move(listing).error();
  }
  if (damage)
    return std::move(*damage);
  return Error{Code::not_cached, str(pin.repo.text(), " at ", pin.revision.hex().substr(0, 12),
                                     ": its git objects are not here")};
}

Result<Proven> prove(cache::Store& store,
                     const Pin& pin,
                     const Context& context,
                     HttpClient& http) {
  if (auto listing = prove_offline(store, pin))
    return Proven{std::move(*listing), std::nullopt};
  if (context.progress)
    context.progress(Progress{});
  std::vector<Lack> lacks;
  for (const RepoType type : pin.repo_types) {
    http.forget_failure();
    auto proven = prove_by_network(store, pin, type, context, http);
    if (proven)
      return proven;
    lacks.push_back({type, std::move(proven).error(), http.last_failure().status});
    const Code code = lacks.back().error.code;
    if (code == Code::cancelled || code == Code::offline || code == Code::io)
      return annotate(lacks.back().error,
                      str(pin.repo.text(), " at ", pin.revision.hex().substr(0, 12)));
    if (!is_absent(lacks.back()))
      break;  // the same commit, or an endpoint in trouble, is no better for another type
  }
  return combined(pin, lacks);
}

Result<void> with_git_batch(cache::Store& store,
                            const GitPlace& place,
                            const Context& context,
                            HttpClient& http,
                            const BatchUse& use) {
  LYK_TRY_ASSIGN(const auto lock, lock_repo(store, place, context));
  GitWire wire{http, repo_url(context.settings.endpoint, place.type, place.repo)};
  LYK_TRY_ASSIGN(GitBatch batch, GitBatch::open(store.git_path(place.type, place.repo),
                                                std::move(wire), GitBatch::Old::used));
  return use(batch);
}

}  // namespace lyk::fetcher
