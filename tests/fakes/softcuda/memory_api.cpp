// Device memory and pinned host memory.
#include "tests/fakes/softcuda/edge.hpp"
#include "tests/fakes/softcuda/operations.hpp"

namespace softcuda {

namespace {

Status check_unsafe() {
  return process().captures.are_any() ? process().captures.refuse_unsafe() : Status::success;
}

Status allocate_host(Context& context, void** out, std::size_t bytes) {
  if (out == nullptr)
    return Status::invalid_value;
  SOFTCUDA_TRY(check_unsafe());
  return process().allocations.allocate_host(context, bytes, *out);
}

Status free_device(Context& context, DevicePointer address) {
  if (address == 0)
    return Status::success;
  SOFTCUDA_TRY(check_unsafe());
  const auto place = process().allocations.find(address);
  if (!place || place->base != address)
    return refuse(Status::invalid_value, "not the start of live device memory");
  // The device comes to rest first, as with the driver.
  const Status fault = synchronise(*place->context);
  SOFTCUDA_TRY(process().allocations.free(address));
  return place->context == &context ? fault : Status::success;
}

Status refuse_in_capture(Stream& stream) {
  Captures& captures = process().captures;
  return captures.are_any() ? captures.refuse_on(stream) : Status::success;
}

Status allocate_async(Context& context,
                      DevicePointer* out,
                      std::size_t bytes,
                      StreamHandle handle,
                      DefaultStream zero) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  if (out == nullptr)
    return Status::invalid_value;
  SOFTCUDA_TRY(refuse_in_capture(*stream));
  return process().allocations.allocate(context, bytes, *out);
}

Status free_async(Context& context,
                  DevicePointer address,
                  StreamHandle handle,
                  DefaultStream zero) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  const auto place = process().allocations.find(address);
  if (!place || place->base != address)
    return refuse(Status::invalid_value, "not the start of live device memory");
  SOFTCUDA_TRY(refuse_in_capture(*stream));
  (void)submit(*stream, [address] {
    (void)process().allocations.free(address);  // freed twice: the second has nothing to free
  });
  return Status::success;
}

}  // namespace

SOFTCUDA_API Status cuMemAlloc_v2(DevicePointer* out, std::size_t bytes) {
  return call(Function::cuMemAlloc_v2, {{"bytes", bytes}, result("out", out)},
              [&](Context& context) {
                if (out == nullptr)
                  return Status::invalid_value;
                SOFTCUDA_TRY(check_unsafe());
                return process().allocations.allocate(context, bytes, *out);
              });
}

SOFTCUDA_API Status cuMemFree_v2(DevicePointer address) {
  return call(Function::cuMemFree_v2, {at("address", address)},
              [&](Context& context) { return free_device(context, address); });
}

SOFTCUDA_API Status cuMemAllocAsync(DevicePointer* out, std::size_t bytes, StreamHandle stream) {
  return call(Function::cuMemAllocAsync, {{"bytes", bytes}, {"stream", stream}, result("out", out)},
              [&](Context& context) {
                return allocate_async(context, out, bytes, stream, DefaultStream::legacy);
              });
}

SOFTCUDA_API Status cuMemAllocAsync_ptsz(DevicePointer* out,
                                         std::size_t bytes,
                                         StreamHandle stream) {
  return call(Function::cuMemAllocAsync_ptsz,
              {{"bytes", bytes}, {"stream", stream}, result("out", out)}, [&](Context& context) {
                return allocate_async(context, out, bytes, stream, DefaultStream::per_thread);
              });
}

SOFTCUDA_API Status cuMemFreeAsync(DevicePointer address, StreamHandle stream) {
  return call(Function::cuMemFreeAsync, {at("address", address), {"stream", stream}},
              [&](Context& context) {
                return free_async(context, address, stream, DefaultStream::legacy);
              });
}

SOFTCUDA_API Status cuMemFreeAsync_ptsz(DevicePointer address, StreamHandle stream) {
  return call(Function::cuMemFreeAsync_ptsz, {at("address", address), {"stream", stream}},
              [&](Context& context) {
                return free_async(context, address, stream, DefaultStream::per_thread);
              });
}

SOFTCUDA_API Status cuMemAllocHost_v2(void** out, std::size_t bytes) {
  return call(Function::cuMemAllocHost_v2, {{"bytes", bytes}, result("out", out)},
              [&](Context& context) { return allocate_host(context, out, bytes); });
}

SOFTCUDA_API Status cuMemHostAlloc(void** out, std::size_t bytes, unsigned flags) {
  return call(Function::cuMemHostAlloc, {{"bytes", bytes}, {"flags", flags}, result("out", out)},
              [&](Context& context) { return allocate_host(context, out, bytes); });
}

SOFTCUDA_API Status cuMemFreeHost(void* address) {
  return call(Function::cuMemFreeHost, {{"address", address}}, [&](Context& context) {
    SOFTCUDA_TRY(check_unsafe());
    SOFTCUDA_TRY(synchronise(context));
    return process().allocations.free_host(address);
  });
}

SOFTCUDA_API Status cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return call(Function::cuMemGetInfo_v2, {result("free", free)}, [&](Context& context) {
    if (free == nullptr || total == nullptr)
      return Status::invalid_value;
    *free = process().allocations.free_bytes(context);
    *total = device_memory_bytes;
    return Status::success;
  });
}

SOFTCUDA_API Status cuMemGetAddressRange_v2(DevicePointer* base,
                                            std::size_t* bytes,
                                            DevicePointer address) {
  return call(Function::cuMemGetAddressRange_v2, {at("address", address)}, [&](Context&) {
    const auto range = process().allocations.memory().find(address);
    if (!range)
      return refuse(Status::not_found, "not in live device memory");
    if (base != nullptr)
      *base = range->base;
    if (bytes != nullptr)
      *bytes = range->bytes;
    return Status::success;
  });
}

}  // namespace softcuda
