// parity: the parity set of a slot on this machine's GPUs against the reference.
#include <array>
#include <utility>

#include "cli/command.hpp"
#include "cli/parity.hpp"
#include "cli/service.hpp"
#include "client/environment.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Option, 1> options{{
    {.name = "implementation", .value = "NAME", .help = "what is compared; default: hub"},
}};

constexpr std::array<Example, 2> examples{{
    {"parity ms_deform_attn", "compare the pinned kernel with the reference on every GPU"},
    {"parity ms_deform_attn --json", "the same for a script: exit code 0 if all of it is equal"},
}};

// The implementations that can be compared.
constexpr std::array<std::string_view, 1> implementations{client::hub_name};

Result<const parity::Set*> find_set(const SlotName& slot) {
  if (const parity::Set* set = parity::find_set(slot.text()))
    return set;
  std::string known;
  for (const parity::Set& set : parity::sets())
    known += str(known.empty() ? "" : ", ", quoted(set.slot));
  return Error{Code::not_found, str("slot ", quoted(slot.text()),
                                    ": there is no parity set; there is one of ", known)};
}

Result<std::string_view> find_implementation(const Arguments& arguments, const SlotName& slot) {
  const std::string asked =
      arguments.value("implementation").value_or(std::string{implementations.front()});
  for (const std::string_view known : implementations)
    if (asked == known)
      return known;
  const std::string_view meant = nearest(asked, implementations);
  return Error{Code::invalid_argument,
               str("slot ", quoted(slot.text()), ": no implementation ", quoted(asked),
                   " can be compared", meant.empty() ? "" : str("; did you mean ", meant, '?'))};
}

std::string as_json(const ParityAsked& asked, const std::vector<ParityRun>& runs) {
  JsonDocument document;
  document.begin_object();
  document.member("slot", asked.set.slot);
  document.member("implementation", asked.implementation);
  document.member("passed", check_parity(runs).has_value());
  add_parity_runs(document, runs);
  document.end_object();
  return std::move(document).finish();
}

std::string as_text(const ParityAsked& asked, const std::vector<ParityRun>& runs, Colours colours) {
  Facts facts;
  facts.add("slot", std::string{asked.set.slot});
  facts.add("implementation", std::string{asked.implementation});
  std::string out = facts.render(colours);
  for (const ParityRun& run : runs)
    out += str('\n', parity_text(run, colours));
  return out;
}

Result<Report> run_parity_command(const Invocation& invocation) {
  LYK_TRY_ASSIGN(const SlotName slot, SlotName::parse(invocation.arguments.positionals().front()));
  LYK_TRY_ASSIGN(const parity::Set* set, find_set(slot));
  LYK_TRY_ASSIGN(const std::string_view implementation,
                 find_implementation(invocation.arguments, slot));
  std::optional<client::Connection> connection;  // made where there is a GPU to ask for
  const ParityAsked asked{.invocation = invocation,
                          .set = *set,
                          .implementation = implementation,
                          .resolve = [&](const Device& device) -> Result<client::ResolvedImage> {
                            if (!connection) {
                              LYK_TRY_ASSIGN(client::Connection made, connect(invocation));
                              connection.emplace(std::move(made));
                            }
                            return connection->resolve({.slot = slot,
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
    .summary = "compare a slot's implementation with the reference on this machine's GPUs",
    .positionals = {.min = 1, .max = 1, .usage = "SLOT"},
    .description =
        "Runs the parity set of a slot on each GPU, forward and backward, as a process would, and\n"
        "prints a record: image, architecture, driver and greatest error. Fetches what is "
        "missing.\n"
        "Ends with 8 if anything differs by more than the tolerance, and says what and where.",
    .options = options,
    .examples = examples,
    .run = run_parity_command,
};

}  // namespace lyk::cli
