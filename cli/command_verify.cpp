// verify: hash the stored files anew.
#include <array>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/service.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Example, 2> examples{{
    {"verify", "the whole store"},
    {"verify ms_deform_attn", "the files of one slot"},
}};

std::string as_text(const wire::VerifyReply& reply, Colours colours) {
  std::string out =
      str("verified ", counted(reply.files, "file"), ", ", human_bytes(reply.bytes), ": ");
  if (reply.damaged.empty() && reply.missing.empty())
    return out + painted("all as proven", Paint::green, colours) + '\n';
  out += painted(str(reply.damaged.size(), " damaged, ", reply.missing.size(), " missing"),
                 Paint::red, colours);
  out += "\n\n";
  Table table{{{"STATE"}, {"FILE"}, {"REPO"}, {"EXPECTED"}, {"FOUND"}}};
  const auto repo_of = [](const auto& file) {
    return str(printable(file.repo), '@', short_hash(printable(file.commit)));
  };
  for (const wire::DamagedFile& file : reply.damaged)
    table.add({{"damaged", Paint::red},
               {printable(file.path)},
               {repo_of(file)},
               {short_hash(printable(file.expected))},
               {short_hash(printable(file.actual))}});
  for (const wire::MissingFile& file : reply.missing)
    table.add({{"missing", Paint::yellow}, {printable(file.path)}, {repo_of(file)}, {"-"}, {"-"}});
  return out + table.render(colours);
}

Result<Report> run_verify(const Invocation& invocation) {
  LYK_TRY_ASSIGN(const std::optional<SlotName> slot, parse_optional_slot(invocation.arguments));
  LYK_TRY_ASSIGN(client::Connection connection, connect(invocation));
  ProgressPrinter printer{invocation.terminal, invocation.progress()};
  LYK_TRY_ASSIGN(const wire::VerifyReply reply,
                 connection.stream<wire::VerifyReply>(wire::VerifyCall{.slot = slot},
                                                      [&](const wire::VerifyReply& step) {
                                                        if (step.progress)
                                                          printer.show(*step.progress, now());
                                                      }));
  printer.clear();
  Report report =
      answer(invocation.json() ? document_of(reply) : as_text(reply, invocation.colours()));
  if (!reply.damaged.empty()) {
    report.exit_code = info(Code::digest_mismatch).exit_code;
    report.notes.emplace_back(
        "damaged files are in the quarantine; the next fetch or resolve of "
        "their slots downloads them again");
  }
  return report;
}

}  // namespace

const Command verify_command{
    .name = "verify",
    .summary = "hash the stored files anew and set damaged ones aside",
    .positionals = {.min = 0, .max = 1, .usage = "[SLOT]"},
    .description =
        "Hashes every stored file, or those of one slot, and compares it with its proof. A "
        "damaged\n"
        "file is moved to the quarantine; the exit code is then 4.",
    .options = {},
    .examples = examples,
    .run = run_verify,
};

}  // namespace lyk::cli
