// Verify, Remove, Prune, RebuildIndex: what an administrator does to the store.
#include <chrono>
#include <utility>

#include "daemon/handlers.hpp"
#include "daemon/wire_values.hpp"
#include "fetcher/prove.hpp"
#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

using std::chrono::steady_clock;

// Whatever is in memory is proven, but after damage the next Resolve is to find out what is
// missing.
void forget_images(Service& service) {
  service.images.lock()->clear();
}

std::vector<wire::DamagedFile> to_wire_rows(const std::vector<cache::Damaged>& damaged) {
  std::vector<wire::DamagedFile> rows;
  for (const cache::Damaged& file : damaged)
    for (const cache::FileName& name : file.names)
      rows.push_back({.repo = name.origin.repo.text(),
                      .commit = name.origin.commit.hex(),
                      .path = name.path.text(),
                      .expected = file.expected.hex(),
                      .actual = file.actual ? file.actual->hex() : std::string{"unreadable"}});
  return rows;
}

std::vector<wire::MissingFile> to_wire_rows(const std::vector<cache::Missing>& missing) {
  std::vector<wire::MissingFile> rows;
  for (const cache::Missing& file : missing)
    for (const cache::FileName& name : file.names)
      rows.push_back({.repo = name.origin.repo.text(),
                      .commit = name.origin.commit.hex(),
                      .path = name.path.text()});
  return rows;
}

void record_damage(Service& service, const std::vector<cache::Damaged>& damaged) {
  if (damaged.empty())
    return;
  service.tally.lock()->counters.quarantined_files += damaged.size();
  for (const cache::Damaged& file : damaged)
    service.log().error(event::quarantine,
                        {{"file", service.log().shown(file.expected)},
                         {"actual", file.actual ? service.log().shown(*file.actual) : "unreadable"},
                         {"then", "the file is in the quarantine and is fetched again"}});
}

// Tells progress, and says no once nobody waits for the answer any more.
cache::VerifyCallback verify_progress(Call& call) {
  auto last_told = std::make_shared<steady_clock::time_point>();
  return [&call, last_told](const cache::VerifyProgress& progress) {
    const auto instant = steady_clock::now();
    if (instant - *last_told < limits::progress_period)
      return cache::Continue::yes;
    *last_told = instant;
    if (call.wants_progress()) {
      wire::VerifyReply reply;
      reply.progress = to_wire(progress);
      tell(call, wire::encode_reply(reply, wire::Continues::yes));
    }
    const bool goes_on = !is_gone(call.connection) && !call.service.stop_token().stop_requested();
    return goes_on ? cache::Continue::yes : cache::Continue::no;
  };
}

void add(cache::VerifyReport& total, cache::VerifyReport part) {
  total.files += part.files;
  total.bytes += part.bytes;
  std::move(part.damaged.begin(), part.damaged.end(), std::back_inserter(total.damaged));
  std::move(part.missing.begin(), part.missing.end(), std::back_inserter(total.missing));
}

// Everything, or the revisions of one pin.
Result<cache::VerifyReport> verify_asked(Call& call,
                                         cache::Store& store,
                                         const wire::VerifyCall& asked) {
  const cache::VerifyCallback progress = verify_progress(call);
  if (!asked.slot)
    return store.verify_all({.origin = std::nullopt}, progress, cache::now());
  call.error_fields.slot = asked.slot->text();
  LYK_TRY_ASSIGN(const fetcher::LoadedPin loaded,
                 Service::find_pin(*call.service.snapshot(), *asked.slot));
  cache::VerifyReport total;
  for (const RepoType type : loaded.pin.repo_types) {
    LYK_TRY_ASSIGN(
        cache::VerifyReport part,
        store.verify_all({.origin = origin_of(loaded.pin, type)}, progress, cache::now()));
    add(total, std::move(part));
  }
  return total;
}

// The names that a pin's files can have, as far as what is on this disk proves them.
void add_entries(const cache::Store& store,
                 const fetcher::Pin& pin,
                 std::vector<cache::Entry>& entries) {
  const auto listing = fetcher::prove_offline(store, pin);
  if (!listing)
    return;  // its git objects are not here: then no file of it is proven by them
  const RepoType type = listing->type.value_or(pin.repo_types.front());
  for (const fetcher::ListedFile& file : listing->files)
    entries.push_back(
        {.name = {origin_of(pin, type), file.path}, .proof = file.proof, .kind = listing->kind});
}

