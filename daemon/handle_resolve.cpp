// Resolve: memory, then the store, then a fetch that others may be waiting for too.
#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/fetching.hpp"
#include "daemon/handlers.hpp"
#include "daemon/stored_image.hpp"
#include "daemon/waiting.hpp"
#include "daemon/wire_values.hpp"
#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Request {
  const wire::ResolveCall& call;
  const ImageKey& key;
  std::uint64_t generation = 0;  // of the image cache, before anything else was read
  std::shared_ptr<const Snapshot> snapshot;
  fetcher::LoadedPin pin;
  std::shared_ptr<cache::Store> store;
};

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

// A damaged file is in the quarantine after this, and the next choice does not see it. An error if
// it is the index that is wrong.
Result<void> deal_with_damage(Call& call,
                              const Request& request,
                              const cache::StoredImage& stored,
                              const Error& damage) {
  LYK_TRY_ASSIGN(const cache::Verdict verdict, request.store->verify(stored.file.sha256, now()));
  if (verdict == cache::Verdict::good)
    return Error{Code::corrupt_store, str("image ", stored.image.sha256.hex(), ": ", damage.message,
                                          ", though its file is intact: the index is wrong; run "
                                          "`libreyolo-kernels rebuild-index`")};
  if (verdict == cache::Verdict::damaged) {
    ++call.service.tally.lock()->counters.quarantined_files;
    call.service.log().error(
        event::quarantine,
        {{"slot", request.key.slot},
         {"file", call.service.log().shown(stored.file.sha256)},
         {"error", damage.message},
         {"then", request.store->writable() ? "it is in the quarantine and is fetched again"
                                            : "the store is read only: mend it by hand"}});
  }
  return {};
}

bool is_damage(const Error& error) {
  return error.code == Code::digest_mismatch || error.code == Code::size_mismatch ||
         error.code == Code::no_image || error.code == Code::not_cached;
}

wire::ResolveReply reply_for(const Request& request, const StoredChoice& stored) {
  const cache::StoredImage& chosen = *stored.chosen();
  const Kernels kernels = request.call.describe ? Kernels::described : Kernels::left_out;
  return {.slot = request.key.slot,
          .image = to_wire(chosen.image, kernels),
          .repo = stored.revision->origin.repo.text(),
          .repo_type = std::string{name(stored.revision->origin.type)},
          .commit = stored.revision->origin.commit.hex(),
          .proof = to_wire(stored.revision->kind),
          .file = chosen.path.text(),
          .pin = request.pin.source,
          .refused = request.call.describe ? refusals(stored) : std::vector<wire::RefusedImage>{}};
}

// The chosen image, sealed; empty if its file turned out to be damaged or gone.
Result<std::shared_ptr<const ResolvedImage>> take_from_store(Call& call,
                                                             const Request& request,
                                                             const StoredChoice& stored) {
  const cache::StoredImage& chosen = *stored.chosen();
  std::shared_ptr<const SealedImage> image =
      call.service.images.lock()->find_image(chosen.image.sha256);
  if (!image) {
    auto sealed = seal_stored(*request.store, chosen);
    if (!sealed && is_damage(sealed.error())) {
      LYK_TRY(deal_with_damage(call, request, chosen, sealed.error()));
      return std::shared_ptr<const ResolvedImage>{};
    }
    if (!sealed)
      return std::move(sealed).error();
    image = std::move(sealed).value();
  }
  (void)request.store->record_use(chosen.file.sha256, now());  // a hint for eviction, no more
  const wire::ResolveReply reply = reply_for(request, stored);
  const bool is_gated =
      stored.revision->visibility == cache::Visibility::gated && !request.pin.pin.is_public;
  auto resolved = std::make_shared<const ResolvedImage>(ResolvedImage{
      .image = std::move(image), .reply = wire::encode_reply(reply), .is_gated = is_gated});
  // What is not the final choice must not hide a better one that is still to come.
  if (stored.is_complete && !request.call.describe)
    call.service.images.lock()->insert(request.key, resolved, request.generation);
  return resolved;
}

Error no_image(Call& call, const Request& request, const StoredChoice& stored) {
  call.error_fields.refused = refusals(stored);
  return Error{Code::no_image, str("slot ", quoted(request.key.slot), ": no image for ",
                                   request.key.device.arch.capability(), ": ", explain(stored))};
}

// The answer of the store alone. Empty: it has not everything, a fetch may bring it.
Result<std::optional<Answer>> answer_from_store(Call& call, const Request& request) {
  LYK_TRY_ASSIGN(const StoredChoice stored,
                 choose_stored(*request.store, request.pin.pin, request.key.device));
  if (!stored.is_complete)
    return std::optional<Answer>{};
  if (stored.chosen() == nullptr)
    return no_image(call, request, stored);
  LYK_TRY_ASSIGN(std::shared_ptr<const ResolvedImage> resolved,
                 take_from_store(call, request, stored));
  if (!resolved)
    return std::optional<Answer>{};
  LYK_TRY_ASSIGN(Answer answer, hand_out(call, std::move(resolved), request.key));
  return std::optional<Answer>{std::move(answer)};
}

