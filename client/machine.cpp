#include "client/machine.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "client/context.hpp"
#include "client/cuda_ms_deform_attn.hpp"
#include "client/cuda_quantization.hpp"
#include "client/device_code.hpp"
#include "client/environment.hpp"
#include "client/module.hpp"
#include "client/ms_deform_attn.hpp"
#include "client/quantization.hpp"
#include "kernels/cpu/granted_threads.hpp"
#include "kernels/cpu/instruction_set.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

// In the GPU's primary context.
template <typename Load>
Result<void> load_for_a_moment(const std::string& library, std::int32_t gpu, const Load& load) {
  LYK_TRY_ASSIGN(const Driver driver, open_driver(library));
  LYK_TRY_ASSIGN(const lyk_cu_device device, find_device(driver.cu, gpu));
  LYK_TRY_ASSIGN(const PrimaryContext primary, PrimaryContext::retain(driver.cu, device));
  LYK_TRY_ASSIGN(const CurrentContext current, CurrentContext::enter(driver.cu, primary.get()));
  LYK_TRY_ASSIGN(const auto module, load(driver));
  LYK_TRY_CUDA(driver.cu, module_unload(module->handle), "unload the image");
  return {};
}

}  // namespace

Result<std::vector<MachineGpu>> list_gpus(const std::string& library) {
  LYK_TRY_ASSIGN(const Driver driver, open_driver(library));
  std::vector<MachineGpu> out;
  for (std::int32_t number = 0; number < driver.device_count; ++number) {
    MachineGpu gpu{number, {}, {}};
    LYK_TRY_ASSIGN(gpu.device, describe_gpu(driver, number));
    LYK_TRY_ASSIGN(const lyk_cu_device device, find_device(driver.cu, number));
    std::array<char, 256> name{};
    LYK_TRY_CUDA(driver.cu, device_get_name(name.data(), static_cast<int>(name.size()) - 1, device),
                 "ask for the device's name");
    gpu.name = name.data();
    out.push_back(std::move(gpu));
  }
  return out;
}

Processors describe_processors() {
  const auto best = static_cast<std::size_t>(cpu::best_instruction_set());
  return {.instructions = cpu::instruction_set_names[best],
          .threads = cpu::granted_threads(parse_host_threads(Environment::of_process()))};
}

std::span<const std::string_view> launchable_slots() {
  static constexpr std::array<std::string_view, 1> slots{ms_deform_attn_name};
  return slots;
}

bool has_launcher(std::string_view slot) {
  const auto slots = launchable_slots();
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

Result<void> try_to_load(const std::string& library,
                         std::int32_t gpu,
                         const ResolvedImage& image,
                         const LaunchAbi& abi) {
  return load_for_a_moment(library, gpu,
                           [&](const Driver& driver) { return load_module(driver, image, abi); });
}

std::span<const std::string_view> own_kernels(std::string_view slot) {
  if (slot == ms_deform_attn_name)
    return cuda_ms_deform_attn_symbols();
  if (find_quantization_slot(slot) != nullptr)
    return cuda_slot(slot).symbols;
  return {};
}

Result<void> try_to_load(const std::string& library,
                         std::int32_t gpu,
                         const FatbinFile& fatbin,
                         std::span<const std::string_view> symbols) {
  return load_for_a_moment(library, gpu,
                           [&](const Driver& driver) { return fatbin.load(driver, gpu, symbols); });
}

}  // namespace lyk::client
