#include "cli/library_outlook.hpp"

#include <algorithm>
#include <utility>

#include "client/quantization.hpp"
#include "proto/text.hpp"

namespace lyk::cli {

namespace {

bool has_cuda(std::string_view slot) {
  return !client::own_kernels(slot).empty();
}

// What has the one has the other.
bool has_cpu(std::string_view slot) {
  return has_cuda(slot);
}

}  // namespace

LibraryOutlook::LibraryOutlook(const Invocation& invocation,
                               const Situation& situation,
                               const std::vector<SlotName>& slots,
                               Thoroughness thoroughness)
    : situation_(situation),
      driver_library_(invocation.driver_library),
      thoroughness_(thoroughness) {
  for (const SlotName& slot : slots) {
    const auto symbols = client::own_kernels(slot.text());
    if (is_allowed(slot.text(), client::cuda_name))
      symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
  }
  if (!situation.gpus)
    return;
  for (const client::MachineGpu& gpu : *situation.gpus)
    if (std::none_of(kinds_.begin(), kinds_.end(), [&](const Kind& other) {
          return other.gpu.device == gpu.device && other.gpu.name == gpu.name;
        }))
      kinds_.push_back({gpu, {}});
}

bool LibraryOutlook::is_allowed(std::string_view slot, std::string_view name) const {
  return client::forbidden_by(situation_.policy, slot, name).empty();
}

// The file is the same for every slot, and loading it takes its time: a kind is asked once.
const std::optional<Obstacle>& LibraryOutlook::find_obstacle(Kind& kind) {
  if (!std::exchange(kind.is_known, true))
    kind.own_kernels = ask(kind.gpu);
  return kind.own_kernels;
}

std::optional<Obstacle> LibraryOutlook::ask(const client::MachineGpu& gpu) const {
  constexpr std::string_view newer_driver = "install a newer NVIDIA driver";
  if (const auto checked = fatbin_.check(gpu.device, gpu.number); !checked) {
    if (checked.error().code != Code::no_image)
      return Obstacle{checked.error(), "install this release's library again"};
    Device of_any_driver = gpu.device;
    of_any_driver.driver.reset();
    const bool is_of_driver = fatbin_.check(of_any_driver, gpu.number).has_value();
    return Obstacle{checked.error(),
                    std::string{is_of_driver ? newer_driver : "install a newer release"}};
  }
  if (thoroughness_ == Thoroughness::ask)
    return std::nullopt;
  const auto loaded = client::try_to_load(driver_library_, gpu.number, fatbin_, symbols_);
  if (loaded)
    return std::nullopt;
  return Obstacle{loaded.error(), "install this release's library again, or a newer NVIDIA driver"};
}

Outlook LibraryOutlook::with_own_kernels(Outlook row, Kind& kind) {
  if (!row.obstacle || !has_cuda(row.slot) || !is_allowed(row.slot, client::cuda_name))
    return row;
  if (row.obstacle->error.code == Code::cuda)
    return row;  // the context is lost, to our own kernels too
  row.gpu = kind.gpu;
  const bool has_hub = client::has_launcher(row.slot);
  if (const std::optional<Obstacle>& own = find_obstacle(kind)) {
    if (!has_hub || own->error.code == Code::cuda)
      row.obstacle = *own;
    else
      row.obstacle->error.message += str("; not ", client::cuda_name, ": ", own->error.message);
    return row;
  }
  row.implementation = client::cuda_name;
  row.reason = str("the library's own kernels, of ", client::fatbin_name);
  if (has_hub)
    row.reason += str("; not ", client::hub_name, ": ", row.obstacle->error.message);
  row.obstacle.reset();
  return row;
}

std::optional<Outlook> LibraryOutlook::on_host(const std::string& slot) const {
  const bool has_no_gpu = !situation_.gpus && situation_.gpus.error().code == Code::no_driver;
  if (!has_no_gpu || !has_cpu(slot) || !is_allowed(slot, client::cpu_name))
    return std::nullopt;
  const std::string why = str("on host tensors: ", situation_.gpus.error().message);
  return Outlook{slot, {}, std::string{client::cpu_name}, why, {}};
}

std::vector<Outlook> LibraryOutlook::of_quantization(const std::string& slot) {
  std::vector<Outlook> out;
  out.reserve(kinds_.size());
  const std::string by = client::forbidden_by(situation_.policy, slot, client::cuda_name);
  for (Kind& kind : kinds_)
    out.push_back(
        with_own_kernels({slot, kind.gpu, {}, {}, forbidden(by, client::cuda_name)}, kind));
  if (out.empty())
    out.push_back({slot, {}, {}, {}, without_gpus(situation_.gpus.error())});
  return out;
}

std::vector<Outlook> LibraryOutlook::without_hub(const std::string& slot,
                                                 const Obstacle& obstacle) {
  const Outlook row{slot, {}, {}, {}, obstacle};
  std::vector<Outlook> out;
  for (Kind& kind : kinds_)
    if (Outlook own = with_own_kernels(row, kind); own.gpu)
      out.push_back(std::move(own));
  if (out.empty())
    out.push_back(row);
  return out;
}

}  // namespace lyk::cli
