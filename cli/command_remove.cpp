// remove: take away the files of a slot.
#include <array>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/service.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Example, 1> examples{{
    {"remove ms_deform_attn", "free the space of a slot; its pin stays"},
}};

Result<Report> run_remove(const Invocation& invocation) {
  LYK_TRY_ASSIGN(SlotName slot, SlotName::parse(invocation.arguments.positionals().front()));
  LYK_TRY_ASSIGN(client::Connection connection, connect(invocation));
  LYK_TRY_ASSIGN(const wire::RemoveReply reply,
                 connection.call<wire::RemoveReply>(wire::RemoveCall{.slot = std::move(slot)}));
  if (invocation.json())
    return answer(document_of(reply));
  return answer(
      str("removed ", counted(reply.files, "file"), ", ", human_bytes(reply.bytes), '\n'));
}

}  // namespace

const Command remove_command{
    .name = "remove",
    .summary = "take away the files of a slot; the pin stays",
    .positionals = {.min = 1, .max = 1, .usage = "SLOT"},
    .description =
        "Takes the files of a pinned slot out of the store. The pin stays: the next process that\n"
        "asks for the slot has it fetched again. Processes that hold an image keep it.",
    .options = {},
    .examples = examples,
    .run = run_remove,
};

}  // namespace lyk::cli
