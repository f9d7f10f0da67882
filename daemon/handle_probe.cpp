// Probe: what a repo's owner calls a revision becomes a proven commit and the text of a pin for it.
// The files are fetched and proven by git, so that the pin can carry their digests, and checked
// against the launch ABI, so that nobody pins what no launcher of ours can use.
#include <algorithm>
#include <utility>

#include "daemon/fetching.hpp"
#include "daemon/handlers.hpp"
#include "daemon/waiting.hpp"
#include "daemon/wire_values.hpp"
#include "fetcher/probe.hpp"
#include "kernels/image/choose.hpp"
#include "proto/launch_abi.hpp"
#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

// What the pin in force says of its repo, and of no other.
struct OfTheRepo {
  std::vector<fetcher::Pass> deterministic;
  bool is_public = false;
  std::vector<std::string> variants;
  std::vector<std::string> keys;  // those that it has
};

// What the pin in force says about the slot's use, as far as it is true of the new pin's files too.
struct Inherited {
  std::optional<std::string> abi;
  OfTheRepo of_the_repo;
  std::vector<std::string> kept;        // keys besides those of the repo
  std::optional<std::string> left_out;  // a line about those that were not kept
};

// What the flight's thread finds out, besides the report of its fetch.
struct Found {
  std::optional<fetcher::Probe> probe;
  std::optional<fetcher::Pin> pin;
  Inherited inherited;
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += str(text.empty() ? "" : ", ", word);
  return text;
}

OfTheRepo said_of_the_repo(const fetcher::Pin& pin) {
  OfTheRepo out{.deterministic = pin.deterministic,
                .is_public = pin.is_public,
                .variants = pin.variants,
                .keys = {}};
  if (!pin.deterministic.empty())
    out.keys.emplace_back("deterministic");
  if (pin.is_public)
    out.keys.emplace_back("public");
  if (!pin.variants.empty())
    out.keys.emplace_back("variants");
  return out;
}

void leave_out_of_the_repo(Inherited& inherited, std::string_view why) {
  if (!inherited.of_the_repo.keys.empty())
    inherited.left_out = str("not kept, since ", why, ": ", joined(inherited.of_the_repo.keys));
  inherited.of_the_repo = {};
}

// The launcher belongs to the slot. That files may go to everybody, give the same bits in every run
// or have a layout is said of one repo, and of no other.
Inherited inherit(const Snapshot& snapshot, const wire::ProbeCall& asked) {
  Inherited out;
  out.abi = asked.abi;
  const fetcher::LoadedPin* present = snapshot.pins.find(asked.slot);
  if (present == nullptr)
    return out;
  const fetcher::Pin& pin = present->pin;
  if (!out.abi && pin.abi) {
    out.abi = pin.abi;
    out.kept.emplace_back("abi");
  }
  out.of_the_repo = said_of_the_repo(pin);
  if (pin.repo != asked.repo)
    leave_out_of_the_repo(out, str("the pin in force says it of ", quoted(pin.repo.text())));
  return out;
}

// Kernel x/y and model x/y are two repos. A pin that tries several types speaks of the one whose
// files it brought; before that nobody knows.
Result<void> keep_to_type(const cache::Store& store,
                          const fetcher::LoadedPin* present,
                          RepoType type,
                          Inherited& inherited) {
  if (present == nullptr || inherited.of_the_repo.keys.empty())
    return {};
  const fetcher::Pin& pin = present->pin;
  const auto& types = pin.repo_types;
  if (std::find(types.begin(), types.end(), type) == types.end()) {
    leave_out_of_the_repo(inherited, str("the pin in force says it of the ", name(types.front()),
                                         " repo ", quoted(pin.repo.text())));
    return {};
  }
  if (types.size() == 1)
    return {};
  for (const RepoType each : types) {
    LYK_TRY_ASSIGN(const auto fetched, store.revision(origin_of(pin, each)));
    if (fetched.has_value() == (each == type))
      continue;
    leave_out_of_the_repo(inherited, str("nothing shows that the pin in force says it of the ",
                                         name(type), " repo ", quoted(pin.repo.text())));
    return {};
  }
  return {};
}

fetcher::Pin new_pin(const wire::ProbeCall& asked,
                     const Inherited& inherited,
                     const fetcher::Probe& probe) {
  return {.slot = asked.slot,
          .repo = asked.repo,
          .repo_types = {probe.type},
          .revision = probe.commit,
          .license = probe.license,
          .abi = inherited.abi,
          .deterministic = inherited.of_the_repo.deterministic,
          .is_public = inherited.of_the_repo.is_public,
          .variants = inherited.of_the_repo.variants,
          .digests = {},
          .archs = {}};
}

Result<void> check_abi_name(const std::optional<std::string>& abi) {
  if (!abi || find_launch_abi(*abi) != nullptr)
    return {};
  return Error{Code::invalid_argument, str("abi: ", no_launcher_text(*abi))};
}

// A pin with neither is one that nobody takes, so it is not even begun.
Result<void> check_use(const wire::ProbeCall& asked, const Inherited& inherited) {
  if (inherited.abi || !inherited.of_the_repo.variants.empty())
    return {};
  return Error{
      Code::invalid_argument,
      str("slot ", quoted(asked.slot.text()),
          ": no pin in force says its launch ABI; name it with --abi: ", launch_abis_text())};
}

