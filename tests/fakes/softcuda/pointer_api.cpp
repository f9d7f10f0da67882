// What the driver knows of an address.
#include <cstring>

#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

namespace {

struct Known {
  Allocations::Place place;
  unsigned memory_type = memory_type_device;
};

bool find_place(DevicePointer address, Known& out) {
  const Allocations& allocations = process().allocations;
  if (const auto device = allocations.find(address)) {
    out = {.place = *device, .memory_type = memory_type_device};
    return true;
  }
  if (const auto host = allocations.find_host(address)) {
    out = {.place = *host, .memory_type = memory_type_host};
    return true;
  }
  return false;
}

template <typename T>
Status answer(void* out, T value) {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): of a handle it is the pointer that is handed out
  std::memcpy(out, &value, sizeof value);
  return Status::success;
}

Status attribute_of(const Known& known, int attribute, DevicePointer address, void* out) {
  const bool is_host = known.memory_type == memory_type_host;
  switch (static_cast<PointerAttribute>(attribute)) {
    case PointerAttribute::context:
      return answer(out, known.place.context->handle);
    case PointerAttribute::memory_type:
      return answer(out, known.memory_type);
    case PointerAttribute::device_pointer:
      return answer(out, address);
    case PointerAttribute::host_pointer:
      return is_host ? answer(out, address)
                     : refuse(Status::invalid_value, "device memory has no host pointer");
    case PointerAttribute::buffer_id:
      return answer(out, known.place.id);
    case PointerAttribute::is_managed:
      return answer(out, 0U);
    case PointerAttribute::device_ordinal:
      return answer(out, known.place.context->device);
    case PointerAttribute::range_start_addr:
      return answer(out, known.place.base);
    case PointerAttribute::range_size:
      return answer(out, known.place.bytes);
    case PointerAttribute::mapped:
      return answer(out, 1U);
  }
  return refuse(Status::not_supported, "a pointer attribute that is not stood in for");
}

// For an address that nobody allocated here cuPointerGetAttributes gives zeros, and -2 as device.
Status attribute_of_unknown(int attribute, void* out) {
  constexpr int no_device = -2;
  switch (static_cast<PointerAttribute>(attribute)) {
    case PointerAttribute::device_ordinal:
      return answer(out, no_device);
    case PointerAttribute::memory_type:
    case PointerAttribute::is_managed:
    case PointerAttribute::mapped:
      return answer(out, 0U);
    case PointerAttribute::context:
    case PointerAttribute::device_pointer:
    case PointerAttribute::host_pointer:
    case PointerAttribute::buffer_id:
    case PointerAttribute::range_start_addr:
    case PointerAttribute::range_size:
      return answer(out, std::uint64_t{0});
  }
  return refuse(Status::not_supported, "a pointer attribute that is not stood in for");
}

}  // namespace

SOFTCUDA_API Status cuPointerGetAttribute(void* out, int attribute, DevicePointer address) {
  return call(Function::cuPointerGetAttribute, {{"attribute", attribute}, at("address", address)},
              [&](Process&) {
                if (out == nullptr)
                  return Status::invalid_value;
                Known known;
                if (!find_place(address, known))
                  return refuse(Status::invalid_value, "not memory of this driver");
                return attribute_of(known, attribute, address, out);
              });
}

SOFTCUDA_API Status cuPointerGetAttributes(unsigned count,
                                           int* attributes,
                                           void** out,
                                           DevicePointer address) {
  return call(Function::cuPointerGetAttributes, {{"count", count}, at("address", address)},
              [&](Process&) {
                if (count == 0 || attributes == nullptr || out == nullptr)
                  return Status::invalid_value;
                Known known;
                const bool is_known = find_place(address, known);
                for (unsigned i = 0; i < count; ++i)
                  SOFTCUDA_TRY(is_known ? attribute_of(known, attributes[i], address, out[i])
                                        : attribute_of_unknown(attributes[i], out[i]));
                return Status::success;
              });
}

}  // namespace softcuda
