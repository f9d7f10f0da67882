// prune: shrink the store.
#include <array>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/service.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Option, 1> options{{
    {.name = "max-bytes",
     .value = "SIZE",
     .help = "what may stay, as 500M or 2GiB; default: cache_max_bytes of the configuration"},
}};

constexpr std::array<Example, 2> examples{{
    {"prune", "to the configured size"},
    {"prune --max-bytes 0", "everything that no pin names"},
}};

Result<Report> run_prune(const Invocation& invocation) {
  wire::PruneCall call;
  if (const auto size = invocation.arguments.value("max-bytes")) {
    auto bytes = parse_bytes(*size);
    if (!bytes)
      return annotate(std::move(bytes).error(), "option --max-bytes");
    call.max_bytes = *bytes;
  }
  LYK_TRY_ASSIGN(client::Connection connection, connect(invocation));
  LYK_TRY_ASSIGN(const wire::PruneReply reply, connection.call<wire::PruneReply>(call));
  Report report = answer(invocation.json() ? document_of(reply)
                                           : str("removed ", counted(reply.files, "file"), ", ",
                                                 human_bytes(reply.bytes), "; ",
                                                 human_bytes(reply.bytes_left), " left\n"));
  if (!reply.refused.empty())
    report.notes.emplace_back(
        "warning: nothing was taken that a refused pin may name; mend it and prune again");
  add_warnings(report, reply.refused);
  return report;
}

}  // namespace

const Command prune_command{
    .name = "prune",
    .summary = "shrink the store, never taking what a pin names",
    .positionals = {.min = 0, .max = 0, .usage = ""},
    .description =
        "Takes away files that no pin names, least recently used first, until the store is small\n"
        "enough. Files that a pin names only go by `remove`, and what a pin that is refused may\n"
        "name is kept.",
    .options = options,
    .examples = examples,
    .run = run_prune,
};

}  // namespace lyk::cli
