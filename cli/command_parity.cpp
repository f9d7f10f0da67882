// parity: the parity set of a slot, run by one of its implementations, against the reference.
#include <algorithm>
#include <array>
#include <utility>

#include "cli/command.hpp"
#include "cli/parity.hpp"
#include "cli/parity_report.hpp"
#include "cli/service.hpp"
#include "client/machine.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

using parity::Implementation;

constexpr std::array<Option, 2> options{{
    {.name = "implementation",
     .value = "NAME",
     .help = "hub, cuda or cpu; default: hub where pins name the slot, else cuda, or cpu without a "
             "GPU"},
    set_option,
}};

constexpr std::array<Example, 4> examples{{
    {"parity ms_deform_attn", "compare the pinned kernel with the reference on every GPU"},
    {"parity ms_deform_attn --json", "the same for a script: exit code 0 if all of it is equal"},
    {"parity fake_quant_fp8", "the library's own kernel, on every GPU or else on the processors"},
    {"parity ms_deform_attn --implementation cpu", "what host tensors get: no GPU, no service"},
}};

Result<const parity::Set*> find_set(const SlotName& slot) {
  if (const parity::Set* set = parity::find_set(slot.text()))
    return set;
  std::string known;
  for (const parity::Set& set : parity::sets())
    known += str(known.empty() ? "" : ", ", quoted(set.slot));
  return Error{Code::not_found, str("slot ", quoted(slot.text()),
                                    ": there is no parity set; there is one of ", known)};
}

// Those that a slot has.
std::vector<Implementation> implementations_of(std::string_view slot) {
  if (client::has_launcher(slot))
    return {Implementation::hub, Implementation::cuda, Implementation::cpu};
  return {Implementation::cuda, Implementation::cpu};
}

Result<Implementation> parse_implementation(std::string_view asked, std::string_view slot) {
  std::vector<std::string_view> names;
  std::string known;
  for (const Implementation implementation : implementations_of(slot)) {
    if (asked == name(implementation))
      return implementation;
    names.push_back(name(implementation));
    known += str(known.empty() ? "" : ", ", name(implementation));
  }
  const std::string_view meant = nearest(asked, names);
  return Error{
      Code::invalid_argument,
      str("slot ", quoted(slot), ": no implementation ", quoted(asked), " can be compared; ",
          meant.empty() ? str("there are ", known) : str("did you mean ", meant, '?'))};
}

// What a process would run first, as far as this machine can run it: hub if a pin can name the
// slot, which says itself where a GPU or a pin is missing.
Result<Implementation> default_implementation(const Invocation& invocation, std::string_view slot) {
  if (client::has_launcher(slot))
    return Implementation::hub;
  const auto gpus = client::list_gpus(std::string{invocation.driver_library});
  if (gpus)
    return Implementation::cuda;
  if (gpus.error().code == Code::no_driver)
    return Implementation::cpu;
  return annotate(gpus.error(),
                  "this machine's GPUs are not known, say what to compare: "
                  "--implementation cpu");
}

Result<Implementation> choose_implementation(const Invocation& invocation, const SlotName& slot) {
  if (const auto asked = invocation.arguments.value("implementation"))
    return parse_implementation(*asked, slot.text());
  return default_implementation(invocation, slot.text());
}

std::string as_json(const ParityAsked& asked, const std::vector<ParityRun>& runs) {
  JsonDocument document;
  document.begin_object();
  document.member("slot", asked.set.slot);
  document.member("implementation", name(asked.implementation));
  document.member("passed", check_parity(runs).has_value());
  add_parity_runs(document, runs);
  document.end_object();
  return std::move(document).finish();
}

std::string as_text(const ParityAsked& asked, const std::vector<ParityRun>& runs, Colours colours) {
  Facts facts;
  facts.add("slot", std::string{asked.set.slot});
  facts.add("implementation", std::string{name(asked.implementation)});
  std::string out = facts.render(colours);
  for (const ParityRun& run : runs)
    out += str('\n', parity_text(run, colours));
  return out;
}

// The image that a process with that device would be handed. A Resolve that waits for a fetch says
// nothing meanwhile, so it only begins one, and a Fetch of the same joins it and tells how far it
// is.
Result<client::ResolvedImage> resolve_with_progress(const Invocation& invocation,
                                                    client::Connection& connection,
                                                    const wire::ResolveCall& wanted) {
  wire::ResolveCall at_once = wanted;
  at_once.wait_ms = 0;
  auto found = connection.resolve(at_once);
  if (found || found.error().code != Code::not_cached)
    return found;
  ProgressPrinter printer{invocation.terminal, invocation.progress()};
  wire::FetchCall fetch;
  fetch.slots = {wanted.slot};
  fetch.archs = {wanted.device.arch};
  fetch.driver = wanted.device.driver;
  fetch.offline = wanted.offline;
  LYK_TRY(connection.stream<wire::FetchReply>(fetch, [&](const wire::FetchReply& step) {
    if (step.progress)
      printer.show(*step.progress, now());
  }));
  return connection.resolve(wanted);
}

Result<Report> run_parity_command(const Invocation& invocation) {
  LYK_TRY_ASSIGN(const SlotName slot, SlotName::parse(invocation.arguments.positionals().front()));
  LYK_TRY_ASSIGN(const parity::Set* set, find_set(slot));
  LYK_TRY_ASSIGN(const Implementation implementation, choose_implementation(invocation, slot));
  LYK_TRY_ASSIGN(const parity::Extent extent, parse_extent(invocation.arguments));
  std::optional<client::Connection> connection;  // made where there is a GPU to ask for
  const ParityAsked asked{.invocation = invocation,
                          .set = *set,
                          .implementation = implementation,
                          .extent = extent,
                          .resolve = [&](const Device& device) -> Result<client::ResolvedImage> {
                            if (!connection) {
                              LYK_TRY_ASSIGN(client::Connection made, connect(invocation));
                              connection.emplace(std::move(made));
                            }
                            return resolve_with_progress(
                                invocation, *connection,
                                {.slot = slot,
                                 .device = device,
                                 .wait_ms = limits::resolve_wait_max.count(),
                                 .offline = invocation.offline()});
                          }};
  LYK_TRY_ASSIGN(const std::vector<ParityRun> runs, run_parity(asked));
  Report report =
      answer(invocation.json() ? as_json(asked, runs) : as_text(asked, runs, invocation.colours()));
  if (const auto checked = check_parity(runs); !checked) {
    report.failure = checked.error();
    report.exit_code = info(checked.error().code).exit_code;
  }
  return report;
}

}  // namespace

const Command parity_command{
    .name = "parity",
    .summary = "compare a slot's implementation with the reference on this machine",
    .positionals = {.min = 1, .max = 1, .usage = "SLOT"},
    .description =
        "Runs the parity set of a slot, forward and backward, as a process would, and prints a\n"
        "record: what ran, on what, and the greatest error. hub is the image of the pin and "
        "fetches\n"
        "what is missing, cuda the library's own code, both on each GPU; cpu runs on the "
        "processors.\n"
        "cuda and cpu need no service. Ends with 8 if anything differs by more than the "
        "tolerance,\n"
        "or, in the quantization slots, in one bit, and says what and where.",
    .options = options,
    .examples = examples,
    .run = run_parity_command,
};

}  // namespace lyk::cli
