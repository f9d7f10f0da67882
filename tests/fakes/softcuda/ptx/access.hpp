// From an address to the bytes there, with every check on the way: the one door of device code to
// memory.
//
// Thread rule: as state.hpp.
#pragma once

#include <cstdint>

#include "tests/fakes/softcuda/ptx/checks.hpp"
#include "tests/fakes/softcuda/ptx/state.hpp"

namespace softcuda::ptx {

enum class Space : std::uint8_t {
  generic,
  global,  // and constant memory, which lies in it
  shared,
  local,
  kernel_parameter,
  frame_parameter,  // of a device function, or for the one that is called next
};

struct Reach {
  Address address;
  std::uint32_t bytes;      // of one access, all its elements; a power of two but for packed lanes
  std::uint32_t alignment;  // a power of two
  Access access;
};

// Where the bytes are, marked as written if the access writes; null after a fault.
template <Space space>
[[nodiscard]] std::byte* reach(const Instruction& in, Thread& thread, const Reach& wanted);

// The text at a generic address, up to its zero byte, at most 200 characters; for messages.
[[nodiscard]] std::string text_at(Thread& thread, Address address);

}  // namespace softcuda::ptx