// At least one image must define the ABI; else the line says what the first one lacks.
Result<void> check_images(const fetcher::Pin& pin, const std::vector<cache::StoredImage>& images) {
  if (!pin.abi)
    return {};
  const LaunchAbi* abi = find_launch_abi(*pin.abi);
  LYK_CHECK(abi != nullptr);
  std::string first;
  for (const cache::StoredImage& stored : images) {
    const std::optional<std::string> mismatch = image::abi_mismatch(stored.image, *abi);
    if (!mismatch)
      return {};
    if (first.empty())
      first = str(stored.path.text(), " ", stored.image.arch.sm(), ": ", *mismatch);
  }
  return Error{Code::no_image, str("revision ", pin.revision.hex(), ": none of its ", images.size(),
                                   " images defines abi ", quoted(*pin.abi),
                                   first.empty() ? std::string{} : str("; ", first))};
}

FlightPlan plan_probe(Call& call,
                      const std::shared_ptr<cache::Store>& store,
                      const std::shared_ptr<const Snapshot>& snapshot,
                      const wire::ProbeCall& asked,
                      const std::shared_ptr<Found>& found) {
  FlightPlan plan{.key = str("probe\n", call.connection.number),  // nobody joins it
                  .slot = asked.slot.text(),
                  .uid = call.connection.peer.uid,
                  .work = nullptr};
  plan.work = [&service = call.service, store, snapshot, asked, found](
                  const fetcher::ProgressCallback& progress,
                  const fetcher::CancelToken& cancel) -> FlightResult {
    fetcher::Context context{
        .settings = snapshot->settings, .progress = progress, .cancel = cancel, .pause = {}};
    fetcher::ProbeRequest request{
        .repo = asked.repo, .revision = asked.revision, .repo_types = asked.repo_types};
    if (request.repo_types.empty())
      request.repo_types = {RepoType::kernel, RepoType::model};
    LYK_TRY_ASSIGN(found->probe, fetcher::probe(*store, request, context));
    LYK_TRY(keep_to_type(*store, snapshot->pins.find(asked.slot), found->probe->type,
                         found->inherited));
    LYK_TRY(check_use(asked, found->inherited));
    found->pin = new_pin(asked, found->inherited, *found->probe);
    return run_fetch(service, *store, *found->pin, {.context = std::move(context), .devices = {}});
  };
  return plan;
}

}  // namespace

Result<Answer> handle_probe(Call& call) {
  LYK_TRY_ASSIGN(const wire::ProbeCall asked,
                 wire::decode_parameters<wire::ProbeCall>(call.message));
  LYK_TRY(check_abi_name(asked.abi));
  const std::shared_ptr<const Snapshot> snapshot = call.service.snapshot();
  const auto found = std::make_shared<Found>();
  found->inherited = inherit(*snapshot, asked);
  LYK_TRY(check_use(asked, found->inherited));
  LYK_TRY_ASSIGN(const std::shared_ptr<cache::Store> store, call.service.store());
  LYK_TRY_ASSIGN(const Flights::Ticket ticket,
                 call.service.flights.join(plan_probe(call, store, snapshot, asked, found)));
  Waiting waiting;
  if (call.wants_progress())
    waiting.on_progress = [&](const fetcher::Progress& progress) {
      wire::ProbeReply reply;
      reply.progress = to_wire(asked.slot.text(), progress);
      tell(call, wire::encode_reply(reply, wire::Continues::yes));
    };
  if (wait_for_flight(ticket, call.connection, waiting) != WaitEnd::done) {
    call.connection.is_broken = true;
    return Error{Code::cancelled, "probe: the caller has gone"};
  }
  const std::shared_ptr<const FlightResult> result = ticket.result();
  LYK_CHECK(result != nullptr);
  if (!*result)
    return annotate(result->error(), str("revision ", quoted(asked.revision)));
  const fetcher::FetchReport& report = **result;
  LYK_TRY_ASSIGN(const std::vector<cache::StoredFile> files, store->files(report.origin));
  LYK_TRY_ASSIGN(const std::vector<cache::StoredImage> images, store->images(report.origin));
  LYK_TRY(check_images(*found->pin, images));
  for (const fetcher::FetchedFile& file : report.files)
    found->pin->digests.emplace(file.path, file.blob.sha256);
  if (found->pin->abi)  // for others every file is fetched
    found->pin->archs = report.archs;
  wire::ProbeReply reply;
  reply.pin = found->pin->format();
  reply.commit = found->probe->commit.hex();
  reply.repo_type = std::string{name(found->probe->type)};
  if (!found->probe->license.empty())
    reply.license = found->probe->license;
  reply.files = to_wire(files, images);
  reply.warnings = found->probe->warnings;
  reply.warnings.insert(reply.warnings.end(), report.warnings.begin(), report.warnings.end());
  const Inherited& inherited = found->inherited;
  if (inherited.left_out)
    reply.warnings.push_back(*inherited.left_out);
  reply.kept = inherited.kept;
  reply.kept.insert(reply.kept.end(), inherited.of_the_repo.keys.begin(),
                    inherited.of_the_repo.keys.end());
  return Answer{wire::encode_reply(reply)};
}

}  // namespace lyk::daemon
