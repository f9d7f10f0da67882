#include "cli/outlook.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "cli/help.hpp"
#include "cli/library_outlook.hpp"
#include "cli/output.hpp"
#include "cli/service.hpp"
#include "cli/state_names.hpp"
#include "client/quantization.hpp"
#include "proto/launch_abi.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

std::string command(std::string_view words) {
  return str(program_name, ' ', words);
}

// An error of parse_policy, whose text begins with the name of the variable.
Obstacle bad_variable(const Error& error) {
  return {error, str("correct or unset ", error.message.substr(0, error.message.find(' ')))};
}

Obstacle without_service(const Error& error) {
  if (error.code == Code::network)
    return {error, "systemctl enable --now libreyolo-kernels.socket"};
  return {error, command("status")};
}

std::string pin_command(std::string_view slot) {
  std::string abi = "ABI";
  if (launch_abis().size() == 1)
    abi = launch_abis().front().name;
  return command(str("pin ", slot, " --repo REPO --revision REVISION --abi ", abi));
}

Obstacle not_pinned(std::string_view slot, const wire::PinsReply& pins) {
  for (const wire::RefusedPin& refused : pins.refused)
    if (std::filesystem::path{refused.source}.stem() == slot)
      return {{Code::not_pinned, refused_pin_text(refused)}, str("edit ", refused.source)};
  // A folder that is refused may well hold the slot's pin.
  for (const wire::RefusedPin& refused : pins.refused)
    if (std::filesystem::path{refused.source}.extension() != ".toml")
      return {{Code::not_pinned, refused_pin_text(refused)}, str("mend ", refused.source)};
  return {{Code::not_pinned, "no pin names it"}, pin_command(slot)};
}

std::optional<Obstacle> of_pin(const wire::Pin& pin) {
  if (!pin.abi)
    return Obstacle{{Code::not_eligible, str("pin ", quoted(pin.source), " has no abi: its files ",
                                             "are for other programs")},
                    pin_command(pin.slot)};
  if (find_launch_abi(*pin.abi) == nullptr || !client::has_launcher(pin.slot))
    return Obstacle{{Code::not_eligible, str("this release has no launcher for ABI ",
                                             quoted(*pin.abi), " of this slot")},
                    "install a newer release"};
  return std::nullopt;
}

std::optional<Obstacle> of_store(const wire::SlotStatus& slot, const wire::StatusReply& status) {
  if (slot.state == wire::SlotState::cached)
    return std::nullopt;
  const std::string fetch = command(str("fetch ", slot.slot));
  if (!status.store.writable)
    return Obstacle{{Code::io, str("store ", quoted(status.store.path), " is read-only")},
                    status.mode == wire::Mode::system
                        ? "systemd-tmpfiles --create libreyolo-kernels.conf"
                        : str("make ", status.store.path, " writable, then ", fetch)};
  if (slot.state == wire::SlotState::fetching)
    return Obstacle{{Code::not_cached, "it is being fetched"}, fetch};
  return Obstacle{{Code::not_cached, slot.reason.value_or("its files are not fetched")}, fetch};
}

// Why there is no image for that GPU.
Obstacle without_image(const Error& error, std::string_view slot) {
  if (error.code == Code::no_image)
    return {error,
            str(command(str("info ", slot)), " lists the images; pin a revision that has one")};
  if (error.code == Code::not_cached || error.code == Code::offline)
    return {error, command(str("fetch ", slot))};  // for this GPU, and under this driver
  return {error, command(str("verify ", slot))};
}

Result<ServiceView> view(Result<client::Connection>& connection) {
  if (!connection)
    return connection.error();
  ServiceView out;
  LYK_TRY_ASSIGN(out.status, connection->call<wire::StatusReply>(wire::StatusCall{}));
  LYK_TRY_ASSIGN(out.pins, connection->call<wire::PinsReply>(wire::PinsCall{}));
  return out;
}

