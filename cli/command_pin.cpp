// pin: make or raise the pin of a slot. The service turns the revision into a proven commit; the
// file is written by us, with the rights of whoever runs us, and only once everything is proven.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/command.hpp"
#include "cli/file.hpp"
#include "cli/output.hpp"
#include "cli/parity.hpp"
#include "cli/parity_report.hpp"
#include "cli/pin_file.hpp"
#include "cli/progress.hpp"
#include "cli/service.hpp"
#include "client/environment.hpp"
#include "proto/launch_abi.hpp"
#include "proto/ownership.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::array<Option, 8> options{{
    {.name = "repo", .value = "OWNER/NAME", .help = "repo on the Hub; required"},
    {.name = "revision", .value = "REVISION", .help = "commit, tag, branch or version; required"},
    {.name = "type",
     .value = "TYPE[,TYPE]",
     .help = "repo types to try in this order, `kernel` and `model`; default: both",
     .repeat = Repeat::many},
    {.name = "abi",
     .value = "ABI",
     .help = "launch ABI that the images must define; default: that of the pin there is"},
    {.name = "output", .value = "FILE", .help = "where to write the pin; - is stdout"},
    {.name = "system", .value = "", .help = "write to /etc/libreyolo-kernels/pins.d, as root"},
    {.name = "force", .value = "", .help = "replace a pin of another repo too"},
    set_option,
}};

constexpr std::array<Example, 2> examples{{
    {"pin ms_deform_attn --repo kernels-community/deformable-detr --revision v1 --abi "
     "ms_deform_im2col",
     "pin what the branch v1 is now"},
    {"pin ms_deform_attn --repo kernels-community/deformable-detr --revision 2 --output -",
     "only show the pin, with the ABI of the one in force"},
}};

// How the images of the new pin are called in messages, before it is in a file.
constexpr std::string_view candidate_name = "the new pin";

struct Target {
  enum class Kind { stdout_stream, file, service_pin };  // the last is what a service reads
  Kind kind = Kind::file;
  fs::path path;
};

struct Request {
  wire::ProbeCall call;
  Target target;
  parity::Extent extent;
  std::optional<ExistingPin> existing;
};

// What the GPUs of this machine say of the new pin.
struct Parity {
  std::vector<ParityRun> runs;             // those that passed
  std::vector<std::string> without_image;  // those that were not compared, and why
  std::string not_run;                     // why none was; empty: one was
};

// What is proven and checked.
struct Candidate {
  const wire::ProbeReply& reply;
  const Parity& parity;
  std::string text;  // of the pin file, with what parity found
};

Result<std::string> required(const Arguments& arguments, std::string_view option) {
  if (auto value = arguments.value(option))
    return std::move(*value);
  return Error{Code::invalid_argument, str("pin: option --", option, " is required")};
}

// What git allows in the name of a branch or tag; a commit and a version are such names too. Wrong
// ones are refused here, before a service is started for them.
Result<void> check_revision(std::string_view revision) {
  const bool good =
      revision.find("..") == std::string_view::npos && revision.front() != '-' &&
      std::none_of(revision.begin(), revision.end(), [](char c) {
        constexpr std::string_view special = "~^:?*[\\";
        const auto byte = static_cast<unsigned char>(c);
        return byte <= 0x20 || byte == 0x7f || special.find(c) != std::string_view::npos;
      });
  if (good)
    return {};
  return Error{Code::invalid_argument, str("option --revision: ", quoted(revision),
                                           " cannot be a branch, tag, version or commit")};
}

Result<void> check_abi(const std::optional<std::string>& abi) {
  if (!abi || find_launch_abi(*abi) != nullptr)
    return {};
  return Error{Code::invalid_argument, str("option --abi: ", no_launcher_text(*abi))};
}

Result<Target> parse_target(const Invocation& invocation, const SlotName& slot) {
  const auto output = invocation.arguments.value("output");
  const bool system = invocation.arguments.has("system");
  if (output && system)
    return Error{Code::invalid_argument, "pin: options --output and --system exclude each other"};
  if (output)
    return Target{.kind = *output == "-" ? Target::Kind::stdout_stream : Target::Kind::file,
                  .path = *output};
  const std::string file_name = slot.text() + ".toml";
  if (system)
    return Target{.kind = Target::Kind::service_pin,
                  .path = fs::path{"/etc/libreyolo-kernels/pins.d"} / file_name};
  if (!invocation.preferences.config_home)
    return Error{Code::invalid_argument, "pin: HOME is not set: name the file with --output FILE"};
  return Target{
      .kind = Target::Kind::service_pin,
      .path = *invocation.preferences.config_home / "libreyolo-kernels" / "pins.d" / file_name};
}

