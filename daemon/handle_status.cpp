// Pins and Status: what is in force, and how it is going.
#include <unistd.h>

#include <utility>

#include "daemon/handlers.hpp"
#include "daemon/wire_values.hpp"

namespace lyk::daemon {
namespace {

// What the store has of the pin: images of the first repo type that has any.
Result<std::uint64_t> images_of(const cache::Store& store, const fetcher::Pin& pin) {
  for (const RepoType type : pin.repo_types) {
    LYK_TRY_ASSIGN(const std::optional<cache::StoredRevision> revision,
                   store.revision(origin_of(pin, type)));
    if (revision && revision->images > 0)
      return revision->images;
  }
  return std::uint64_t{0};
}

Result<wire::SlotStatus> slot_status(Service& service,
                                     const cache::Store& store,
                                     const fetcher::Pin& pin) {
  wire::SlotStatus out;
  out.slot = pin.slot.text();
  out.repo = pin.repo.text();
  out.commit = pin.revision.hex();
  LYK_TRY_ASSIGN(out.images, images_of(store, pin));
  std::optional<std::string> failure;
  {
    const auto tally = service.tally.lock();
    if (const auto found = tally->failures.find(out.slot); found != tally->failures.end())
      failure = found->second;
  }
  if (service.flights.is_running(out.slot))
    out.state = wire::SlotState::fetching;
  else if (failure)
    out.state = wire::SlotState::failed;
  else
    out.state = out.images > 0 ? wire::SlotState::cached : wire::SlotState::not_cached;
  out.reason = std::move(failure);
  return out;
}

Result<wire::StoreStatus> store_status(const cache::Store& store) {
  LYK_TRY_ASSIGN(const cache::Stats stats, store.stats());
  return wire::StoreStatus{.path = store.root().string(),
                           .writable = store.writable(),
                           .bytes = stats.bytes,
                           .bytes_max = store.bytes_max(),
                           .files = stats.files,
                           .images = stats.images,
                           .quarantined = stats.quarantined};
}

wire::Counters counters_now(Service& service) {
  wire::Counters counters = service.tally.lock()->counters;
  const auto images = service.images.lock();
  counters.images_in_memory = images->images();
  counters.images_in_memory_bytes = images->bytes();
  return counters;
}

}  // namespace

Result<Answer> handle_pins(Call& call) {
  LYK_TRY_ASSIGN([[maybe_unused]] const wire::PinsCall asked,
                 wire::decode_parameters<wire::PinsCall>(call.message));
  const std::shared_ptr<const Snapshot> snapshot = call.service.snapshot();
  wire::PinsReply reply;
  for (const auto& [slot, loaded] : snapshot->pins.pins)
    reply.pins.push_back(to_wire(loaded));
  reply.refused = to_wire(snapshot->pins.refused);
  return Answer{wire::encode_reply(reply)};
}

Result<Answer> handle_status(Call& call) {
  LYK_TRY_ASSIGN([[maybe_unused]] const wire::StatusCall asked,
                 wire::decode_parameters<wire::StatusCall>(call.message));
  Service& service = call.service;
  const std::shared_ptr<const Snapshot> snapshot = service.snapshot();
  LYK_TRY_ASSIGN(const std::shared_ptr<cache::Store> store, service.store());
  wire::StatusReply reply;
  reply.version = LYK_VERSION;
  reply.mode = service.household().mode;
  reply.pid = ::getpid();
  reply.uptime_s = service.uptime_s();
  reply.endpoint = snapshot->settings.endpoint.redacted();
  reply.offline = snapshot->settings.offline.has_value();
  LYK_TRY_ASSIGN(reply.store, store_status(*store));
  for (const auto& [slot, loaded] : snapshot->pins.pins) {
    LYK_TRY_ASSIGN(wire::SlotStatus status, slot_status(service, *store, loaded.pin));
    reply.slots.push_back(std::move(status));
  }
  reply.counters = counters_now(service);
  reply.refused = to_wire(snapshot->pins.refused);
  return Answer{wire::encode_reply(reply)};
}

}  // namespace lyk::daemon
