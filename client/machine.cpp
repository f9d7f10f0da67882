#include "client/machine.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "client/context.hpp"
#include "client/device_code.hpp"
#include "client/module.hpp"
#include "client/ms_deform_attn.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

// A use of a GPU's primary context, for as long as this lives.
class PrimaryContext {
public:
  static Result<PrimaryContext> retain(const lyk_cu_functions& cu, lyk_cu_device device) {
    lyk_cu_context context = nullptr;
    LYK_TRY_CUDA(cu, primary_ctx_retain(&context, device), "make the primary context");
    return PrimaryContext{cu, device, context};
  }

  PrimaryContext(PrimaryContext&& other) noexcept
      : cu_(std::exchange(other.cu_, nullptr)), device_(other.device_), context_(other.context_) {}
  PrimaryContext& operator=(PrimaryContext&&) = delete;
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;
  ~PrimaryContext() {
    if (cu_ != nullptr)
      (void)cu_->primary_ctx_release(device_);  // nothing depends on it any more
  }

  lyk_cu_context get() const { return context_; }

private:
  PrimaryContext(const lyk_cu_functions& cu, lyk_cu_device device, lyk_cu_context context)
      : cu_(&cu), device_(device), context_(context) {}

  const lyk_cu_functions* cu_;
  lyk_cu_device device_;
  lyk_cu_context context_;
};

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
  LYK_TRY_ASSIGN(const Driver driver, open_driver(library));
  LYK_TRY_ASSIGN(const lyk_cu_device device, find_device(driver.cu, gpu));
  LYK_TRY_ASSIGN(const PrimaryContext primary, PrimaryContext::retain(driver.cu, device));
  LYK_TRY_ASSIGN(const CurrentContext current, CurrentContext::enter(driver.cu, primary.get()));
  LYK_TRY_ASSIGN(const auto module, load_module(driver, image, abi));
  LYK_TRY_CUDA(driver.cu, module_unload(module->handle), "unload the image");
  return {};
}

}  // namespace lyk::client