// Of the pins in force and those that are kept, and of the revisions that the old index still
// knows, without a pin.
Result<std::vector<cache::Entry>> known_entries(Service& service, const cache::Store& store) {
  std::vector<cache::Entry> entries;
  const std::shared_ptr<const Snapshot> snapshot = service.snapshot();
  for (const auto& [source, pin] : snapshot->kept.by_source)
    add_entries(store, pin, entries);
  const auto revisions = store.revisions();
  if (!revisions)
    return entries;  // that is why it is started anew
  for (const cache::StoredRevision& revision : *revisions) {
    if (names(snapshot->kept, revision.origin.repo, revision.origin.commit))
      continue;
    LYK_TRY_ASSIGN(SlotName nobody, SlotName::parse("unpinned"));
    add_entries(store,
                fetcher::Pin{.slot = std::move(nobody),
                             .repo = revision.origin.repo,
                             .repo_types = {revision.origin.type},
                             .revision = revision.origin.commit,
                             .license = {},
                             .abi = {},
                             .deterministic = {},
                             .is_public = false,
                             .variants = {},
                             .digests = {},
                             .archs = {}},
                entries);
  }
  return entries;
}

}  // namespace

Result<Answer> handle_verify(Call& call) {
  LYK_TRY_ASSIGN(const wire::VerifyCall asked,
                 wire::decode_parameters<wire::VerifyCall>(call.message));
  LYK_TRY_ASSIGN(const std::shared_ptr<cache::Store> store, call.service.store());
  LYK_TRY_ASSIGN(const cache::VerifyReport report, verify_asked(call, *store, asked));
  record_damage(call.service, report.damaged);
  if (!report.damaged.empty() || !report.missing.empty())
    forget_images(call.service);
  wire::VerifyReply reply;
  reply.files = report.files;
  reply.bytes = report.bytes;
  reply.damaged = to_wire_rows(report.damaged);
  reply.missing = to_wire_rows(report.missing);
  return Answer{wire::encode_reply(reply)};
}

Result<Answer> handle_remove(Call& call) {
  LYK_TRY_ASSIGN(const wire::RemoveCall asked,
                 wire::decode_parameters<wire::RemoveCall>(call.message));
  call.error_fields.slot = asked.slot.text();
  LYK_TRY_ASSIGN(const fetcher::LoadedPin loaded,
                 Service::find_pin(*call.service.snapshot(), asked.slot));
  LYK_TRY_ASSIGN(const std::shared_ptr<cache::Store> store, call.service.store());
  wire::RemoveReply reply;
  for (const RepoType type : loaded.pin.repo_types) {
    LYK_TRY_ASSIGN(const cache::Removed removed, store->remove(origin_of(loaded.pin, type)));
    reply.files += removed.files;
    reply.bytes += removed.bytes;
  }
  forget_images(call.service);
  call.service.log().info(event::store_changed, {{"by", "remove"},
                                                 {"slot", asked.slot.text()},
                                                 {"files", reply.files},
                                                 {"bytes", reply.bytes},
                                                 {"uid", call.connection.peer.uid}});
  return Answer{wire::encode_reply(reply)};
}

Result<Answer> handle_prune(Call& call) {
  LYK_TRY_ASSIGN(const wire::PruneCall asked,
                 wire::decode_parameters<wire::PruneCall>(call.message));
  LYK_TRY_ASSIGN(const std::shared_ptr<cache::Store> store, call.service.store());
  LYK_TRY_ASSIGN(const cache::Orphans orphans, store->collect_orphans(cache::now()));
  LYK_TRY_ASSIGN(const cache::Removed removed,
                 store->prune(asked.max_bytes.value_or(store->bytes_max())));
  LYK_TRY_ASSIGN(const cache::Stats stats, store->stats());
  const wire::PruneReply reply{.files = orphans.files + removed.files,
                               .bytes = orphans.bytes + removed.bytes,
                               .bytes_left = stats.bytes,
                               .refused = to_wire(call.service.snapshot()->pins.refused)};
  call.service.log().info(event::store_changed, {{"by", "prune"},
                                                 {"files", reply.files},
                                                 {"bytes", reply.bytes},
                                                 {"uid", call.connection.peer.uid}});
  return Answer{wire::encode_reply(reply)};
}

Result<Answer> handle_rebuild_index(Call& call) {
  LYK_TRY_ASSIGN([[maybe_unused]] const wire::RebuildIndexCall asked,
                 wire::decode_parameters<wire::RebuildIndexCall>(call.message));
  LYK_TRY_ASSIGN(const std::shared_ptr<cache::Store> store, call.service.store_to_rebuild());
  LYK_TRY_ASSIGN(const std::vector<cache::Entry> known, known_entries(call.service, *store));
  LYK_TRY_ASSIGN(const cache::Rebuilt rebuilt, store->rebuild_index(known, cache::now()));
  record_damage(call.service, rebuilt.damaged);
  forget_images(call.service);
  call.service.log().info(event::store_changed, {{"by", "rebuild_index"},
                                                 {"files", rebuilt.files},
                                                 {"images", rebuilt.images},
                                                 {"unknown_blobs", rebuilt.unknown_blobs},
                                                 {"uid", call.connection.peer.uid}});
  return Answer{wire::encode_reply(wire::RebuildIndexReply{
      .files = rebuilt.files, .images = rebuilt.images, .revisions = rebuilt.revisions})};
}

}  // namespace lyk::daemon
