// Resolve: memory, then the store, then a fetch that others may be waiting for too.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "daemon/fetching.hpp"
#include "daemon/handlers.hpp"
#include "daemon/preparing.hpp"
#include "daemon/stored_image.hpp"
#include "daemon/waiting.hpp"
#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What memory has for the call, and when it was looked at.
struct Warm {
  std::shared_ptr<const ResolvedImage> resolved;
  std::uint64_t generation = 0;
};

enum class Memory { asked, passed_over };

// A description is not kept: it is asked for by people, and large. Nor is what a pin in force does
// not name.
Memory memory_for(Kernels kernels, PinOrigin origin) {
  return kernels == Kernels::described || origin == PinOrigin::of_the_call ? Memory::passed_over
                                                                           : Memory::asked;
}

Warm find_warm(Service& service, const ImageKey& key, Memory memory) {
  const auto images = service.images.lock();
  return {.resolved = memory == Memory::passed_over ? nullptr : images->find(key),
          .generation = images->generation()};
}

Warm find_warm(Service& service, const Wanted& wanted) {
  return find_warm(service, wanted.key, memory_for(wanted.kernels, wanted.origin));
}

// The pin in force, or the one that the call brings along.
Result<fetcher::LoadedPin> pin_of(const Call& call,
                                  const Snapshot& snapshot,
                                  const wire::ResolveCall& asked) {
  if (!asked.pin)
    return Service::find_pin(snapshot, asked.slot);
  LYK_TRY_ASSIGN(fetcher::LoadedPin loaded,
                 inline_pin(call, Method::resolve_inline_pin, {*asked.pin, asked.pin_name}));
  if (loaded.pin.slot != asked.slot)
    return Error{Code::invalid_argument,
                 str(loaded.source, ": it pins slot ", quoted(loaded.pin.slot.text()), ", not ",
                     quoted(asked.slot.text()))};
  return loaded;
}

void log_hand_out(const Call& call, const ImageKey& key, const Digest& image) {
  call.service.log().info(event::resolve_done, {{"slot", key.slot},
                                                {"device", key.device.arch.capability()},
                                                {"image", call.service.log().shown(image)},
                                                {"uid", call.connection.peer.uid},
                                                {"pid", call.connection.peer.pid},
                                                {"conn", call.connection.number}});
}

Error gated_refusal(const std::string& slot) {
  return Error{Code::refused,
               str("slot ", quoted(slot),
                   ": its files come from a gated repo; they are for the service's own user ",
                   "until the pin says `public = true`")};
}

Result<Answer> hand_out(Call& call,
                        std::shared_ptr<const ResolvedImage> resolved,
                        const ImageKey& key) {
  if (resolved->is_gated && !may_see_gated(call.connection.peer, call.service.household()))
    return gated_refusal(key.slot);
  if (call.connection.handed_out.insert(key.slot).second)
    log_hand_out(call, key, resolved->image->sha256);
  return Answer{.text = {}, .resolved = std::move(resolved)};
}

Error no_image(Call& call, const Wanted& wanted, const StoredChoice& stored) {
  call.error_fields.refused = refusals(stored);
  return Error{Code::no_image, str("slot ", quoted(wanted.key.slot), ": no image for ",
                                   wanted.key.device.arch.capability(), ": ", explain(stored))};
}

// The answer of the store alone. Empty: it has not everything, a fetch may bring it.
Result<std::optional<Answer>> answer_from_store(Call& call, const Wanted& wanted) {
  LYK_TRY_ASSIGN(const StoredChoice stored,
                 choose_stored(*wanted.store, wanted.pin.pin, wanted.key.device));
  if (!stored.is_complete)
    return std::optional<Answer>{};
  if (stored.chosen() == nullptr)
    return no_image(call, wanted, stored);
  LYK_TRY_ASSIGN(std::shared_ptr<const ResolvedImage> resolved,
                 prepare(call.service, wanted, stored));
  if (!resolved)
    return std::optional<Answer>{};
  LYK_TRY_ASSIGN(Answer answer, hand_out(call, std::move(resolved), wanted.key));
  return std::optional<Answer>{std::move(answer)};
}

// Where a fetch did not help: whatever fits among what is here is proven too. Else `otherwise`.
Result<Answer> answer_from_part(Call& call, const Wanted& wanted, Error otherwise) {
  const Result<StoredChoice> stored =
      choose_stored(*wanted.store, wanted.pin.pin, wanted.key.device);
  if (stored && stored->chosen() != nullptr) {
    auto resolved = prepare(call.service, wanted, *stored);
    if (resolved && *resolved)
      return hand_out(call, std::move(resolved).value(), wanted.key);
  }
  return otherwise;
}

Error not_cached(const Wanted& wanted, milliseconds waited) {
  return Error{Code::not_cached,
               str("slot ", quoted(wanted.key.slot), ": not here after ", waited.count(),
                   " ms; the fetch goes on for later processes; `libreyolo-kernels fetch ",
                   wanted.key.slot, "` fetches ahead of time")};
}

// The time that the caller waits for a fetch, at most.
milliseconds wait_of(const wire::ResolveCall& call) {
  if (!call.wait_ms)
    return limits::resolve_wait_default;
  const auto most = static_cast<std::uint64_t>(limits::resolve_wait_max.count());
  return milliseconds{static_cast<milliseconds::rep>(std::min(*call.wait_ms, most))};
}

