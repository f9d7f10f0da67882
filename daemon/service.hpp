// What all connections share: configuration and pins, the store, images in memory, fetches,
// counters.
//
// Configuration and pins are one immutable Snapshot, replaced as a whole by `reload`; a request
// works with the one that it took. The store is opened at the first need and tried again at every
// later one, so a disk that comes late or an index that has to be rebuilt does not need a restart
// of the daemon.
//
// Thread rule: any thread. Locks, in this order: a lookup turn, store_, snapshot_, images, tally.
// Flights have their own and call nothing of ours under them.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "cache/store.hpp"
#include "daemon/config.hpp"
#include "daemon/flights.hpp"
#include "daemon/guarded.hpp"
#include "daemon/image_cache.hpp"
#include "daemon/kept_pins.hpp"
#include "daemon/log.hpp"
#include "daemon/peer.hpp"
#include "fetcher/pin_set.hpp"
#include "fetcher/settings.hpp"
#include "proto/methods.hpp"

namespace lyk::daemon {

struct Snapshot {
  Config config;
  fetcher::Settings settings;
  fetcher::PinSet pins;
  KeptPins kept;
};

// Everything that counts, and why the last fetch of a slot failed.
struct Tally {
  wire::Counters counters;
  std::map<std::string, std::string> failures;
};

class Service {
public:
  struct Setup {
    Household household;
    Places places;
    fetcher::Environment environment;
    Log log{2, Level::info};
    std::size_t fetches_per_uid_max = limits::fetches_per_uid_max;
  };

  // Reads configuration and pins. A pin that is refused is logged and does not stop the others.
  static Result<std::unique_ptr<Service>> open(Setup setup);

  // Reads configuration and pins again. After an error everything is as it was.
  Result<void> reload();

  std::shared_ptr<const Snapshot> snapshot();
  // An error only if it cannot be opened now. One that was taken away meanwhile is opened anew.
  Result<std::shared_ptr<cache::Store>> store();
  // The same for starting the index anew: one that cannot be read is put aside.
  Result<std::shared_ptr<cache::Store>> store_to_rebuild();

  // The pin in force of a slot. not_pinned: none, with the nearest slot that has one;
  // invalid_argument: its file was refused, with the reason.
  static Result<fetcher::LoadedPin> find_pin(const Snapshot& snapshot, const SlotName& slot);

  // One lock each, taken alone.
  Guarded<ImageCache> images;
  Guarded<Tally> tally;
  Flights flights;

  // One thread at a time looks a wanted thing up in the store: those behind it then find it in
  // memory, or its flight running, and a thousand that come at once do not all search. Held over
  // reading the disk, never over the network. Things may share a turn.
  std::mutex& lookup_turn(const std::string& flight_key);

  const Log& log() const { return setup_.log; }
  const Household& household() const { return setup_.household; }
  std::uint64_t uptime_s() const;

  // Set when the time for running requests is over.
  std::stop_token stop_token() const { return stop_.get_token(); }
  void request_stop() { (void)stop_.request_stop(); }  // false: asked before

private:
  explicit Service(Setup setup);
  Result<Snapshot> load() const;
  void put_in_force(Snapshot snapshot);
  Result<std::shared_ptr<cache::Store>> open_store(cache::Options::Access access);

  const Setup setup_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::stop_source stop_;
  std::array<std::mutex, 16> lookup_turns_;
  Guarded<std::shared_ptr<cache::Store>> store_;
  Guarded<std::shared_ptr<const Snapshot>> snapshot_;
};

// The revision of a pin under one of its repo types.
cache::Origin origin_of(const fetcher::Pin& pin, RepoType type);

}  // namespace lyk::daemon
