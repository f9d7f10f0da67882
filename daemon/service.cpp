#include "daemon/service.hpp"

#include <functional>
#include <utility>

#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

void tell_pinned(cache::Store& store, const KeptPins& kept) {
  if (auto pinned = pinned_revisions(kept))
    store.set_pinned(std::move(*pinned));
  else
    store.pin_everything();
}

}  // namespace

cache::Origin origin_of(const fetcher::Pin& pin, RepoType type) {
  return cache::Origin{.type = type, .repo = pin.repo, .commit = pin.revision};
}

Service::Service(Setup setup)
    : images(ImageCache(limits::image_cache_bytes_max_default)),
      flights(setup.fetches_per_uid_max),
      setup_(std::move(setup)) {}

Result<std::unique_ptr<Service>> Service::open(Setup setup) {
  std::unique_ptr<Service> service{new Service(std::move(setup))};
  LYK_TRY(service->reload());
  return service;
}

Result<void> Service::reload() {
  LYK_TRY_ASSIGN(Snapshot fresh, load());
  const std::shared_ptr<const Snapshot> before = snapshot();
  fresh.kept = keep_pins(fresh.pins, before ? before->kept : KeptPins{});
  for (const fetcher::RefusedPin& refused : fresh.pins.refused)
    log().warning(event::pin_refused, {{"source", refused.source},
                                       {"error", refused.error.message},
                                       {"then",
                                        "what it pins is out of force, and not evicted, until it "
                                        "is mended"}});
  put_in_force(std::move(fresh));
  return {};
}

Result<Snapshot> Service::load() const {
  const Places& places = setup_.places;
  const Household& household = setup_.household;
  LYK_TRY_ASSIGN(Config config,
                 load_config(places.config, places.missing_config, household.own_uid));
  LYK_TRY_ASSIGN(fetcher::Settings settings,
                 settings_of(household.mode, setup_.environment, config, places.config));
  return Snapshot{std::move(config), std::move(settings), fetcher::load_pins(places.pins), {}};
}

void Service::put_in_force(Snapshot snapshot) {
  auto fresh = std::make_shared<const Snapshot>(std::move(snapshot));
  {
    const auto store = store_.lock();
    if (*store) {
      (*store)->set_bytes_max(fresh->config.cache_bytes_max);
      tell_pinned(**store, fresh->kept);
    }
    *snapshot_.lock() = fresh;
  }
  const auto cache = images.lock();
  cache->clear();
  cache->set_bytes_max(fresh->config.image_cache_bytes_max);
}

std::shared_ptr<const Snapshot> Service::snapshot() {
  return *snapshot_.lock();
}

Result<std::shared_ptr<cache::Store>> Service::store() {
  return open_store(cache::Options::Access::prefer_read_write);
}

Result<std::shared_ptr<cache::Store>> Service::store_to_rebuild() {
  return open_store(cache::Options::Access::rebuild);
}

Result<std::shared_ptr<cache::Store>> Service::open_store(cache::Options::Access access) {
  const auto store = store_.lock();
  if (*store && access != cache::Options::Access::rebuild) {
    if ((*store)->is_in_place())
      return *store;
    log().warning(event::store_gone, {{"path", setup_.places.cache.string()},
                                      {"then", "it is opened anew, with what is there now"}});
  }
  store->reset();
  const std::shared_ptr<const Snapshot> current = snapshot();
  cache::Options options;
  options.root = setup_.places.cache;
  options.bytes_max = current->config.cache_bytes_max;
  options.access = access;
  LYK_TRY_ASSIGN(cache::Store opened, cache::Store::open(options));
  tell_pinned(opened, current->kept);
  *store = std::make_shared<cache::Store>(std::move(opened));
  return *store;
}

Result<fetcher::LoadedPin> Service::find_pin(const Snapshot& snapshot, const SlotName& slot) {
  if (const fetcher::LoadedPin* loaded = snapshot.pins.find(slot))
    return *loaded;
  if (const fetcher::RefusedPin* refused = snapshot.pins.find_refused(slot))
    return Error{Code::invalid_argument, str("slot ", quoted(slot.text()),
                                             ": its pin is refused: ", refused->error.message)};
  std::vector<std::string_view> known;
  for (const auto& [name, loaded] : snapshot.pins.pins)
    known.push_back(name.text());
  const std::string_view near = nearest(slot.text(), known);
  return Error{
      Code::not_pinned,
      str("slot ", quoted(slot.text()), ": no pin names it",
          near.empty() ? std::string{"; `libreyolo-kernels pins` shows those that there are"}
                       : str("; did you mean ", quoted(near), "?"))};
}

std::mutex& Service::lookup_turn(const std::string& flight_key) {
  return lookup_turns_[std::hash<std::string>{}(flight_key) % lookup_turns_.size()];
}

std::uint64_t Service::uptime_s() const {
  const auto up = std::chrono::steady_clock::now() - started_;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(up).count());
}

}  // namespace lyk::daemon
