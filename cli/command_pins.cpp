// pins: the pins in force and where each came from.
#include <array>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/service.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Example, 1> examples{{
    {"pins", "every pin, and the files that were refused"},
}};

std::string as_text(const std::vector<wire::Pin>& pins, Colours colours) {
  if (pins.empty())
    return "no slot is pinned\n";
  Table table{{{"SLOT"}, {"REPO"}, {"REVISION"}, {"ABI"}, {"SOURCE"}}};
  for (const wire::Pin& pin : pins)
    table.add({{printable(pin.slot)},
               {printable(pin.repo)},
               {short_hash(printable(pin.revision))},
               {printable(pin.abi.value_or("-"))},
               {printable(pin.source)}});
  return table.render(colours);
}

Result<Report> run_pins(const Invocation& invocation) {
  LYK_TRY_ASSIGN(client::Connection connection, connect(invocation));
  LYK_TRY_ASSIGN(const wire::PinsReply reply, connection.call<wire::PinsReply>(wire::PinsCall{}));
  Report report =
      answer(invocation.json() ? document_of(reply) : as_text(reply.pins, invocation.colours()));
  for (const wire::RefusedPin& refused : reply.refused)
    report.notes.push_back(
        str("warning: pin ", quoted(refused.source), " is not in force: ", refused.reason));
  return report;
}

}  // namespace

const Command pins_command{
    .name = "pins",
    .summary = "the pins in force and where each came from",
    .positionals = {.min = 0, .max = 0, .usage = ""},
    .description =
        "Lists the pins in force. A pin file that could not be read is told on stderr, "
        "with the reason.",
    .options = {},
    .examples = examples,
    .run = run_pins,
};

}  // namespace lyk::cli
