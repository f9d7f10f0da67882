// Plans of flights: one fetch of one pin, with its log lines and counters.
// Thread rule: any thread; the work runs on the flight's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cache/store.hpp"
#include "daemon/flights.hpp"
#include "daemon/service.hpp"
#include "fetcher/pin.hpp"

namespace lyk::daemon {

enum class Reach { network, offline };

struct FetchOrder {
  fetcher::Pin pin;
  std::vector<Device> devices;  // empty: every architecture
  Reach reach = Reach::network;
  uid_t uid = 0;
};

// Orders for the same pin, devices and reach share one flight.
std::string flight_key(const FetchOrder& order);
FlightPlan plan_fetch(Service& service,
                      std::shared_ptr<cache::Store> store,
                      const Snapshot& snapshot,
                      FetchOrder order);

// The settings of a fetch of this reach.
fetcher::Settings settings_for(const Snapshot& snapshot, Reach reach);

// Runs one fetch here and now: what a flight does.
FlightResult run_fetch(Service& service,
                       cache::Store& store,
                       const fetcher::Pin& pin,
                       fetcher::FetchOptions options);

}  // namespace lyk::daemon
