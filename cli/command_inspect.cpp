// inspect: the device images in a file, which GPUs they run on, and which one a GPU would get.
#include <array>
#include <utility>

#include "cli/command.hpp"
#include "cli/file.hpp"
#include "cli/output.hpp"
#include "cli/service.hpp"
#include "kernels/image/choose.hpp"
#include "kernels/image/image.hpp"
#include "proto/launch_abi.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

constexpr std::array<Option, 4> options{{
    {.name = "arch",
     .value = "ARCH",
     .help = "show which image a GPU of this compute capability gets"},
    {.name = "driver",
     .value = "VERSION",
     .help = "CUDA version of its driver, as 13.0; default: new enough for everything"},
    {.name = "abi",
     .value = "ABI",
     .help = "only images that define this launch ABI are candidates"},
    {.name = "kernels", .value = "", .help = "list the kernels of each image"},
}};

constexpr std::array<Example, 2> examples{{
    {"inspect build/torch29-cxx11-cu130-x86_64-linux/_ops.so --kernels", "what is in a library"},
    {"inspect kernel.fatbin --arch 8.9 --driver 12.4", "would it run on an L4?"},
}};

// The choice that was asked for; `device` absent: none was.
struct Inspection {
  image::Contents contents;
  std::optional<Device> device;
  image::Choice choice;
};

wire::Image to_wire(const image::Image& found) {
  wire::Image out{
      .container = std::string{image::name(found.container)},
      .kind = found.kind == image::Kind::cubin ? wire::ImageKind::cubin : wire::ImageKind::ptx,
      .arch = found.arch.sm(),
      .compression = std::string{image::name(found.compression)},
      .bytes = found.bytes,
      .sha256 = found.sha256,
      .kernels = {}};
  for (const image::Kernel& kernel : found.kernels) {
    std::vector<wire::Parameter> parameters;
    for (const image::Parameter& parameter : kernel.parameters)
      parameters.push_back({parameter.offset, parameter.size});
    out.kernels.push_back({kernel.symbol, kernel.name, std::move(parameters)});
  }
  return out;
}

// "sm_90 cubin", and where several images are called so, their place: "sm_90 cubin #4".
std::string title_of(const image::Contents& contents, std::size_t index) {
  const std::string title = image_title(to_wire(contents.images[index]));
  std::size_t called_so = 0;
  for (const image::Image& other : contents.images)
    called_so +=
        other.kind == contents.images[index].kind && other.arch == contents.images[index].arch ? 1U
                                                                                               : 0U;
  return called_so > 1 ? str(title, " #", index + 1) : title;
}

// Which GPUs an image runs on, in words.
std::string runs_on_text(const image::Image& found) {
  const std::string capability = found.arch.capability();
  if (found.arch.variant == ArchVariant::specific ||
      (found.kind == image::Kind::cubin && is_tegra_arch(found.arch)))
    return str(capability, " only");
  if (found.arch.variant == ArchVariant::family)
    return str(capability, " and later of its family");
  if (found.kind == image::Kind::ptx)
    return str(capability, " and later");
  return str(capability, " and later ", found.arch.major, ".x");
}

Result<Inspection> inspect(const Invocation& invocation) {
  const std::string& path = invocation.arguments.positionals().front();
  LYK_TRY_ASSIGN(std::optional<Device> device, parse_device(invocation.arguments));
  const LaunchAbi* abi = nullptr;
  if (const auto name = invocation.arguments.value("abi")) {
    if (!device)
      return Error{Code::invalid_argument, "inspect: option --abi says nothing without --arch"};
    abi = find_launch_abi(*name);
    if (abi == nullptr)
      return Error{Code::invalid_argument, str("launch ABI ", quoted(*name), " is not known")};
  }
  LYK_TRY_ASSIGN(const std::vector<std::byte> bytes, read_file(path, limits::file_bytes_max));
  auto contents = image::read_contents(bytes);
  if (!contents)
    return annotate(std::move(contents).error(), quoted(path));
  Inspection inspection{.contents = std::move(*contents), .device = device, .choice = {}};
  if (device) {
    std::vector<image::Candidate> candidates;
    for (const image::Image& found : inspection.contents.images)
      candidates.push_back({.image = &found,
                            .file = path,
                            .file_bytes = bytes.size(),
                            .build = image::build_cuda_version(path)});
    inspection.choice = image::choose(candidates, *device, abi);
  }
  return inspection;
}

