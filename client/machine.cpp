#include "client/machine.hpp"

#include <array>
#include <string_view>

#include "client/ms_deform_attn.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

ImplementationState hub_prospect(const Policy& policy,
                                 const SlotName& slot,
                                 const Device& device,
                                 Connection& connection) {
  ImplementationState state{std::string{hub_name}, false, {}};
  state.reason = forbidden_by(policy, slot.text(), hub_name);
  if (!state.reason.empty())
    return state;
  if (slot.text() != ms_deform_attn_name) {
    state.reason = "this release has no launcher for it";
    return state;
  }
  wire::ResolveCall call{.slot = slot, .device = device, .wait_ms = 0};
  call.offline = true;
  const auto image = connection.resolve(std::move(call));
  state.is_active = image.has_value();
  if (image)
    state.reason = str("the ", image->reply.image.arch,
                       image->reply.image.kind == wire::ImageKind::ptx ? " PTX" : " cubin", " of ",
                       image->reply.file, " at ", image->reply.commit);
  else
    state.reason = image.error().message;
  return state;
}

}  // namespace

Result<std::vector<MachineGpu>> list_gpus(const std::string& library) {
  LYK_TRY_ASSIGN(const Driver driver, open_driver(library));
  std::vector<MachineGpu> out;
  for (std::int32_t number = 0; number < driver.device_count; ++number) {
    MachineGpu gpu{number, {}, {}};
    LYK_TRY_ASSIGN(gpu.device, describe_gpu(driver, number));
    lyk_cu_device device = 0;
    std::array<char, 256> name{};
    LYK_TRY_CUDA(driver.cu, device_get(&device, number), str("find device ", number));
    LYK_TRY_CUDA(driver.cu, device_get_name(name.data(), static_cast<int>(name.size()) - 1, device),
                 "ask for the device's name");
    gpu.name = name.data();
    out.push_back(std::move(gpu));
  }
  return out;
}

std::vector<ImplementationState> prospects(const Policy& policy,
                                           const SlotName& slot,
                                           const Device& device,
                                           Connection& connection) {
  return {hub_prospect(policy, slot, device, connection)};
}

}  // namespace lyk::client