// A fetch of what the repo's hints say of the device and, if nothing of that fits, of every file: a
// hint is never believed over an image. The image is put into memory too, before anybody who waits
// for it is woken: of a thousand waiters none does that work again.
FlightPlan plan_resolve(Service& service,
                        const Snapshot& snapshot,
                        Wanted wanted,
                        FetchOrder order) {
  FetchOrder whole = order;
  whole.devices.clear();
  FlightPlan plan = plan_fetch(service, wanted.store, snapshot, std::move(order));
  FlightPlan plan_of_whole = plan_fetch(service, wanted.store, snapshot, std::move(whole));
  wanted.kernels = Kernels::left_out;
  plan.work = [&service, fetch = std::move(plan.work), fetch_whole = std::move(plan_of_whole.work),
               wanted = std::move(wanted)](const fetcher::ProgressCallback& progress,
                                           const fetcher::CancelToken& cancel) {
    FlightResult result = fetch(progress, cancel);
    if (!result)
      return result;
    const auto choose = [&] {
      return choose_stored(*wanted.store, wanted.pin.pin, wanted.key.device);
    };
    auto stored = choose();
    if (stored && stored->chosen() == nullptr && !stored->is_complete) {
      result = fetch_whole(progress, cancel);
      if (!result)
        return result;
      stored = choose();
    }
    if (stored && stored->chosen() != nullptr)
      (void)prepare(service, wanted, *stored);  // each waiter finds the error by itself
    return result;
  };
  return plan;
}

// Waits for the fetch, then looks again.
Result<Answer> answer_after_fetch(Call& call,
                                  const Wanted& wanted,
                                  const Flights::Ticket& ticket,
                                  milliseconds wait) {
  ++call.service.tally.lock()->counters.resolve_misses;
  switch (wait_for_flight(ticket, call.connection,
                          {.deadline = steady_clock::now() + wait, .on_progress = {}})) {
    case WaitEnd::caller_gone:
      call.connection.is_broken = true;
      return Error{Code::cancelled, "resolve: the caller has gone"};
    case WaitEnd::deadline:
      ticket.go_on();
      return answer_from_part(call, wanted, not_cached(wanted, wait));
    case WaitEnd::done:
      break;
  }
  const std::shared_ptr<const FlightResult> result = ticket.result();
  LYK_CHECK(result != nullptr);
  if (!*result)
    return answer_from_part(call, wanted,
                            annotate(result->error(), str("slot ", quoted(wanted.key.slot))));
  if (Warm warm = find_warm(call.service, wanted); warm.resolved)
    return hand_out(call, std::move(warm.resolved), wanted.key);
  LYK_TRY_ASSIGN(std::optional<Answer> answer, answer_from_store(call, wanted));
  if (answer)
    return std::move(*answer);
  return Error{Code::not_cached, str("slot ", quoted(wanted.key.slot),
                                     ": its files were fetched and are gone again")};
}

// The store's answer, or the flight that is to bring what it lacks.
struct Found {
  std::optional<Answer> answer;
  std::optional<Flights::Ticket> ticket;
};

Result<Found> look_up(Call& call,
                      const Wanted& wanted,
                      const Snapshot& snapshot,
                      FetchOrder order) {
  Service& service = call.service;
  const std::string flight = flight_key(order);
  const std::lock_guard turn(service.lookup_turn(flight));
  if (Warm warm = find_warm(service, wanted); warm.resolved) {
    ++service.tally.lock()->counters.resolve_memory_hits;
    LYK_TRY_ASSIGN(Answer answer, hand_out(call, std::move(warm.resolved), wanted.key));
    return Found{.answer = std::move(answer), .ticket = {}};
  }
  if (auto running = service.flights.join_running(flight))
    return Found{.answer = {}, .ticket = std::move(running)};
  LYK_TRY_ASSIGN(std::optional<Answer> stored, answer_from_store(call, wanted));
  if (stored) {
    ++service.tally.lock()->counters.resolve_store_hits;
    return Found{.answer = std::move(stored), .ticket = {}};
  }
  LYK_TRY_ASSIGN(Flights::Ticket started,
                 service.flights.join(plan_resolve(service, snapshot, wanted, std::move(order))));
  return Found{.answer = {}, .ticket = std::move(started)};
}

}  // namespace

Result<Answer> handle_resolve(Call& call) {
  LYK_TRY_ASSIGN(const wire::ResolveCall parameters,
                 wire::decode_parameters<wire::ResolveCall>(call.message));
  const ImageKey key{.slot = parameters.slot.text(), .device = parameters.device};
  Service& service = call.service;
  ++service.tally.lock()->counters.resolve_calls;
  const Kernels kernels = parameters.describe ? Kernels::described : Kernels::left_out;
  const PinOrigin origin = parameters.pin ? PinOrigin::of_the_call : PinOrigin::in_force;
  Warm warm = find_warm(service, key, memory_for(kernels, origin));
  if (warm.resolved) {
    ++service.tally.lock()->counters.resolve_memory_hits;
    return hand_out(call, std::move(warm.resolved), key);
  }
  call.error_fields.slot = key.slot;
  const std::shared_ptr<const Snapshot> snapshot = service.snapshot();
  LYK_TRY_ASSIGN(fetcher::LoadedPin pin, pin_of(call, *snapshot, parameters));
  LYK_TRY_ASSIGN(std::shared_ptr<cache::Store> store, service.store());
  const Wanted wanted{.key = key,
                      .origin = origin,
                      .kernels = kernels,
                      .generation = warm.generation,
                      .pin = std::move(pin),
                      .store = std::move(store)};
  FetchOrder order{.pin = wanted.pin.pin,
                   .devices = {key.device},
                   .reach = parameters.offline ? Reach::offline : Reach::network,
                   .uid = call.connection.peer.uid};
  LYK_TRY_ASSIGN(Found found, look_up(call, wanted, *snapshot, std::move(order)));
  if (found.answer)
    return std::move(*found.answer);
  return answer_after_fetch(call, wanted, *found.ticket, wait_of(parameters));
}

}  // namespace lyk::daemon
