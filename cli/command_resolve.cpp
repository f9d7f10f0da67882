// resolve: what a process with a given GPU would be handed, and why.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "cli/command.hpp"
#include "cli/file.hpp"
#include "cli/output.hpp"
#include "cli/run.hpp"
#include "cli/service.hpp"
#include "cli/state_names.hpp"
#include "proto/hash.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Option, 3> options{{
    {.name = "arch", .value = "ARCH", .help = "compute capability of the GPU, as 9.0; required"},
    {.name = "driver",
     .value = "VERSION",
     .help = "CUDA version of its driver, as 13.0; default: new enough for everything"},
    {.name = "output", .value = "FILE", .help = "write the image to FILE"},
}};

constexpr std::array<Example, 2> examples{{
    {"resolve ms_deform_attn --arch 9.0", "which image an H100 gets, and why not the others"},
    {"resolve ms_deform_attn --arch 8.7 --driver 12.6 --output msda.cubin",
     "the bytes that a process on an Orin would load"},
}};

std::string as_json(const wire::ResolveReply& reply) {
  JsonDocument document;
  document.begin_object();
  document.member("slot", reply.slot);
  document.key("image");
  document.begin_object();
  add_image_members(document, reply.image);
  document.end_object();
  document.member("repo", reply.repo);
  document.member("repo_type", reply.repo_type);
  document.member("commit", reply.commit);
  document.member("proof", proof_name(reply.proof));
  document.member("file", reply.file);
  document.member("pin", reply.pin);
  document.member("deterministic", reply.deterministic);
  add_refused(document, reply.refused);
  document.end_object();
  return std::move(document).finish();
}

std::string refused_table(const std::vector<wire::RefusedImage>& refused, Colours colours) {
  if (refused.empty())
    return {};
  Table table{{{"REFUSED"}, {"REASON"}}};
  for (const wire::RefusedImage& entry : refused)
    table.add({{printable(entry.image)}, {printable(entry.reason)}});
  return str('\n', table.render(colours));
}

std::string as_text(const wire::ResolveReply& reply, Colours colours) {
  const wire::Image& image = reply.image;
  Facts facts;
  facts.add("slot", printable(reply.slot));
  facts.add("image",
            str(printable(image_title(image)), ", ", human_bytes(image.bytes), ", ",
                counted(image.kernels.size(), "kernel")),
            Paint::green);
  facts.add("sha256", image.sha256.hex());
  facts.add("file", printable(reply.file));
  facts.add("repo", str(printable(reply.repo), " (", printable(reply.repo_type), ')'));
  facts.add("commit", printable(reply.commit));
  facts.add("proof", std::string{proof_name(reply.proof)});
  facts.add("pin", printable(reply.pin));
  return str(facts.render(colours), refused_table(reply.refused, colours));
}

// The image in the sealed memfd, whose offset is shared and whose PTX has one NUL more.
Result<std::vector<std::byte>> image_bytes(const client::ResolvedImage& resolved) {
  const wire::Image& image = resolved.reply.image;
  std::vector<std::byte> bytes(image.bytes);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(resolved.fd.get(), bytes.data() + done, bytes.size() - done,
                                static_cast<off_t>(done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return os_error(errno, "read the image");
    if (got == 0)
      return Error{Code::size_mismatch,
                   str("image: expected ", bytes.size(), " bytes, found ", done)};
    done += static_cast<std::size_t>(got);
  }
  if (const Digest actual = sha256(bytes); actual != image.sha256)
    return Error{Code::digest_mismatch,
                 str("image: expected sha256 ", image.sha256.hex(), ", found ", actual.hex())};
  return bytes;
}

// Nothing fits: the refused candidates are an answer, so they are shown like one.
Report nothing_fits(const Error& error,
                    const wire::ErrorFields& fields,
                    const Invocation& invocation) {
  Report report;
  report.exit_code = info(error.code).exit_code;
  report.failure = error;
  report.text = invocation.json() ? error_document(error, fields)
                                  : refused_table(fields.refused, invocation.colours()).substr(1);
  return report;
}

Result<Report> run_resolve(const Invocation& invocation) {
  LYK_TRY_ASSIGN(SlotName slot, SlotName::parse(invocation.arguments.positionals().front()));
  LYK_TRY_ASSIGN(const std::optional<Device> device, parse_device(invocation.arguments));
  if (!device)
    return Error{Code::invalid_argument, "resolve: option --arch is required, as --arch 9.0"};
  LYK_TRY_ASSIGN(client::Connection connection, connect(invocation));
  auto resolved = connection.resolve({.slot = std::move(slot),
                                      .device = *device,
                                      .wait_ms = std::nullopt,
                                      .offline = invocation.offline(),
                                      .describe = true});
  if (!resolved) {
    if (connection.error_fields().refused.empty())
      return std::move(resolved).error();
    return nothing_fits(resolved.error(), connection.error_fields(), invocation);
  }
  if (const auto output = invocation.arguments.value("output")) {
    LYK_TRY_ASSIGN(const std::vector<std::byte> bytes, image_bytes(*resolved));
    LYK_TRY(write_file(*output, bytes, 0644));
  }
  const wire::ResolveReply& reply = resolved->reply;
  return answer(invocation.json() ? as_json(reply) : as_text(reply, invocation.colours()));
}

}  // namespace

const Command resolve_command{
    .name = "resolve",
    .summary = "which image a process with a given GPU would get, and why",
    .positionals = {.min = 1, .max = 1, .usage = "SLOT"},
    .description =
        "Shows the device image that a process with the given GPU would be handed, and "
        "every other\ncandidate with the reason why not. Fetches what is missing, as a "
        "process would.",
    .options = options,
    .examples = examples,
    .run = run_resolve,
};

}  // namespace lyk::cli
