// Primary contexts: one for each device, counted.
#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

namespace {

constexpr unsigned api_version_primary = 3020;

Status find_device(Process& state, DeviceNumber number, DeviceState*& out) {
  if (number < 0 || static_cast<std::size_t>(number) >= state.devices.size())
    return refuse(Status::invalid_device, "no device of that number");
  out = state.devices[static_cast<std::size_t>(number)].get();
  return Status::success;
}

bool is_active(const DeviceState& device) {
  return device.primary != nullptr && device.primary->active.load(std::memory_order_acquire);
}

// Whoever still has it current hears that it has ended.
void forget_primary(Process& state, DeviceState& device) {
  (void)state.contexts.take(device.primary->handle);
  const std::scoped_lock lock{state.kept_mutex};
  state.kept.push_back(std::move(device.primary));
}

Status retain(Process& state, ContextHandle* out, DeviceNumber number) {
  DeviceState* device = nullptr;
  SOFTCUDA_TRY(find_device(state, number, device));
  if (out == nullptr)
    return Status::invalid_value;
  const std::scoped_lock lock{device->mutex};
  if (state.settings.move_primary && device->primary != nullptr && !is_active(*device))
    forget_primary(state, *device);
  if (device->primary == nullptr) {
    auto context = std::make_shared<Context>();
    context->device = number;
    context->model = device->model;
    context->kind = ContextKind::primary;
    context->api_version = api_version_primary;
    (void)state.contexts.add(context);
    device->primary = context;
  }
  if (!is_active(*device)) {
    device->primary->flags = device->flags;
    open_context(*device->primary);
  }
  ++device->retained;
  *out = device->primary->handle;
  return Status::success;
}

Status release(Process& state, DeviceNumber number) {
  DeviceState* device = nullptr;
  SOFTCUDA_TRY(find_device(state, number, device));
  const std::scoped_lock lock{device->mutex};
  if (device->retained == 0)
    return refuse(Status::invalid_context, "the primary context is not retained");
  if (--device->retained == 0 && is_active(*device))
    close_context(*device->primary);
  return Status::success;
}

}  // namespace

SOFTCUDA_API Status cuDevicePrimaryCtxRetain(ContextHandle* out, DeviceNumber device) {
  return call(Function::cuDevicePrimaryCtxRetain, {{"device", device}, result("out", out)},
              [&](Process& state) { return retain(state, out, device); });
}

SOFTCUDA_API Status cuDevicePrimaryCtxRelease(DeviceNumber device) {
  return call(Function::cuDevicePrimaryCtxRelease, {{"device", device}},
              [&](Process& state) { return release(state, device); });
}

SOFTCUDA_API Status cuDevicePrimaryCtxRelease_v2(DeviceNumber device) {
  return call(Function::cuDevicePrimaryCtxRelease_v2, {{"device", device}},
              [&](Process& state) { return release(state, device); });
}

SOFTCUDA_API Status cuDevicePrimaryCtxGetState(DeviceNumber number, unsigned* flags, int* active) {
  return call(Function::cuDevicePrimaryCtxGetState, {{"device", number}, result("active", active)},
              [&](Process& state) {
                DeviceState* device = nullptr;
                SOFTCUDA_TRY(find_device(state, number, device));
                if (flags == nullptr || active == nullptr)
                  return Status::invalid_value;
                const std::scoped_lock lock{device->mutex};
                *flags = device->flags;
                *active = is_active(*device) ? 1 : 0;
                return Status::success;
              });
}

SOFTCUDA_API Status cuDevicePrimaryCtxReset_v2(DeviceNumber number) {
  return call(Function::cuDevicePrimaryCtxReset_v2, {{"device", number}}, [&](Process& state) {
    DeviceState* device = nullptr;
    SOFTCUDA_TRY(find_device(state, number, device));
    const std::scoped_lock lock{device->mutex};
    if (is_active(*device))
      close_context(*device->primary);
    return Status::success;
  });
}

SOFTCUDA_API Status cuDevicePrimaryCtxSetFlags_v2(DeviceNumber number, unsigned flags) {
  return call(Function::cuDevicePrimaryCtxSetFlags_v2, {{"device", number}, {"flags", flags}},
              [&](Process& state) {
                DeviceState* device = nullptr;
                SOFTCUDA_TRY(find_device(state, number, device));
                if ((flags & ~context_flags_known) != 0)
                  return Status::invalid_value;
                const std::scoped_lock lock{device->mutex};
                device->flags = flags;
                if (device->primary != nullptr)
                  device->primary->flags = flags;
                return Status::success;
              });
}

}  // namespace softcuda
