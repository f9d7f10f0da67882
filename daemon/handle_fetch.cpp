// Fetch: every slot's flight in turn, with progress for callers that asked for it.
#include <algorithm>
#include <utility>

#include "daemon/fetching.hpp"
#include "daemon/handlers.hpp"
#include "daemon/waiting.hpp"
#include "daemon/wire_values.hpp"
#include "kernels/image/choose.hpp"
#include "proto/launch_abi.hpp"
#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

// The pins that the call is about: those in force, or the one that it brings along.
Result<std::vector<fetcher::Pin>> pins_of(Call& call,
                                          const Snapshot& snapshot,
                                          const wire::FetchCall& asked) {
  std::vector<fetcher::Pin> pins;
  if (asked.pin) {
    LYK_TRY_ASSIGN(fetcher::LoadedPin loaded,
                   inline_pin(call, Method::fetch_inline_pin, {*asked.pin, asked.pin_name}));
    pins.push_back(std::move(loaded.pin));
    return pins;
  }
  if (asked.slots.empty())
    return Error{Code::invalid_argument, "fetch: no slot is named"};
  if (asked.slots.size() > limits::pins_max)
    return Error{Code::invalid_argument, str("fetch: more than ", limits::pins_max, " slots")};
  for (const SlotName& slot : asked.slots) {
    call.error_fields.slot = slot.text();
    LYK_TRY_ASSIGN(fetcher::LoadedPin loaded, Service::find_pin(snapshot, slot));
    pins.push_back(std::move(loaded.pin));
  }
  call.error_fields.slot.reset();
  return pins;
}

// As a Resolve would name them. Empty: every architecture.
std::vector<Device> devices_of(const wire::FetchCall& asked) {
  std::vector<Device> devices;
  for (const Arch& arch : asked.archs)
    devices.push_back({arch, is_tegra_arch(arch), asked.driver});
  return devices;
}

bool is_among(const RepoPath& path, const std::vector<fetcher::FetchedFile>& files) {
  return std::any_of(files.begin(), files.end(),
                     [&](const fetcher::FetchedFile& file) { return file.path == path; });
}

// What is to be said of files that are proven and of no use.
std::optional<std::string> warning_of(const fetcher::Pin& pin,
                                      const fetcher::FetchReport& report,
                                      const std::vector<cache::StoredImage>& images) {
  if (!pin.abi)
    return std::nullopt;
  const LaunchAbi* abi = find_launch_abi(*pin.abi);
  LYK_CHECK(abi != nullptr);  // Pin::parse knows it
  std::size_t looked_at = 0;
  std::string first;
  for (const cache::StoredImage& stored : images) {
    if (!is_among(stored.path, report.files))
      continue;
    const std::optional<std::string> mismatch = image::abi_mismatch(stored.image, *abi);
    if (!mismatch)
      return std::nullopt;
    if (++looked_at == 1)
      first = str(": ", quoted(stored.path.text()), " ", stored.image.arch.sm(), ": ", *mismatch);
  }
  return str("nothing of it can be handed out: none of its ", looked_at, " images defines abi ",
             quoted(*pin.abi), first);
}

Result<wire::FetchedSlot> fetched_slot(const cache::Store& store,
                                       const fetcher::Pin& pin,
                                       const fetcher::FetchReport& report) {
  wire::FetchedSlot out;
  out.slot = pin.slot.text();
  out.repo = report.origin.repo.text();
  out.repo_type = std::string{name(report.origin.type)};
  out.commit = report.origin.commit.hex();
  out.proof = to_wire(report.proof);
  out.files = report.files.size();
  for (const fetcher::FetchedFile& file : report.files)
    out.bytes += file.blob.bytes;
  out.downloaded_bytes = report.downloaded_bytes;
  out.adopted_bytes = report.adopted_bytes;
  out.warnings = report.warnings;
  LYK_TRY_ASSIGN(const std::vector<cache::StoredImage> images, store.images(report.origin));
  out.images = images.size();
  if (std::optional<std::string> warning = warning_of(pin, report, images))
    out.warnings.push_back(std::move(*warning));
  return out;
}

Result<wire::FetchedSlot> fetch_one(Call& call,
                                    const std::shared_ptr<cache::Store>& store,
                                    const Snapshot& snapshot,
                                    FetchOrder order) {
  const fetcher::Pin pin = order.pin;
  const std::string& slot = pin.slot.text();
  LYK_TRY_ASSIGN(
      const Flights::Ticket ticket,
      call.service.flights.join(plan_fetch(call.service, store, snapshot, std::move(order))));
  Waiting waiting;
  if (call.wants_progress())
    waiting.on_progress = [&](const fetcher::Progress& progress) {
      tell(call,
           wire::encode_reply(wire::FetchReply{.progress = to_wire(slot, progress), .fetched = {}},
                              wire::Continues::yes));
    };
  if (wait_for_flight(ticket, call.connection, waiting) != WaitEnd::done) {
    call.connection.is_broken = true;
    return Error{Code::cancelled, str("slot ", quoted(slot), ": the caller has gone")};
  }
  const std::shared_ptr<const FlightResult> result = ticket.result();
  LYK_CHECK(result != nullptr);
  if (!*result) {
    call.error_fields.slot = slot;
    return annotate(result->error(), str("slot ", quoted(slot)));
  }
  return fetched_slot(*store, pin, **result);
}

}  // namespace

Result<Answer> handle_fetch(Call& call) {
  LYK_TRY_ASSIGN(const wire::FetchCall asked,
                 wire::decode_parameters<wire::FetchCall>(call.message));
  const std::shared_ptr<const Snapshot> snapshot = call.service.snapshot();
  LYK_TRY_ASSIGN(const std::vector<fetcher::Pin> pins, pins_of(call, *snapshot, asked));
  LYK_TRY_ASSIGN(const std::shared_ptr<cache::Store> store, call.service.store());
  wire::FetchReply reply;
  reply.fetched.emplace();
  for (const fetcher::Pin& pin : pins) {
    LYK_TRY_ASSIGN(wire::FetchedSlot slot,
                   fetch_one(call, store, *snapshot,
                             {.pin = pin,
                              .devices = devices_of(asked),
                              .reach = asked.offline ? Reach::offline : Reach::network,
                              .uid = call.connection.peer.uid}));
    reply.fetched->push_back(std::move(slot));
  }
  return Answer{wire::encode_reply(reply)};
}

}  // namespace lyk::daemon
