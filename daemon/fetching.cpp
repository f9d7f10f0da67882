#include "daemon/fetching.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

std::int64_t milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               start)
      .count();
}

void record_success(Service& service,
                    const fetcher::Pin& pin,
                    const fetcher::FetchReport& report,
                    std::int64_t elapsed_ms) {
  {
    const auto tally = service.tally.lock();
    ++tally->counters.fetches_done;
    tally->counters.fetched_bytes += report.downloaded_bytes;
    tally->counters.adopted_bytes += report.adopted_bytes;
    tally->failures.erase(pin.slot.text());
  }
  for (const std::string& warning : report.warnings)
    service.log().warning(event::fetch_warning, {{"slot", pin.slot.text()},
                                                 {"warning", warning},
                                                 {"then", "the files were proven all the same"}});
  service.log().info(event::fetch_done, {{"slot", pin.slot.text()},
                                         {"repo", pin.repo.text()},
                                         {"commit", pin.revision.hex()},
                                         {"proof", cache::name(report.proof)},
                                         {"files", report.files.size()},
                                         {"downloaded_bytes", report.downloaded_bytes},
                                         {"adopted_bytes", report.adopted_bytes},
                                         {"ms", elapsed_ms}});
}

void record_failure(Service& service,
                    const fetcher::Pin& pin,
                    const Error& error,
                    std::int64_t elapsed_ms) {
  {
    const auto tally = service.tally.lock();
    ++tally->counters.fetches_failed;
    if (error.code != Code::cancelled)
      tally->failures[pin.slot.text()] = error.message;
  }
  service.log().warning(event::fetch_failed,
                        {{"slot", pin.slot.text()},
                         {"repo", pin.repo.text()},
                         {"code", info(error.code).name},
                         {"error", error.message},
                         {"ms", elapsed_ms},
                         {"then", "the next request for the slot tries again"}});
}

}  // namespace

std::string flight_key(const FetchOrder& order) {
  std::string key = order.reach == Reach::offline ? "offline\n" : "network\n";
  std::vector<Device> devices = order.devices;
  std::sort(devices.begin(), devices.end());
  for (const Device& device : devices)
    key += str(device.arch.sm(), device.tegra ? " tegra " : " ",
               device.driver ? device.driver->text() : "any", ' ');
  return key + '\n' + order.pin.format();
}

fetcher::Settings settings_for(const Snapshot& snapshot, Reach reach) {
  fetcher::Settings settings = snapshot.settings;
  if (reach == Reach::offline && !settings.offline)
    settings.offline = "the request says offline";
  return settings;
}

FlightResult run_fetch(Service& service,
                       cache::Store& store,
                       const fetcher::Pin& pin,
                       fetcher::FetchOptions options) {
  const auto start = std::chrono::steady_clock::now();
  ++service.tally.lock()->counters.fetches_started;
  service.log().info(
      event::fetch_start,
      {{"slot", pin.slot.text()}, {"repo", pin.repo.text()}, {"commit", pin.revision.hex()}});
  FlightResult result = fetcher::fetch(store, pin, std::move(options));
  if (result)
    record_success(service, pin, *result, milliseconds_since(start));
  else
    record_failure(service, pin, result.error(), milliseconds_since(start));
  if (result && result->downloaded_bytes > 0)
    // Housekeeping: whoever asks for Prune hears its errors.
    (void)store.collect_orphans(cache::now());
  return result;
}

FlightPlan plan_fetch(Service& service,
                      std::shared_ptr<cache::Store> store,
                      const Snapshot& snapshot,
                      FetchOrder order) {
  FlightPlan plan{
      .key = flight_key(order), .slot = order.pin.slot.text(), .uid = order.uid, .work = nullptr};
  plan.work = [&service, store = std::move(store), settings = settings_for(snapshot, order.reach),
               pin = std::move(order.pin), devices = std::move(order.devices)](
                  const fetcher::ProgressCallback& progress, const fetcher::CancelToken& cancel) {
    fetcher::Context context{
        .settings = settings, .progress = progress, .cancel = cancel, .pause = {}};
    return run_fetch(service, *store, pin, {.context = std::move(context), .devices = devices});
  };
  return plan;
}

}  // namespace lyk::daemon