// What would fail, or be refused by the service that is to read it, once everything is proven.
Result<void> check_target(const Target& target) {
  const fs::path folder = target.path.parent_path();
  LYK_TRY(check_may_write_into(folder));
  struct stat found {};
  if (target.kind != Target::Kind::service_pin || ::stat(folder.c_str(), &found) != 0)
    return {};  // a folder that is missing is made as it has to be
  return check_ownership(found, folder.native(), ::geteuid());
}

// A pin of another repo is another decision, so it takes --force.
Result<void> check_replacement(const ExistingPin& existing,
                               const RepoId& repo,
                               const fs::path& path) {
  if (!existing.repo)
    return Error{Code::refused, str(quoted(path.native()),
                                    " exists and is no pin: --force replaces it all the same")};
  if (*existing.repo != repo.text())
    return Error{Code::refused, str(quoted(path.native()), " pins repo ", quoted(*existing.repo),
                                    ", not ", quoted(repo.text()), ": --force replaces it")};
  return {};
}

Result<Request> parse_request(const Invocation& invocation) {
  const Arguments& arguments = invocation.arguments;
  LYK_TRY_ASSIGN(SlotName slot, SlotName::parse(arguments.positionals().front()));
  LYK_TRY_ASSIGN(const std::string repo_text, required(arguments, "repo"));
  LYK_TRY_ASSIGN(std::string revision, required(arguments, "revision"));
  LYK_TRY(check_revision(revision));
  LYK_TRY(check_abi(arguments.value("abi")));
  LYK_TRY_ASSIGN(RepoId repo, RepoId::parse(repo_text));
  LYK_TRY_ASSIGN(const std::vector<std::string> types, split_list(arguments.values("type")));
  std::vector<RepoType> repo_types;
  for (const std::string& type : types) {
    LYK_TRY_ASSIGN(const RepoType repo_type, parse_repo_type(type));
    repo_types.push_back(repo_type);
  }
  LYK_TRY_ASSIGN(Target target, parse_target(invocation, slot));
  LYK_TRY_ASSIGN(const parity::Extent extent, parse_extent(arguments));
  Request request{.call = {.slot = std::move(slot),
                           .repo = std::move(repo),
                           .revision = std::move(revision),
                           .repo_types = std::move(repo_types),
                           .abi = arguments.value("abi")},
                  .target = std::move(target),
                  .extent = extent,
                  .existing = std::nullopt};
  if (request.target.kind == Target::Kind::stdout_stream)
    return request;
  LYK_TRY(check_target(request.target));
  LYK_TRY_ASSIGN(request.existing, read_existing_pin(request.target.path));
  if (!request.existing)
    return request;
  if (!arguments.has("force"))
    LYK_TRY(check_replacement(*request.existing, request.call.repo, request.target.path));
  if (!request.call.abi)
    request.call.abi = request.existing->abi;
  return request;
}

// Keys that only people write: told when a raised pin no longer has them.
std::vector<std::string> keys_lost(const ExistingPin& existing, std::string_view text) {
  std::vector<std::string> lost;
  for (const std::string& key : existing.keys)
    if (text.find(str('\n', key, ' ')) == std::string_view::npos && !text.starts_with(key + ' ') &&
        text.find(str("[", key, "]")) == std::string_view::npos)
      lost.push_back(key);
  return lost;
}

Result<void> write_pin(const Target& target, std::string_view text) {
  LYK_TRY(make_folders(target.path.parent_path(), target.kind == Target::Kind::service_pin
                                                      ? FolderMode::for_services
                                                      : FolderMode::by_umask));
  return write_file(target.path, std::as_bytes(std::span{text}), 0644);
}

