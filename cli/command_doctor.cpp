// doctor: for each slot the first thing that keeps it from being accelerated here, and what mends
// it.
#include <array>
#include <utility>

#include "cli/command.hpp"
#include "cli/outlook.hpp"
#include "cli/output.hpp"
#include "cli/service.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Example, 2> examples{{
    {"doctor", "every slot"},
    {"doctor ms_deform_attn --json",
     "one slot, for a script: exit code 0 if something runs for it"},
}};

std::string as_json(const Outlooks& outlooks) {
  JsonDocument document;
  document.begin_object();
  add_outlook_members(document, outlooks);
  document.end_object();
  return std::move(document).finish();
}

std::string as_text(const Outlooks& outlooks, Colours colours) {
  Facts facts;
  facts.add("gpus", gpus_text(outlooks.situation),
            outlooks.situation.gpus ? Paint::none : Paint::yellow);
  const Result<ServiceView>& service = outlooks.situation.service;
  facts.add("service",
            service ? str(printable(service->status.version), ", store ",
                          printable(service->status.store.path))
                    : str("none: ", printable(service.error().message)),
            service ? Paint::none : Paint::yellow);
  std::string out = facts.render(colours);
  for (const Outlook& row : outlooks.rows) {
    const std::string where = row.gpu ? str(" on ", gpu_title(*row.gpu)) : std::string{};
    out += str('\n', painted(printable(row.slot), Paint::bold, colours), where, '\n');
    if (!row.obstacle) {
      out += str("  ", painted(str(row.implementation, " runs"), Paint::green, colours), ": ",
                 printable(row.reason), '\n');
      continue;
    }
    out += str("  ", painted("not accelerated", Paint::red, colours), ": ", printable(row.reason),
               "\n  mend:  ", printable(row.obstacle->mend), '\n');
  }
  return out;
}

Result<Report> run_doctor(const Invocation& invocation) {
  LYK_TRY_ASSIGN(const std::vector<SlotName> slots,
                 parse_slots(invocation.arguments.positionals()));
  const Outlooks outlooks = look_out(invocation, connect(invocation), slots, Thoroughness::try_out);
  Report report =
      answer(invocation.json() ? as_json(outlooks) : as_text(outlooks, invocation.colours()));
  for (const Outlook& row : outlooks.rows)
    if (row.obstacle && report.exit_code == 0)
      report.exit_code = info(row.obstacle->error.code).exit_code;
  return report;
}

}  // namespace

const Command doctor_command{
    .name = "doctor",
    .summary = "what keeps each slot from being accelerated here, and what mends it",
    .positionals = {.min = 0, .max = 64, .usage = "[SLOT...]"},
    .description =
        "For each slot, on each kind of GPU of this machine: the implementation that a process\n"
        "would run, or the first thing in its way and the command that mends it. Images, and the\n"
        "library's own kernels where those would run, are loaded to see that the driver takes\n"
        "them; nothing is fetched. Without a GPU cpu runs, for host tensors; a driver that fails\n"
        "is in the way. Ends with 0 if something runs for every slot, else with the exit code of\n"
        "the first obstacle.",
    .options = {},
    .examples = examples,
    .run = run_doctor,
};

}  // namespace lyk::cli
