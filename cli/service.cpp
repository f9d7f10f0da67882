#include "cli/service.hpp"

#include <utility>

#include "cli/state_names.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

Result<client::Connection> connect(const Invocation& invocation, client::Audience audience) {
  LYK_TRY_ASSIGN(client::Settings settings, client::parse_settings(invocation.environment));
  return client::Connection::open(std::move(settings), audience);
}

Result<std::vector<SlotName>> parse_slots(std::span<const std::string> words) {
  std::vector<SlotName> slots;
  for (const std::string& word : words) {
    LYK_TRY_ASSIGN(SlotName slot, SlotName::parse(word));
    slots.push_back(std::move(slot));
  }
  return slots;
}

Result<std::optional<SlotName>> parse_optional_slot(const Arguments& arguments) {
  LYK_TRY_ASSIGN(std::vector<SlotName> slots, parse_slots(arguments.positionals()));
  return slots.empty() ? std::nullopt : std::optional{std::move(slots.front())};
}

Result<Arch> parse_capability(std::string_view text) {
  const auto parsed = Arch::parse(text);
  if (!parsed)
    return annotate(parsed.error(), "option --arch");
  const Arch& arch = *parsed;
  if (arch.variant != ArchVariant::none)
    return Error{Code::invalid_argument,
                 str("option --arch: ", quoted(text), " is what an image is built for; a GPU is ",
                     arch.capability())};
  return arch;
}

Result<std::optional<CudaVersion>> parse_driver(const Arguments& arguments) {
  const auto text = arguments.value("driver");
  if (!text)
    return std::optional<CudaVersion>{};
  if (!arguments.has("arch"))
    return Error{Code::invalid_argument, "option --driver says nothing without --arch"};
  auto driver = CudaVersion::parse(*text);
  if (!driver)
    return annotate(std::move(driver).error(), "option --driver");
  return std::optional{*driver};
}

Result<std::optional<Device>> parse_device(const Arguments& arguments) {
  const auto arch_text = arguments.value("arch");
  if (!arch_text) {
    LYK_TRY(parse_driver(arguments));
    return std::optional<Device>{};
  }
  LYK_TRY_ASSIGN(const Arch arch, parse_capability(*arch_text));
  LYK_TRY_ASSIGN(const std::optional<CudaVersion> driver, parse_driver(arguments));
  return std::optional{Device{.arch = arch, .tegra = is_tegra_arch(arch), .driver = driver}};
}

void add_image_members(JsonDocument& document, const wire::Image& image) {
  document.member("container", image.container);
  document.member("kind", image_kind_name(image.kind));
  document.member("arch", image.arch);
  document.member("compression", image.compression);
  document.member("bytes", image.bytes);
  document.member("sha256", image.sha256.hex());
  document.key("kernels");
  document.begin_array();
  for (const wire::Kernel& kernel : image.kernels) {
    document.begin_object();
    document.member("symbol", kernel.symbol);
    document.member("name", kernel.name);
    document.key("parameters");
    document.begin_array(Layout::inline_values);
    for (const wire::Parameter& parameter : kernel.parameters) {
      document.begin_array();
      document.value(parameter.offset);
      document.value(parameter.size);
      document.end_array();
    }
    document.end_array();
    document.end_object();
  }
  document.end_array();
}

void add_refused(JsonDocument& document, std::span<const wire::RefusedImage> refused) {
  document.key("refused");
  document.begin_array();
  for (const wire::RefusedImage& entry : refused) {
    document.begin_object();
    document.member("image", entry.image);
    document.member("reason", entry.reason);
    document.end_object();
  }
  document.end_array();
}

std::string refused_pin_text(const wire::RefusedPin& refused) {
  if (refused.reason.find(refused.source) != std::string::npos)
    return str("not in force: ", refused.reason);
  return str(quoted(refused.source), " is not in force: ", refused.reason);
}

void add_warnings(Report& report, const std::vector<wire::RefusedPin>& refused) {
  for (const wire::RefusedPin& each : refused)
    report.notes.push_back(str("warning: ", refused_pin_text(each)));
}

std::string no_pins_text(const std::vector<wire::RefusedPin>& refused) {
  return refused.empty() ? "no slot is pinned\n" : "no pin is in force\n";
}

std::string image_title(const wire::Image& image) {
  return str(image.arch, ' ', image_kind_name(image.kind));
}

}  // namespace lyk::cli