const wire::Pin* find_pin(const ServiceView& service, std::string_view slot) {
  const auto found = std::find_if(service.pins.pins.begin(), service.pins.pins.end(),
                                  [&](const wire::Pin& pin) { return pin.slot == slot; });
  return found == service.pins.pins.end() ? nullptr : &*found;
}

std::vector<SlotName> slots_of(const Situation& situation) {
  std::vector<std::string> names;
  for (const std::string_view name : client::launchable_slots())
    names.emplace_back(name);
  for (const client::QuantizationSlot& slot : client::quantization_slots())
    names.emplace_back(slot.name);
  if (situation.service)
    for (const wire::Pin& pin : situation.service->pins.pins)
      if (pin.abi && std::find(names.begin(), names.end(), pin.slot) == names.end())
        names.push_back(pin.slot);
  std::vector<SlotName> out;
  for (const std::string& name : names)
    if (auto slot = SlotName::parse(name))
      out.push_back(*std::move(slot));
  return out;
}

struct Asked {
  const SlotName& slot;
  const wire::Pin& pin;
  const client::MachineGpu& gpu;
  bool deterministic;  // LIBREYOLO_KERNELS_DETERMINISTIC
};

bool marks_forward(const wire::ResolveReply& reply) {
  const auto& passes = reply.deterministic;
  return std::find(passes.begin(), passes.end(), "forward") != passes.end();
}

Obstacle not_deterministic(const wire::Pin& pin) {
  constexpr std::string_view variable = "LIBREYOLO_KERNELS_DETERMINISTIC";
  return {{Code::not_eligible, str(variable, ": the pin does not mark its forward deterministic")},
          str("unset ", variable, ", or mark it in ", pin.source)};
}

Outlook ask_for_image(const Asked& asked,
                      client::Connection& connection,
                      const Invocation& invocation,
                      Thoroughness thoroughness) {
  Outlook out{std::string{asked.slot.text()}, asked.gpu, {}, {}, {}};
  wire::ResolveCall call{.slot = asked.slot, .device = asked.gpu.device, .wait_ms = 0};
  call.offline = true;
  const auto image = connection.resolve(std::move(call));
  if (!image) {
    out.obstacle = without_image(image.error(), asked.slot.text());
    return out;
  }
  if (asked.deterministic && !marks_forward(image->reply)) {
    out.obstacle = not_deterministic(asked.pin);
    return out;
  }
  if (thoroughness == Thoroughness::try_out) {
    const LaunchAbi* abi = find_launch_abi(*asked.pin.abi);  // the pin passed of_pin
    const auto loaded =
        client::try_to_load(std::string{invocation.driver_library}, asked.gpu.number, *image, *abi);
    if (!loaded) {
      out.obstacle =
          Obstacle{loaded.error(), "install a newer NVIDIA driver, or pin another revision"};
      return out;
    }
  }
  out.implementation = client::hub_name;
  out.reason = str("the ", image_title(image->reply.image), " of ", image->reply.file, " at ",
                   short_hash(image->reply.commit));
  return out;
}

}  // namespace

Obstacle forbidden(const std::string& by, std::string_view name) {
  // "LIBREYOLO_HUB_KERNELS=0", "LIBREYOLO_KERNELS_DISABLE names ms_deform_attn".
  return {{Code::not_eligible, str(by, ": ", name, " may not run")},
          str("unset ", by.substr(0, by.find_first_of("= ")))};
}

Obstacle without_gpus(const Error& error) {
  if (error.code == Code::no_driver)
    return {error, "install NVIDIA's driver: nvidia-smi must list the GPU"};
  return {error, "install a newer NVIDIA driver, and restart what uses the old one"};
}