// The image of the new pin, which is not in force yet. A service of an earlier release does not
// know a pin of the call and would answer with an image of the one in force.
Result<client::ResolvedImage> resolve_candidate(client::Connection& connection,
                                                const SlotName& slot,
                                                const wire::ProbeReply& reply,
                                                const Device& device) {
  LYK_TRY_ASSIGN(client::ResolvedImage image,
                 connection.resolve({.slot = slot,
                                     .device = device,
                                     .wait_ms = std::nullopt,
                                     .offline = false,
                                     .describe = false,
                                     .pin = reply.pin,
                                     .pin_name = std::string{candidate_name}}));
  if (image.reply.commit != reply.commit || image.reply.pin != candidate_name)
    return Error{Code::protocol,
                 str("reply of Resolve: it is of ", quoted(image.reply.pin), " and not of ",
                     candidate_name, ": the service is of an earlier release; restart it")};
  return image;
}

Parity parity_not_run(std::string_view why) {
  return {{}, {}, str("not run: ", why, "; compare results on a GPU before you rely on the pin")};
}

// Raising a pin takes a run of the parity set where there is a GPU. Refused: a result differs, or a
// kernel does not run. A GPU for which the pin has no image has no say, and is told of.
Result<Parity> demand_parity(const Invocation& invocation,
                             const Request& request,
                             const wire::ProbeReply& reply,
                             client::Connection& connection) {
  const SlotName& slot = request.call.slot;
  const parity::Set* set = parity::find_set(slot.text());
  const ExistingPin pin = parse_existing_pin(*reply.pin);
  if (!pin.repo)
    return Error{Code::protocol, "reply of Probe: its 'pin' is no pin"};
  if (!pin.abi)
    return Parity{{}, {}, "not run: the pin is for files, of which nothing is launched"};
  if (set == nullptr)
    return parity_not_run("there is no parity set of this slot");
  auto runs = run_parity({.invocation = invocation,
                          .set = *set,
                          .implementation = parity::Implementation::hub,
                          .extent = request.extent,
                          .resolve = [&](const Device& device) {
                            return resolve_candidate(connection, slot, reply, device);
                          }});
  if (!runs && runs.error().code == Code::no_driver)
    return parity_not_run(runs.error().message);
  if (!runs)
    return annotate(std::move(runs).error(), "parity cannot run, so the pin is not written");
  Parity parity;
  for (ParityRun& run : *runs) {
    if (run.ran || run.image) {
      parity.runs.push_back(std::move(run));
      continue;
    }
    if (run.ran.error().code != Code::no_image)
      return annotate(run.ran.error(),
                      str("parity cannot run, so the pin is not written: ", device_text(run)));
    parity.without_image.push_back(str(device_text(run), ": ", run.ran.error().message));
  }
  if (auto checked = check_parity(parity.runs); !checked)
    return Error{Code::refused,
                 str("parity failed, so the pin is not written: ", checked.error().message)};
  if (parity.runs.empty())
    return parity_not_run(parity.without_image.front());
  return parity;
}

std::string as_json(const Request& request, const Candidate& candidate) {
  const wire::ProbeReply& reply = candidate.reply;
  JsonDocument document;
  document.begin_object();
  document.member("slot", request.call.slot.text());
  document.member("repo", request.call.repo.text());
  document.member("repo_type", reply.repo_type);
  document.member("commit", reply.commit);
  document.member("license", reply.license);
  document.member("files", std::uint64_t{reply.files.size()});
  document.member("written", request.target.kind == Target::Kind::stdout_stream
                                 ? std::nullopt
                                 : std::optional{request.target.path.native()});
  document.member("replaced_commit", request.existing ? request.existing->revision : std::nullopt);
  document.member("parity", candidate.parity.not_run.empty() ? "passed" : "not_run");
  document.key("parity_records");
  add_parity_records(document, parity_records(candidate.parity.runs));
  document.member("warnings", reply.warnings);
  document.member("kept", reply.kept);
  document.member("pin", std::string_view{candidate.text});
  document.end_object();
  return std::move(document).finish();
}

// Keys of the pin before that are true of the new one too.
std::string kept_text(const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys)
    text += str(text.empty() ? "" : ", ", printable(key));
  return text;
}

// "passed on 0: NVIDIA H200, greatest error 1.2e-07".
std::string parity_line(const Parity& parity) {
  std::string out;
  for (const ParityRun& run : parity.runs)
    out += str(out.empty() ? "passed on " : "; ", run.gpu->number, ": ", printable(run.gpu->name),
               ", ", parity::name(run.extent), " set, greatest error ",
               short_number(run.greatest_error()));
  return parity.not_run.empty() ? out : printable(parity.not_run);
}

