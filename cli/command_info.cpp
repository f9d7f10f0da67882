// info: a pin and what is there of it, down to the images of each file.
#include <array>

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/parity_report.hpp"
#include "cli/service.hpp"
#include "cli/state_names.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Example, 1> examples{{
    {"info ms_deform_attn", "pin, commit, proof, files and images of a slot"},
}};

void add_pin(JsonDocument& document, const wire::Pin& pin) {
  document.key("pin");
  document.begin_object();
  document.member("slot", pin.slot);
  document.member("repo", pin.repo);
  document.member("repo_types", pin.repo_types);
  document.member("revision", pin.revision);
  document.member("license", pin.license);
  document.member("abi", pin.abi);
  document.member("deterministic", pin.deterministic);
  document.member("public", pin.is_public);
  document.member("variants", pin.variants);
  document.member("digests", pin.digests);
  document.member("source", pin.source);
  document.key("parity");
  add_parity_records(document, pin.parity);
  document.end_object();
}

void add_revision(JsonDocument& document, const std::optional<wire::Revision>& revision) {
  document.key("revision");
  if (!revision) {
    document.null();
    return;
  }
  document.begin_object();
  document.member("repo", revision->repo);
  document.member("repo_type", revision->repo_type);
  document.member("commit", revision->commit);
  document.member("proof", proof_name(revision->proof));
  document.member("gated", revision->gated);
  document.member("files", revision->files);
  document.member("images", revision->images);
  document.member("bytes", revision->bytes);
  document.end_object();
}

// The images are in the form of `inspect --json`.
std::string as_json(const wire::InfoReply& reply) {
  JsonDocument document;
  document.begin_object();
  add_pin(document, reply.pin);
  add_revision(document, reply.revision);
  document.key("files");
  document.begin_array();
  for (const wire::File& file : reply.files) {
    document.begin_object();
    document.member("path", file.path);
    document.member("bytes", file.bytes);
    document.member("sha256", file.sha256.hex());
    document.key("images");
    document.begin_array();
    for (const wire::Image& image : file.images) {
      document.begin_object();
      add_image_members(document, image);
      document.end_object();
    }
    document.end_array();
    document.end_object();
  }
  document.end_array();
  document.end_object();
  return std::move(document).finish();
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words)
    out += str(out.empty() ? "" : ", ", printable(word));
  return out;
}

std::string facts_text(const wire::InfoReply& reply, Colours colours) {
  const wire::Pin& pin = reply.pin;
  Facts facts;
  facts.add("slot", printable(pin.slot));
  facts.add("pin", printable(pin.source));
  facts.add("repo", str(printable(pin.repo), " (", joined(pin.repo_types), ')'));
  facts.add("revision", printable(pin.revision));
  if (pin.license)
    facts.add("license", printable(*pin.license));
  facts.add("abi", printable(pin.abi.value_or("none: files only")));
  if (!pin.deterministic.empty())
    facts.add("deterministic", joined(pin.deterministic));
  if (pin.digests != 0)
    facts.add("digests", counted(pin.digests, "file"));
  for (const wire::ParityRecord& record : pin.parity)
    facts.add("parity", str("image ", short_hash(record.image.hex()), " on ", printable(record.gpu),
                            " (", record.arch.capability(), "), CUDA ", record.driver.text(), ", ",
                            printable(record.set), " set: greatest error ",
                            printable(record.greatest_error)));
  if (!reply.revision) {
    facts.add("in the store", "nothing yet", Paint::yellow);
    return facts.render(colours);
  }
  const wire::Revision& revision = *reply.revision;
  facts.add("commit", printable(revision.commit));
  facts.add("proof", str(proof_name(revision.proof), ", ", printable(revision.repo_type), " repo",
                         revision.gated ? ", gated" : ""));
  facts.add("in the store",
            str(counted(revision.files, "file"), ", ", counted(revision.images, "image"), ", ",
                human_bytes(revision.bytes)),
            Paint::green);
  return facts.render(colours);
}

std::string file_text(const wire::File& file, Colours colours) {
  std::string out = str('\n', painted(printable(file.path), Paint::bold, colours), "  ",
                        human_bytes(file.bytes), "  sha256 ", short_hash(file.sha256.hex()), '\n');
  if (file.images.empty())
    return out;
  Table table{{{"IMAGE"}, {"KERNELS", Align::right}, {"SIZE", Align::right}, {"SHA256"}}};
  for (const wire::Image& image : file.images)
    table.add({{printable(image_title(image))},
               {std::to_string(image.kernels.size())},
               {human_bytes(image.bytes)},
               {short_hash(image.sha256.hex())}});
  return out + table.render(colours, "  ");
}

Result<Report> run_info(const Invocation& invocation) {
  LYK_TRY_ASSIGN(SlotName slot, SlotName::parse(invocation.arguments.positionals().front()));
  LYK_TRY_ASSIGN(client::Connection connection, connect(invocation));
  LYK_TRY_ASSIGN(const wire::InfoReply reply,
                 connection.call<wire::InfoReply>(wire::InfoCall{.slot = std::move(slot)}));
  if (invocation.json())
    return answer(as_json(reply));
  Report report = answer(facts_text(reply, invocation.colours()));
  for (const wire::File& file : reply.files)
    report.text += file_text(file, invocation.colours());
  return report;
}

}  // namespace

const Command info_command{
    .name = "info",
    .summary = "the pin of a slot and what the store has of it",
    .positionals = {.min = 1, .max = 1, .usage = "SLOT"},
    .description =
        "Shows the pin of a slot, where it came from, and the proven files and device "
        "images that the\nstore has of it.",
    .options = {},
    .examples = examples,
    .run = run_info,
};

}  // namespace lyk::cli