std::optional<Obstacle> first_obstacle(std::string_view slot, const Situation& situation) {
  if (const auto by = client::forbidden_by(situation.policy, slot, client::hub_name); !by.empty())
    return forbidden(by, client::hub_name);
  if (!situation.policy.settings)
    return bad_variable(situation.policy.settings.error());
  if (!situation.gpus)
    return without_gpus(situation.gpus.error());
  if (!situation.service)
    return without_service(situation.service.error());
  const ServiceView& service = *situation.service;
  const wire::Pin* pin = find_pin(service, slot);
  if (pin == nullptr)
    return not_pinned(slot, service.pins);
  if (auto obstacle = of_pin(*pin))
    return obstacle;
  for (const wire::SlotStatus& status : service.status.slots)
    if (status.slot == slot)
      return of_store(status, service.status);
  return std::nullopt;
}

Outlooks look_out(const Invocation& invocation,
                  Result<client::Connection> connection,
                  const std::vector<SlotName>& only,
                  Thoroughness thoroughness) {
  Outlooks out{{client::parse_policy(invocation.environment),
                client::list_gpus(std::string{invocation.driver_library}), view(connection)},
               {}};
  const Situation& situation = out.situation;
  const std::vector<SlotName> slots = only.empty() ? slots_of(situation) : only;
  LibraryOutlook library{invocation, situation, slots, thoroughness};
  const auto add = [&](std::vector<Outlook> rows) {
    std::move(rows.begin(), rows.end(), std::back_inserter(out.rows));
  };
  for (const SlotName& slot : slots) {
    const std::string name{slot.text()};
    if (auto row = library.on_host(name)) {
      out.rows.push_back(*std::move(row));
      continue;
    }
    if (client::find_quantization_slot(name) != nullptr) {
      add(library.of_quantization(name));
      continue;
    }
    if (const auto obstacle = first_obstacle(name, situation)) {
      add(library.without_hub(name, *obstacle));
      continue;
    }
    const wire::Pin* pin = find_pin(*situation.service, slot.text());
    for (Kind& kind : library.kinds()) {
      Outlook hub = ask_for_image({slot, *pin, kind.gpu, situation.policy.deterministic},
                                  *connection, invocation, thoroughness);
      out.rows.push_back(library.with_own_kernels(std::move(hub), kind));
    }
  }
  for (Outlook& row : out.rows)
    if (row.obstacle)
      row.reason = row.obstacle->error.message;
  return out;
}

void add_outlook_members(JsonDocument& document, const Outlooks& outlooks) {
  document.key("gpus");
  document.begin_array();
  if (outlooks.situation.gpus)
    for (const client::MachineGpu& gpu : *outlooks.situation.gpus) {
      document.begin_object(Layout::inline_values);
      document.member("number", static_cast<std::uint32_t>(gpu.number));
      document.member("name", std::string_view{gpu.name});
      document.member("arch", gpu.device.arch.capability());
      document.member("driver", gpu.device.driver ? gpu.device.driver->text() : std::string{});
      document.end_object();
    }
  document.end_array();
  document.key("outlook");
  document.begin_array();
  for (const Outlook& row : outlooks.rows) {
    const bool runs = !row.implementation.empty();
    document.begin_object();
    document.member("slot", std::string_view{row.slot});
    document.member(
        "gpu", row.gpu ? std::optional{static_cast<std::uint32_t>(row.gpu->number)} : std::nullopt);
    document.member("implementation",
                    runs ? std::optional{std::string_view{row.implementation}} : std::nullopt);
    document.member("reason", std::string_view{row.reason});
    if (row.obstacle) {
      document.member("code", info(row.obstacle->error.code).name);
      document.member("mend", std::string_view{row.obstacle->mend});
    }
    document.end_object();
  }
  document.end_array();
}

std::string gpu_title(const client::MachineGpu& gpu) {
  return str(printable(gpu.name), " (", gpu.device.arch.capability(), ')');
}

std::string gpus_text(const Situation& situation) {
  if (!situation.gpus)
    return str("none: ", printable(situation.gpus.error().message));
  std::string out;
  for (const client::MachineGpu& gpu : *situation.gpus)
    out += str(out.empty() ? "" : "; ", gpu.number, ": ", gpu_title(gpu), ", CUDA ",
               gpu.device.driver ? gpu.device.driver->text() : "?");
  return out;
}

}  // namespace lyk::cli
