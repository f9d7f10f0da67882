// The entry points of copies and fills. Each exists twice: as it is, and with the calling thread's
// own stream as stream 0.
#include "tests/fakes/softcuda/copies.hpp"
#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

namespace {

DevicePointer number(const void* host) {
  return reinterpret_cast<DevicePointer>(host);
}
DevicePointer number(DevicePointer address) {
  return address;
}

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-macro-usage,bugprone-macro-parentheses): signatures, not
// expressions
#define SOFTCUDA_COPY_NOW(name, To, From, kind, zero)                                         \
  SOFTCUDA_API Status name(To to, From from, std::size_t bytes) {                             \
    const Copy copy{.to = number(to), .from = number(from), .bytes = bytes};                  \
    return call(Function::name, {at("to", copy.to), at("from", copy.from), {"bytes", bytes}}, \
                [&](Context& context) {                                                       \
                  return copy_now(context, copy, CopyKind::kind, DefaultStream::zero);        \
                });                                                                           \
  }

#define SOFTCUDA_COPY_ASYNC(name, To, From, kind, zero)                                           \
  SOFTCUDA_API Status name(To to, From from, std::size_t bytes, StreamHandle stream) {            \
    const Copy copy{.to = number(to), .from = number(from), .bytes = bytes};                      \
    return call(Function::name,                                                                   \
                {at("to", copy.to), at("from", copy.from), {"bytes", bytes}, {"stream", stream}}, \
                [&](Context& context) {                                                           \
                  return copy_async(context, copy, CopyKind::kind, stream, DefaultStream::zero);  \
                });                                                                               \
  }

#define SOFTCUDA_FILL_NOW(name, Value, zero)                                                    \
  SOFTCUDA_API Status name(DevicePointer to, Value value, std::size_t count) {                  \
    return call(Function::name, {at("to", to), {"value", value}, {"count", count}},             \
                [&](Context& context) {                                                         \
                  const Fill fill{                                                              \
                      .to = to, .value = value, .element_bytes = sizeof value, .count = count}; \
                  return fill_now(context, fill, DefaultStream::zero);                          \
                });                                                                             \
  }

#define SOFTCUDA_FILL_ASYNC(name, Value, zero)                                                  \
  SOFTCUDA_API Status name(DevicePointer to, Value value, std::size_t count,                    \
                           StreamHandle stream) {                                               \
    return call(Function::name,                                                                 \
                {at("to", to), {"value", value}, {"count", count}, {"stream", stream}},         \
                [&](Context& context) {                                                         \
                  const Fill fill{                                                              \
                      .to = to, .value = value, .element_bytes = sizeof value, .count = count}; \
                  return fill_async(context, fill, stream, DefaultStream::zero);                \
                });                                                                             \
  }
// NOLINTEND(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)

SOFTCUDA_COPY_NOW(cuMemcpy, DevicePointer, DevicePointer, by_address, legacy)
SOFTCUDA_COPY_NOW(cuMemcpy_ptds, DevicePointer, DevicePointer, by_address, per_thread)
SOFTCUDA_COPY_NOW(cuMemcpyHtoD_v2, DevicePointer, const void*, host_to_device, legacy)
SOFTCUDA_COPY_NOW(cuMemcpyHtoD_v2_ptds, DevicePointer, const void*, host_to_device, per_thread)
SOFTCUDA_COPY_NOW(cuMemcpyDtoH_v2, void*, DevicePointer, device_to_host, legacy)
SOFTCUDA_COPY_NOW(cuMemcpyDtoH_v2_ptds, void*, DevicePointer, device_to_host, per_thread)
SOFTCUDA_COPY_NOW(cuMemcpyDtoD_v2, DevicePointer, DevicePointer, within_device, legacy)
SOFTCUDA_COPY_NOW(cuMemcpyDtoD_v2_ptds, DevicePointer, DevicePointer, within_device, per_thread)

SOFTCUDA_COPY_ASYNC(cuMemcpyAsync, DevicePointer, DevicePointer, by_address, legacy)
SOFTCUDA_COPY_ASYNC(cuMemcpyAsync_ptsz, DevicePointer, DevicePointer, by_address, per_thread)
SOFTCUDA_COPY_ASYNC(cuMemcpyHtoDAsync_v2, DevicePointer, const void*, host_to_device, legacy)
SOFTCUDA_COPY_ASYNC(
    cuMemcpyHtoDAsync_v2_ptsz, DevicePointer, const void*, host_to_device, per_thread)
SOFTCUDA_COPY_ASYNC(cuMemcpyDtoHAsync_v2, void*, DevicePointer, device_to_host, legacy)
SOFTCUDA_COPY_ASYNC(cuMemcpyDtoHAsync_v2_ptsz, void*, DevicePointer, device_to_host, per_thread)
SOFTCUDA_COPY_ASYNC(cuMemcpyDtoDAsync_v2, DevicePointer, DevicePointer, within_device, legacy)
SOFTCUDA_COPY_ASYNC(
    cuMemcpyDtoDAsync_v2_ptsz, DevicePointer, DevicePointer, within_device, per_thread)

SOFTCUDA_FILL_NOW(cuMemsetD8_v2, unsigned char, legacy)
SOFTCUDA_FILL_NOW(cuMemsetD8_v2_ptds, unsigned char, per_thread)
SOFTCUDA_FILL_NOW(cuMemsetD16_v2, unsigned short, legacy)
SOFTCUDA_FILL_NOW(cuMemsetD16_v2_ptds, unsigned short, per_thread)
SOFTCUDA_FILL_NOW(cuMemsetD32_v2, unsigned, legacy)
SOFTCUDA_FILL_NOW(cuMemsetD32_v2_ptds, unsigned, per_thread)

SOFTCUDA_FILL_ASYNC(cuMemsetD8Async, unsigned char, legacy)
SOFTCUDA_FILL_ASYNC(cuMemsetD8Async_ptsz, unsigned char, per_thread)
SOFTCUDA_FILL_ASYNC(cuMemsetD16Async, unsigned short, legacy)
SOFTCUDA_FILL_ASYNC(cuMemsetD16Async_ptsz, unsigned short, per_thread)
SOFTCUDA_FILL_ASYNC(cuMemsetD32Async, unsigned, legacy)
SOFTCUDA_FILL_ASYNC(cuMemsetD32Async_ptsz, unsigned, per_thread)

}  // namespace softcuda
