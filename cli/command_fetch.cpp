// fetch: prewarm. Slots of the configured pins, or of one pin file that is sent along.
#include <algorithm>
#include <array>
#include <utility>

#include "cli/command.hpp"
#include "cli/file.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/service.hpp"
#include "cli/state_names.hpp"
#include "client/machine.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Option, 4> options{{
    {.name = "arch",
     .value = "ARCH[,ARCH]",
     .help = "what GPUs like these need, or `all`; default: what those of this machine need",
     .repeat = Repeat::many},
    {.name = "driver",
     .value = "VERSION",
     .help = "CUDA version of their driver, as 13.0; default: new enough for everything"},
    {.name = "all", .value = "", .help = "every slot that is pinned"},
    {.name = "pin",
     .value = "FILE",
     .help = "the pin in FILE instead of the configured one; asks a service of your own user"},
}};

constexpr std::array<Example, 3> examples{{
    {"fetch ms_deform_attn", "what this machine's GPUs need of a slot"},
    {"fetch --all --arch 8.9,9.0", "every pinned slot, for two kinds of GPU"},
    {"fetch --pin ./ms_deform_attn.toml", "try a pin before it is installed"},
}};

// For which GPUs, as a call says it. Without architectures: for all that there are.
struct Gpus {
  std::vector<Arch> archs;
  std::optional<CudaVersion> driver;
};

// Those of this machine, as its processes will name them. Empty where it has none.
Result<Gpus> gpus_of_machine(const Invocation& invocation) {
  Gpus out;
  const auto gpus = client::list_gpus(std::string{invocation.driver_library});
  if (!gpus && gpus.error().code != Code::no_driver)
    return annotate(gpus.error(), "this machine's GPUs are not known, say which: --arch");
  if (!gpus)
    return out;
  for (const client::MachineGpu& gpu : *gpus) {
    out.driver = gpu.device.driver;  // one for all of them
    if (std::find(out.archs.begin(), out.archs.end(), gpu.device.arch) == out.archs.end())
      out.archs.push_back(gpu.device.arch);
  }
  return out;
}

Result<Gpus> parse_gpus(const Invocation& invocation) {
  const Arguments& arguments = invocation.arguments;
  LYK_TRY_ASSIGN(const std::optional<CudaVersion> driver, parse_driver(arguments));
  if (!arguments.has("arch"))
    return gpus_of_machine(invocation);
  LYK_TRY_ASSIGN(const std::vector<std::string> words, split_list(arguments.values("arch")));
  if (words == std::vector<std::string>{"all"}) {
    if (driver)
      return Error{Code::invalid_argument, "option --driver says nothing with --arch all"};
    return Gpus{};
  }
  Gpus out{.archs = {}, .driver = driver};
  for (const std::string& word : words) {
    LYK_TRY_ASSIGN(const Arch arch, parse_capability(word));
    out.archs.push_back(arch);
  }
  return out;
}

// What is asked for: exactly one of slots, --all and --pin decides which slots.
Result<wire::FetchCall> parse_call(const Invocation& invocation) {
  const Arguments& arguments = invocation.arguments;
  wire::FetchCall call;
  LYK_TRY_ASSIGN(call.slots, parse_slots(arguments.positionals()));
  LYK_TRY_ASSIGN(Gpus gpus, parse_gpus(invocation));
  call.archs = std::move(gpus.archs);
  call.driver = gpus.driver;
  call.offline = invocation.offline();
  const auto pin = arguments.value("pin");
  if (arguments.has("all") && (!call.slots.empty() || pin))
    return Error{Code::invalid_argument, "option --all stands alone, without slots and --pin"};
  if (pin && !call.slots.empty())
    return Error{Code::invalid_argument, "option --pin stands alone: its file names the slot"};
  if (!arguments.has("all") && call.slots.empty() && !pin)
    return Error{Code::invalid_argument, "nothing to fetch: name slots, --all or --pin FILE"};
  if (pin) {
    LYK_TRY_ASSIGN(call.pin, read_text_file(*pin, limits::pin_bytes_max));
    call.pin_name = *pin;
  }
  return call;
}

Result<std::vector<SlotName>> pinned_slots(client::Connection& connection) {
  LYK_TRY_ASSIGN(const wire::PinsReply reply, connection.call<wire::PinsReply>(wire::PinsCall{}));
  std::vector<SlotName> slots;
  for (const wire::Pin& pin : reply.pins) {
    LYK_TRY_ASSIGN(SlotName slot, SlotName::parse(pin.slot));
    slots.push_back(std::move(slot));
  }
  if (slots.empty())
    return Error{Code::not_pinned, "no slot is pinned"};
  return slots;
}

std::string as_text(const std::vector<wire::FetchedSlot>& fetched, Colours colours) {
  Table table{{{"SLOT"},
               {"REPO"},
               {"COMMIT"},
               {"PROOF"},
               {"FILES", Align::right},
               {"IMAGES", Align::right},
               {"SIZE", Align::right},
               {"DOWNLOADED", Align::right}}};
  for (const wire::FetchedSlot& slot : fetched)
    table.add({{printable(slot.slot)},
               {str(printable(slot.repo), " (", printable(slot.repo_type), ')')},
               {short_hash(printable(slot.commit))},
               {std::string{proof_name(slot.proof)}},
               {std::to_string(slot.files)},
               {std::to_string(slot.images)},
               {human_bytes(slot.bytes)},
               {human_bytes(slot.downloaded_bytes)}});
  return table.render(colours);
}

Result<Report> run_fetch(const Invocation& invocation) {
  LYK_TRY_ASSIGN(wire::FetchCall call, parse_call(invocation));
  const auto audience = call.pin ? client::Audience::own_uid : client::Audience::anyone;
  LYK_TRY_ASSIGN(client::Connection connection, connect(invocation, audience));
  if (invocation.arguments.has("all")) {
    LYK_TRY_ASSIGN(call.slots, pinned_slots(connection));
  }
  ProgressPrinter printer{invocation.terminal, invocation.progress()};
  LYK_TRY_ASSIGN(const wire::FetchReply reply,
                 connection.stream<wire::FetchReply>(call, [&](const wire::FetchReply& step) {
                   if (step.progress)
                     printer.show(*step.progress, now());
                 }));
  printer.clear();
  if (!reply.fetched)
    return Error{Code::protocol, "reply of Fetch: the last one has no 'fetched'"};
  Report report;
  for (const wire::FetchedSlot& slot : *reply.fetched)
    for (const std::string& warning : slot.warnings)
      report.notes.push_back(str("warning: ", slot.slot, ": ", warning));
  report.text =
      invocation.json() ? document_of(reply) : as_text(*reply.fetched, invocation.colours());
  return report;
}

}  // namespace

const Command fetch_command{
    .name = "fetch",
    .summary = "prove, download and index what slots need, before a process asks",
    .positionals = {.min = 0, .max = 64, .usage = "SLOT..."},
    .description =
        "Proves, downloads and indexes what the pins of slots name, so that the first "
        "process finds it\nthere. What is in the store already is not downloaded again.",
    .options = options,
    .examples = examples,
    .run = run_fetch,
};

}  // namespace lyk::cli
