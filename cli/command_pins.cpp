// pins: the pins in force and where each came from.
#include <array>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/service.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Example, 1> examples{{
    {"pins", "every pin, and the files and folders that are refused"},
}};

std::string as_text(const wire::PinsReply& reply, Colours colours) {
  if (reply.pins.empty())
    return no_pins_text(reply.refused);
  Table table{{{"SLOT"}, {"REPO"}, {"REVISION"}, {"ABI"}, {"SOURCE"}}};
  for (const wire::Pin& pin : reply.pins)
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
      answer(invocation.json() ? document_of(reply) : as_text(reply, invocation.colours()));
  add_warnings(report, reply.refused);
  return report;
}

}  // namespace

const Command pins_command{
    .name = "pins",
    .summary = "the pins in force and where each came from",
    .positionals = {.min = 0, .max = 0, .usage = ""},
    .description =
        "Lists the pins in force. A pin file that is refused, or a folder of them, is told on\n"
        "stderr with the reason.",
    .options = {},
    .examples = examples,
    .run = run_pins,
};

}  // namespace lyk::cli