void add_choice(JsonDocument& document, const Inspection& inspection) {
  const auto& [contents, device, choice] = inspection;
  document.key("choice");
  document.begin_object();
  document.member("arch", device->arch.capability());
  document.member("driver", device->driver ? std::optional{device->driver->text()} : std::nullopt);
  document.member("chosen",
                  choice.chosen ? std::optional{std::uint64_t{*choice.chosen}} : std::nullopt);
  document.member("reason", choice.reason);
  std::vector<wire::RefusedImage> refused;
  for (const image::Refusal& refusal : choice.refused)
    refused.push_back({title_of(contents, refusal.candidate), refusal.reason});
  add_refused(document, refused);
  document.end_object();
}

std::string as_json(const Inspection& inspection) {
  JsonDocument document;
  document.begin_object();
  document.key("images");
  document.begin_array();
  for (const image::Image& found : inspection.contents.images) {
    document.begin_object();
    add_image_members(document, to_wire(found));
    document.end_object();
  }
  document.end_array();
  document.key("skipped");
  document.begin_array();
  for (const image::Skipped& skipped : inspection.contents.skipped) {
    document.begin_object();
    document.member("offset", skipped.offset);
    document.member("reason", skipped.reason);
    document.end_object();
  }
  document.end_array();
  if (inspection.device)
    add_choice(document, inspection);
  document.end_object();
  return std::move(document).finish();
}

std::string kernels_text(const image::Contents& contents) {
  std::string out;
  for (std::size_t i = 0; i < contents.images.size(); ++i) {
    out += str('\n', title_of(contents, i), ":\n");
    for (const image::Kernel& kernel : contents.images[i].kernels)
      out += str("  ", printable(kernel.name), '\n');
  }
  return out;
}

std::string choice_text(const Inspection& inspection, Colours colours) {
  const auto& [contents, device, choice] = inspection;
  std::string out = str("\nfor ", device->arch.capability(), ": ");
  if (choice.chosen)
    out += str(painted(title_of(contents, *choice.chosen), Paint::green, colours), ", ",
               printable(choice.reason), '\n');
  else
    out += str(painted("none", Paint::red, colours), '\n');
  if (choice.refused.empty())
    return out;
  Table table{{{"REFUSED"}, {"REASON"}}};
  for (const image::Refusal& refusal : choice.refused)
    table.add({{title_of(contents, refusal.candidate)}, {printable(refusal.reason)}});
  return str(out, '\n', table.render(colours));
}

std::string as_text(const Inspection& inspection, const Invocation& invocation) {
  const image::Contents& contents = inspection.contents;
  std::string out;
  if (contents.images.empty())
    out = str(image::name(contents.container), " without device images\n");
  Table table{{{"IMAGE"},
               {"CONTAINER"},
               {"RUNS ON"},
               {"KERNELS", Align::right},
               {"SIZE", Align::right},
               {"STORED"},
               {"SHA256"}}};
  for (std::size_t i = 0; i < contents.images.size(); ++i) {
    const image::Image& found = contents.images[i];
    table.add({{title_of(contents, i)},
               {std::string{image::name(found.container)}},
               {runs_on_text(found)},
               {std::to_string(found.kernels.size())},
               {human_bytes(found.bytes)},
               {std::string{image::name(found.compression)}},
               {short_hash(found.sha256.hex())}});
  }
  if (!table.empty())
    out += table.render(invocation.colours());
  if (invocation.arguments.has("kernels"))
    out += kernels_text(contents);
  if (inspection.device)
    out += choice_text(inspection, invocation.colours());
  return out;
}

Result<Report> run_inspect(const Invocation& invocation) {
  LYK_TRY_ASSIGN(const Inspection inspection, inspect(invocation));
  Report report;
  report.text = invocation.json() ? as_json(inspection) : as_text(inspection, invocation);
  for (const image::Skipped& skipped : inspection.contents.skipped)
    report.notes.push_back(str("skipped at offset ", skipped.offset, ": ", skipped.reason));
  if (inspection.device && !inspection.choice.chosen)
    report.exit_code = info(Code::no_image).exit_code;
  return report;
}

}  // namespace

const Command inspect_command{
    .name = "inspect",
    .summary = "the device images in a file and the GPUs they run on; needs no service",
    .positionals = {.min = 1, .max = 1, .usage = "FILE"},
    .description =
        "Reads any library (.so), fatbin, cubin or PTX and lists the device images in it. With\n"
        "--arch it shows which of them a GPU would get; the exit code is 3 if none. Needs no\n"
        "service.",
    .options = options,
    .examples = examples,
    .run = run_inspect,
};

}  // namespace lyk::cli