// Where a fetch did not help: whatever fits among what is here is proven too. Else `otherwise`.
Result<Answer> answer_from_part(Call& call, const Request& request, Error otherwise) {
  const Result<StoredChoice> stored =
      choose_stored(*request.store, request.pin.pin, request.key.device);
  if (stored && stored->chosen() != nullptr) {
    auto resolved = take_from_store(call, request, *stored);
    if (resolved && *resolved)
      return hand_out(call, std::move(resolved).value(), request.key);
  }
  return otherwise;
}

Error not_cached(const Request& request, milliseconds waited) {
  return Error{Code::not_cached,
               str("slot ", quoted(request.key.slot), ": not here after ", waited.count(),
                   " ms; the fetch goes on for later processes; `libreyolo-kernels fetch ",
                   request.key.slot, "` fetches ahead of time")};
}

// Joins or starts the fetch and waits for it as long as the caller says.
Result<Answer> answer_after_fetch(Call& call, const Request& request) {
  ++call.service.tally.lock()->counters.resolve_misses;
  const Reach reach = request.call.offline ? Reach::offline : Reach::network;
  LYK_TRY_ASSIGN(const Flights::Ticket ticket, call.service.flights.join(plan_fetch(
                                                   call.service, request.store, *request.snapshot,
                                                   {.pin = request.pin.pin,
                                                    .archs = {request.key.device.arch},
                                                    .reach = reach,
                                                    .uid = call.connection.peer.uid})));
  const milliseconds wait =
      std::min(limits::resolve_wait_max,
               request.call.wait_ms
                   ? milliseconds{static_cast<milliseconds::rep>(std::min<std::uint64_t>(
                         *request.call.wait_ms, std::uint64_t{limits::resolve_wait_max.count()}))}
                   : limits::resolve_wait_default);
  switch (wait_for_flight(ticket, call.connection,
                          {.deadline = steady_clock::now() + wait, .on_progress = {}})) {
    case WaitEnd::caller_gone:
      call.connection.is_broken = true;
      return Error{Code::cancelled, "resolve: the caller has gone"};
    case WaitEnd::deadline:
      ticket.go_on();
      return answer_from_part(call, request, not_cached(request, wait));
    case WaitEnd::done:
      break;
  }
  const std::shared_ptr<const FlightResult> result = ticket.result();
  LYK_CHECK(result != nullptr);
  if (!*result)
    return answer_from_part(call, request,
                            annotate(result->error(), str("slot ", quoted(request.key.slot))));
  LYK_TRY_ASSIGN(std::optional<Answer> answer, answer_from_store(call, request));
  if (answer)
    return std::move(*answer);
  return Error{Code::not_cached, str("slot ", quoted(request.key.slot),
                                     ": its files were fetched and are gone again")};
}

}  // namespace

Result<Answer> handle_resolve(Call& call) {
  LYK_TRY_ASSIGN(const wire::ResolveCall parameters,
                 wire::decode_parameters<wire::ResolveCall>(call.message));
  const ImageKey key{.slot = parameters.slot.text(), .device = parameters.device};
  Service& service = call.service;
  ++service.tally.lock()->counters.resolve_calls;
  std::uint64_t generation = 0;
  std::shared_ptr<const ResolvedImage> warm;
  {
    const auto images = service.images.lock();
    generation = images->generation();
    if (!parameters.describe)
      warm = images->find(key);
  }
  if (warm) {
    ++service.tally.lock()->counters.resolve_memory_hits;
    return hand_out(call, std::move(warm), key);
  }
  call.error_fields.slot = key.slot;
  const std::shared_ptr<const Snapshot> snapshot = service.snapshot();
  LYK_TRY_ASSIGN(fetcher::LoadedPin pin, Service::find_pin(*snapshot, parameters.slot));
  LYK_TRY_ASSIGN(std::shared_ptr<cache::Store> store, service.store());
  const Request request{.call = parameters,
                        .key = key,
                        .generation = generation,
                        .snapshot = snapshot,
                        .pin = std::move(pin),
                        .store = std::move(store)};
  LYK_TRY_ASSIGN(std::optional<Answer> stored, answer_from_store(call, request));
  if (!stored)
    return answer_after_fetch(call, request);
  ++service.tally.lock()->counters.resolve_store_hits;
  return std::move(*stored);
}

}  // namespace lyk::daemon
