// status: the service, its store, its slots and its counters.
#include <array>
#include <utility>

#include "cli/command.hpp"
#include "cli/outlook.hpp"
#include "cli/output.hpp"
#include "cli/prometheus.hpp"
#include "cli/service.hpp"
#include "cli/state_names.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Option, 1> options{{
    {.name = "format",
     .value = "FORMAT",
     .help = "`prometheus`: metrics, for node_exporter's textfile collector"},
}};

constexpr std::array<Example, 2> examples{{
    {"status", "what runs, what is cached, what failed"},
    {"status --format prometheus > /var/lib/node_exporter/lyk.prom.new",
     "metrics; rename the file to lyk.prom when it is complete"},
}};

Paint paint_of(wire::SlotState state) {
  switch (state) {
    case wire::SlotState::cached:
      return Paint::green;
    case wire::SlotState::not_cached:
    case wire::SlotState::fetching:
      return Paint::yellow;
    case wire::SlotState::failed:
      return Paint::red;
  }
  LYK_CHECK(false);
}

std::string slots_text(const wire::StatusReply& status, Colours colours) {
  const std::vector<wire::SlotStatus>& slots = status.slots;
  if (slots.empty())
    return str('\n', no_pins_text(status.refused));
  Table table{{{"SLOT"}, {"STATE"}, {"IMAGES", Align::right}, {"REPO"}, {"REASON"}}};
  for (const wire::SlotStatus& slot : slots)
    table.add({{printable(slot.slot)},
               {std::string{slot_state_name(slot.state)}, paint_of(slot.state)},
               {std::to_string(slot.images)},
               {str(printable(slot.repo), '@', short_hash(printable(slot.commit)))},
               {printable(slot.reason.value_or(""))}});
  return str('\n', table.render(colours));
}

std::string outlook_text(const Outlooks& outlooks, Colours colours) {
  Table table{{{"SLOT"}, {"GPU"}, {"RUNS"}, {"REASON"}}};
  for (const Outlook& row : outlooks.rows)
    table.add({{printable(row.slot)},
               {row.gpu ? gpu_title(*row.gpu) : "-"},
               {row.obstacle ? "nothing" : row.implementation,
                row.obstacle ? Paint::yellow : Paint::green},
               {printable(row.reason)}});
  return str('\n', table.render(colours));
}

// What the service says, and what this machine makes of it: the members of both.
std::string as_json(const wire::StatusReply& status, const Outlooks& outlooks) {
  JsonDocument machine;
  machine.begin_object();
  add_outlook_members(machine, outlooks);
  machine.end_object();
  const std::string members = std::move(machine).finish();
  const std::string service = wire::to_json(status);
  return str(std::string_view{service}.substr(0, service.rfind('\n')), ',',
             std::string_view{members}.substr(1));
}

std::string as_text(const wire::StatusReply& status, const Outlooks& outlooks, Colours colours) {
  const wire::StoreStatus& store = status.store;
  const wire::Counters& counters = status.counters;
  Facts facts;
  facts.add("service", str(printable(status.version), ", ", mode_name(status.mode), ", pid ",
                           status.pid, ", up ", human_seconds(status.uptime_s)));
  facts.add("endpoint", str(printable(status.endpoint),
                            status.offline ? " (offline: only what is cached)" : ""));
  facts.add("store", str(printable(store.path), store.writable ? "" : " (read-only)"));
  facts.add("size", str(human_bytes(store.bytes), " of ", human_bytes(store.bytes_max), ", ",
                        counted(store.files, "file"), ", ", counted(store.images, "image")));
  if (store.quarantined != 0)
    facts.add("quarantine", counted(store.quarantined, "file"), Paint::red);
  facts.add("resolves", str(counters.resolve_calls, ": ", counters.resolve_memory_hits,
                            " from memory, ", counters.resolve_store_hits, " from the store, ",
                            counters.resolve_misses, " missed"));
  facts.add("fetches", str(counters.fetches_done, " done, ", counters.fetches_failed, " failed, ",
                           human_bytes(counters.fetched_bytes), " downloaded"));
  facts.add("gpus", gpus_text(outlooks.situation));
  return str(facts.render(colours), slots_text(status, colours), outlook_text(outlooks, colours));
}

Result<Report> run_status(const Invocation& invocation) {
  const auto format = invocation.arguments.value("format");
  if (format && *format != "prometheus")
    return Error{Code::invalid_argument,
                 str("format ", quoted(*format), " is not known: expected prometheus")};
  if (format && invocation.json())
    return Error{Code::invalid_argument, "options --json and --format exclude each other"};
  LYK_TRY_ASSIGN(client::Connection connection, connect(invocation));
  const Outlooks outlooks = look_out(invocation, std::move(connection), {}, Thoroughness::ask);
  if (!outlooks.situation.service)
    return outlooks.situation.service.error();
  const wire::StatusReply& status = outlooks.situation.service->status;
  if (format)
    return answer(prometheus(status, outlooks));
  Report report = answer(invocation.json() ? as_json(status, outlooks)
                                           : as_text(status, outlooks, invocation.colours()));
  add_warnings(report, status.refused);
  return report;
}

}  // namespace

const Command status_command{
    .name = "status",
    .summary = "the service, its store, its slots and its counters",
    .positionals = {.min = 0, .max = 0, .usage = ""},
    .description =
        "Shows who answers, what its store holds, the state of every pinned slot with "
        "the reason, counters,\nand what a process on this machine would run for each slot, and "
        "why. "
        "`doctor` also tries it.",
    .options = options,
    .examples = examples,
    .run = run_status,
};

}  // namespace lyk::cli
