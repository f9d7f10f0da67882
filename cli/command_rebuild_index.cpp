// rebuild-index: start the index anew from what lies in the store.
#include <array>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/service.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Example, 1> examples{{
    {"rebuild-index", "after the index was lost or damaged"},
}};

Result<Report> run_rebuild_index(const Invocation& invocation) {
  LYK_TRY_ASSIGN(client::Connection connection, connect(invocation));
  LYK_TRY_ASSIGN(const wire::RebuildIndexReply reply,
                 connection.call<wire::RebuildIndexReply>(wire::RebuildIndexCall{}));
  if (invocation.json())
    return answer(document_of(reply));
  return answer(str("indexed ", counted(reply.files, "file"), ", ", counted(reply.images, "image"),
                    ", ", counted(reply.revisions, "revision"), '\n'));
}

}  // namespace

const Command rebuild_index_command{
    .name = "rebuild-index",
    .summary = "start the index anew from the stored files, their proofs and the pins",
    .positionals = {.min = 0, .max = 0, .usage = ""},
    .description =
        "Writes a new index from the stored files, the git objects that prove them and the pins.\n"
        "Nothing is downloaded; only the record of when files were used is lost.",
    .options = {},
    .examples = examples,
    .run = run_rebuild_index,
};

}  // namespace lyk::cli
