#include "tests/fakes/softcuda/copies.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "tests/fakes/softcuda/edge.hpp"
#include "tests/fakes/softcuda/operations.hpp"

namespace softcuda {

namespace {

// NOLINTBEGIN(performance-no-int-to-ptr): cuMemcpy takes host addresses as numbers
const std::byte* host(DevicePointer address) {
  return reinterpret_cast<const std::byte*>(address);
}

std::byte* host_place(DevicePointer address) {
  return reinterpret_cast<std::byte*>(address);
}
// NOLINTEND(performance-no-int-to-ptr)

// The work itself. Memory that was freed after the call was made is a fault of the context.
Status perform(const Copy& copy) {
  if (copy.bytes == 0)
    return Status::success;  // the addresses may be null then
  ptx::Memory& memory = process().allocations.memory();
  const bool to_device = is_device_address(copy.to);
  const bool from_device = is_device_address(copy.from);
  if (!to_device && !from_device) {
    std::memmove(host_place(copy.to), host(copy.from), copy.bytes);
    return Status::success;
  }
  const auto done = to_device && from_device ? memory.copy(copy.to, copy.from, copy.bytes)
                    : to_device ? memory.copy_in(copy.to, {host(copy.from), copy.bytes})
                                : memory.copy_out({host_place(copy.to), copy.bytes}, copy.from);
  return done ? Status::success : Status::illegal_address;
}

Status perform(const Fill& fill) {
  std::array<std::byte, sizeof fill.value> pattern{};
  std::memcpy(pattern.data(), &fill.value, sizeof fill.value);  // little-endian: low bytes first
  const auto done = process().allocations.memory().fill(
      fill.to, std::span{pattern}.first(fill.element_bytes), fill.count);
  return done ? Status::success : Status::illegal_address;
}

template <typename Operation>
Task as_task(Context& context, const Operation& operation) {
  return [&context, operation] {
    if (const Status status = perform(operation); status != Status::success)
      set_fault(context, status);
  };
}

// One end: device memory must be live as a whole; host memory is whatever is not a device address.
Status check_end(DevicePointer address, std::size_t bytes) {
  if (address == 0)
    return refuse(Status::invalid_value, "a null pointer");
  if (is_device_address(address) && !process().allocations.is_inside(address, bytes))
    return refuse(Status::invalid_value, "not inside one live device allocation");
  return Status::success;
}

// The host end of a copy between host and device; 0 if there is none.
DevicePointer host_end(const Copy& copy) {
  if (is_device_address(copy.to) == is_device_address(copy.from))
    return 0;
  return is_device_address(copy.to) ? copy.from : copy.to;
}

// Memory that is not pinned: what is read is read before the call returns, and what is written is
// written before it returns.
Status copy_pageable(Context& context, Stream& stream, const Copy& copy) {
  if (is_device_address(copy.from)) {
    Status out = Status::success;
    run_in_turn(stream, [&] { out = perform(copy); });
    const Status fault = context.fault.load(std::memory_order_acquire);
    return fault != Status::success ? fault : out;
  }
  const auto staged =
      std::make_shared<std::vector<std::byte>>(host(copy.from), host(copy.from) + copy.bytes);
  (void)submit(stream, [&context, staged, copy] {
    if (!process().allocations.memory().copy_in(copy.to, *staged))
      set_fault(context, Status::illegal_address);
  });
  return Status::success;
}

Status check_fill(const Fill& fill) {
  if (fill.count > std::numeric_limits<std::size_t>::max() / fill.element_bytes)
    return Status::invalid_value;
  if (fill.to % fill.element_bytes != 0)
    return refuse(Status::invalid_value, "misaligned");
  if (fill.count != 0 && !is_device_address(fill.to))
    return refuse(Status::invalid_value, "not device memory");
  return fill.count == 0 ? Status::success : check_end(fill.to, fill.count * fill.element_bytes);
}

}  // namespace

Status check_copy(Copy copy, CopyKind kind) {
  if (copy.bytes == 0)
    return Status::success;
  SOFTCUDA_TRY(check_end(copy.to, copy.bytes));
  SOFTCUDA_TRY(check_end(copy.from, copy.bytes));
  if (kind == CopyKind::by_address)
    return Status::success;
  const bool to_device = kind != CopyKind::device_to_host;
  const bool from_device = kind != CopyKind::host_to_device;
  // Under unified addressing the "host" end may be device memory; the device end must be.
  if ((to_device && !is_device_address(copy.to)) || (from_device && !is_device_address(copy.from)))
    return refuse(Status::invalid_value, "not device memory");
  return Status::success;
}

Status copy_now(Context& context, Copy copy, CopyKind kind, DefaultStream zero) {
  SOFTCUDA_TRY(check_copy(copy, kind));
  return do_now(context, zero, [&] { return perform(copy); });
}

Status copy_async(
    Context& context, Copy copy, CopyKind kind, StreamHandle handle, DefaultStream zero) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  SOFTCUDA_TRY(check_copy(copy, kind));
  Captures& captures = process().captures;
  const Task task = as_task(context, copy);
  if (captures.are_any()) {
    const auto admission = captures.admit(*stream, NodeKind::copy, task);
    if (admission.status != Status::success || admission.captured)
      return admission.status;
  }
  const DevicePointer host_address = host_end(copy);
  if (host_address != 0 && !process().allocations.find_host(host_address))
    return copy_pageable(context, *stream, copy);
  (void)submit(*stream, task);
  return Status::success;
}

Status fill_now(Context& context, Fill fill, DefaultStream zero) {
  SOFTCUDA_TRY(check_fill(fill));
  return do_now(context, zero, [&] { return perform(fill); });
}

Status fill_async(Context& context, Fill fill, StreamHandle handle, DefaultStream zero) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  SOFTCUDA_TRY(check_fill(fill));
  return enqueue(*stream, NodeKind::fill, as_task(context, fill));
}

}  // namespace softcuda
