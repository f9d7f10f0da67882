// cuInit, versions and devices.
#include <algorithm>
#include <cstring>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

namespace {

Status find_device(Process& state, DeviceNumber number, DeviceState*& out) {
  if (number < 0 || static_cast<std::size_t>(number) >= state.devices.size())
    return refuse(Status::invalid_device, "no device of that number");
  out = state.devices[static_cast<std::size_t>(number)].get();
  return Status::success;
}

Status get_uuid(Process& state, Uuid* out, DeviceNumber number) {
  DeviceState* device = nullptr;
  SOFTCUDA_TRY(find_device(state, number, device));
  if (out == nullptr)
    return Status::invalid_value;
  Uuid uuid{{'s', 'o', 'f', 't', 'c', 'u', 'd', 'a'}};
  uuid.bytes[8] = static_cast<unsigned char>(device->model->arch.number());
  uuid.bytes[15] = static_cast<unsigned char>(number + 1);
  *out = uuid;
  return Status::success;
}

}  // namespace

SOFTCUDA_API Status cuInit(unsigned flags) {
  return call(Function::cuInit, {{"flags", flags}}, [&] {
    const Process& state = process();
    if (!state.read)
      return refuse(Status::invalid_value, state.read.error().message);
    if (state.trace.is_broken())
      return refuse(Status::invalid_value, "SOFTCUDA_TRACE cannot be opened");
    if (flags != 0)
      return refuse(Status::invalid_value, "flags must be 0");
    if (state.devices.empty())
      return refuse(Status::no_device, "SOFTCUDA_DEVICES is none");
    begin_life();
    return check_life();
  });
}

SOFTCUDA_API Status cuDriverGetVersion(int* version) {
  return call(Function::cuDriverGetVersion, {result("version", version)}, [&] {
    if (version == nullptr)
      return Status::invalid_value;
    const lyk::CudaVersion driver = process().settings.driver;
    *version = driver.major * 1000 + driver.minor * 10;
    return Status::success;
  });
}

SOFTCUDA_API Status cuDeviceGetCount(int* count) {
  return call(Function::cuDeviceGetCount, {result("count", count)}, [&](Process& state) {
    if (count == nullptr)
      return Status::invalid_value;
    *count = static_cast<int>(state.devices.size());
    return Status::success;
  });
}

SOFTCUDA_API Status cuDeviceGet(DeviceNumber* device, int ordinal) {
  return call(Function::cuDeviceGet, {{"ordinal", ordinal}}, [&](Process& state) {
    DeviceState* found = nullptr;
    SOFTCUDA_TRY(find_device(state, ordinal, found));
    if (device == nullptr)
      return Status::invalid_value;
    *device = ordinal;
    return Status::success;
  });
}

SOFTCUDA_API Status cuDeviceGetName(char* name, int size, DeviceNumber device) {
  return call(Function::cuDeviceGetName, {{"device", device}}, [&](Process& state) {
    DeviceState* found = nullptr;
    SOFTCUDA_TRY(find_device(state, device, found));
    if (name == nullptr || size <= 0)
      return Status::invalid_value;
    const std::string text = lyk::str("softcuda ", found->model->sm);
    const std::size_t kept = std::min(text.size(), static_cast<std::size_t>(size) - 1);
    std::memcpy(name, text.data(), kept);
    name[kept] = '\0';
    return Status::success;
  });
}

SOFTCUDA_API Status cuDeviceGetUuid(Uuid* uuid, DeviceNumber device) {
  return call(Function::cuDeviceGetUuid, {{"device", device}},
              [&](Process& state) { return get_uuid(state, uuid, device); });
}

SOFTCUDA_API Status cuDeviceGetUuid_v2(Uuid* uuid, DeviceNumber device) {
  return call(Function::cuDeviceGetUuid_v2, {{"device", device}},
              [&](Process& state) { return get_uuid(state, uuid, device); });
}

SOFTCUDA_API Status cuDeviceGetAttribute(int* value, int attribute, DeviceNumber device) {
  return call(Function::cuDeviceGetAttribute,
              {{"attribute", attribute}, {"device", device}, result("value", value)},
              [&](Process& state) {
                DeviceState* found = nullptr;
                SOFTCUDA_TRY(find_device(state, device, found));
                const int known = device_attribute(*found->model, device, attribute);
                if (value == nullptr || known < 0)
                  return refuse(Status::invalid_value, "no such attribute");
                *value = known;
                return Status::success;
              });
}

SOFTCUDA_API Status cuDeviceTotalMem_v2(std::size_t* bytes, DeviceNumber device) {
  return call(Function::cuDeviceTotalMem_v2, {{"device", device}, result("bytes", bytes)},
              [&](Process& state) {
                DeviceState* found = nullptr;
                SOFTCUDA_TRY(find_device(state, device, found));
                if (bytes == nullptr)
                  return Status::invalid_value;
                *bytes = device_memory_bytes;
                return Status::success;
              });
}

}  // namespace softcuda
