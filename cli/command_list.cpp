// list: what the store holds, one row a revision.
#include <array>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/service.hpp"
#include "cli/state_names.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Example, 2> examples{{
    {"list", "everything in the store"},
    {"list ms_deform_attn --json", "one slot, for a script"},
}};

std::string as_text(const std::vector<wire::Revision>& revisions, Colours colours) {
  if (revisions.empty())
    return "the store is empty\n";
  Table table{{{"SLOT"},
               {"REPO"},
               {"COMMIT"},
               {"PROOF"},
               {"FILES", Align::right},
               {"IMAGES", Align::right},
               {"SIZE", Align::right}}};
  for (const wire::Revision& revision : revisions)
    table.add({{printable(revision.slot.value_or("-"))},
               {str(printable(revision.repo), " (", printable(revision.repo_type),
                    revision.gated ? ", gated)" : ")")},
               {short_hash(printable(revision.commit))},
               {std::string{proof_name(revision.proof)}},
               {std::to_string(revision.files)},
               {std::to_string(revision.images)},
               {human_bytes(revision.bytes)}});
  return table.render(colours);
}

Result<Report> run_list(const Invocation& invocation) {
  LYK_TRY_ASSIGN(const std::optional<SlotName> slot, parse_optional_slot(invocation.arguments));
  LYK_TRY_ASSIGN(client::Connection connection, connect(invocation));
  LYK_TRY_ASSIGN(const wire::ListReply reply,
                 connection.call<wire::ListReply>(wire::ListCall{.slot = slot}));
  return answer(invocation.json() ? document_of(reply)
                                  : as_text(reply.revisions, invocation.colours()));
}

}  // namespace

const Command list_command{
    .name = "list",
    .summary = "what the store holds",
    .positionals = {.min = 0, .max = 1, .usage = "[SLOT]"},
    .description = "Lists the revisions in the store; with SLOT only what the slot's pin names.",
    .options = {},
    .examples = examples,
    .run = run_list,
};

}  // namespace lyk::cli
