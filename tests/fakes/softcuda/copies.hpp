// Copies and fills between host and device memory: what is checked at the call, and the work.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/context.hpp"
#include "tests/fakes/softcuda/functions.hpp"

namespace softcuda {

// One end of a copy. Host addresses are numbers here, as they are for cuMemcpy.
struct Copy {
  DevicePointer to = 0;
  DevicePointer from = 0;
  std::size_t bytes = 0;
};

enum class CopyKind : std::uint8_t { host_to_device, device_to_host, within_device, by_address };

// Which kind of copy by_address is; invalid_value where an end is not what the kind says.
Status check_copy(Copy copy, CopyKind kind);

Status copy_now(Context& context, Copy copy, CopyKind kind, DefaultStream zero);
Status copy_async(
    Context& context, Copy copy, CopyKind kind, StreamHandle handle, DefaultStream zero);

// `count` elements of `element_bytes` bytes, each the low bytes of `value`.
struct Fill {
  DevicePointer to = 0;
  std::uint32_t value = 0;
  std::size_t element_bytes = 1;
  std::size_t count = 0;
};
Status fill_now(Context& context, Fill fill, DefaultStream zero);
Status fill_async(Context& context, Fill fill, StreamHandle handle, DefaultStream zero);

}  // namespace softcuda