std::string as_text(const Request& request, const Candidate& candidate, Colours colours) {
  const wire::ProbeReply& reply = candidate.reply;
  std::uint64_t images = 0;
  for (const wire::File& file : reply.files)
    images += file.images.size();
  Facts facts;
  facts.add("slot", request.call.slot.text());
  facts.add("repo",
            str(request.call.repo.text(), " (", printable(reply.repo_type.value_or("-")), ')'));
  facts.add("commit", printable(reply.commit.value_or("-")), Paint::green);
  if (request.existing && request.existing->revision)
    facts.add("before", printable(*request.existing->revision));
  facts.add("license", printable(reply.license.value_or("not stated")));
  if (!reply.kept.empty())
    facts.add("kept", kept_text(reply.kept));
  facts.add("proven", str(counted(reply.files.size(), "file"), ", ", counted(images, "image")));
  facts.add("written", printable(request.target.path.native()));
  facts.add("parity", parity_line(candidate.parity),
            candidate.parity.not_run.empty() ? Paint::green : Paint::yellow);
  return facts.render(colours);
}

Result<Report> run_pin(const Invocation& invocation) {
  LYK_TRY_ASSIGN(const Request request, parse_request(invocation));
  if (invocation.offline())
    return Error{Code::offline, str("pin: a revision is looked up on the Hub, and ",
                                    *invocation.preferences.offline_because, " forbids that")};
  LYK_TRY_ASSIGN(client::Connection connection, connect(invocation, client::Audience::own_uid));
  ProgressPrinter printer{invocation.terminal, invocation.progress()};
  const auto show = [&](const wire::ProbeReply& step) {
    if (step.progress)
      printer.show(*step.progress, now());
  };
  LYK_TRY_ASSIGN(wire::ProbeReply reply, connection.stream<wire::ProbeReply>(request.call, show));
  printer.clear();
  if (!reply.pin || !reply.commit)
    return Error{Code::protocol, "reply of Probe: the last one has no 'pin'"};
  if (request.call.abi && !invocation.arguments.has("abi"))
    reply.kept.insert(reply.kept.begin(), "abi");
  LYK_TRY_ASSIGN(const Parity parity, demand_parity(invocation, request, reply, connection));
  const Candidate candidate{reply, parity, *reply.pin + parity_toml(parity_records(parity.runs))};
  Report report;
  for (const std::string& warning : reply.warnings)
    report.notes.push_back(str("warning: ", warning));
  for (const std::string& gpu : parity.without_image)
    report.notes.push_back(str("warning: ", gpu, "; it was not compared"));
  if (request.extent == parity::Extent::small && !parity.runs.empty())
    report.notes.push_back(
        str("warning: parity ran the small set alone; before you rely on the pin, "
            "run 'libreyolo-kernels parity ",
            request.call.slot.text(), "'"));
  if (request.target.kind == Target::Kind::stdout_stream) {
    report.text = invocation.json() ? as_json(request, candidate) : candidate.text;
    report.notes.push_back(str("parity ", parity_line(parity)));
    return report;
  }
  if (request.existing)
    for (const std::string& key : keys_lost(*request.existing, candidate.text))
      report.notes.push_back(str("warning: the pin before had `", key, "`, the new one has not"));
  LYK_TRY(write_pin(request.target, candidate.text));
  report.notes.emplace_back("a service that runs already reads its pins when it is reloaded");
  report.text = invocation.json() ? as_json(request, candidate)
                                  : as_text(request, candidate, invocation.colours());
  return report;
}

}  // namespace

const Command pin_command{
    .name = "pin",
    .summary = "make or raise the pin of a slot",
    .positionals = {.min = 1, .max = 1, .usage = "SLOT"},
    .description =
        "Turns a revision into a commit, proves its files and writes a pin with their hashes. The\n"
        "file is ~/.config/libreyolo-kernels/pins.d/SLOT.toml unless --output or --system names\n"
        "another; it is written only when everything is proven and, where this machine has a GPU,\n"
        "the kernels compute there what the reference does, which is noted in the file.",
    .options = options,
    .examples = examples,
    .run = run_pin,
};

}  // namespace lyk::cli
