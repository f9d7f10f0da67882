// Device memory and pinned host memory, by whom they belong to.
//
// All devices of the process share one address space, and one ptx::Memory stands behind it; which
// device an address belongs to is known here. Device addresses never are host addresses.
//
// Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/context.hpp"
#include "tests/fakes/softcuda/ptx/memory.hpp"

namespace softcuda {

class Allocations {
public:
  struct Place {
    DevicePointer base = 0;
    std::uint64_t bytes = 0;
    Context* context = nullptr;
    std::uint64_t id = 0;  // never given twice
  };

  Allocations();

  Status allocate(Context& context, std::uint64_t bytes, DevicePointer& out);
  Status free(DevicePointer base);
  Status allocate_host(Context& context, std::size_t bytes, void*& out);
  Status free_host(void* base);

  // The live device memory that the address lies in.
  std::optional<Place> find(DevicePointer address) const;
  // The pinned host memory that the address lies in.
  std::optional<Place> find_host(DevicePointer address) const;
  // Whether [address, address + bytes) is in one live device allocation.
  bool is_inside(DevicePointer address, std::uint64_t bytes) const;
  std::uint64_t free_bytes(const Context& context) const;
  void free_all_of(const Context& context);

  ptx::Memory& memory() { return memory_; }

private:
  struct HostBytes {
    std::unique_ptr<std::byte[]> bytes;  // NOLINT(modernize-avoid-c-arrays): of a size known late
    Place place;
  };

  ptx::Memory memory_;
  mutable std::mutex mutex_;  // guards the rest
  std::map<DevicePointer, Place> device_;
  std::map<DevicePointer, HostBytes> host_;
  std::map<int, std::uint64_t> used_;  // by device
  std::uint64_t last_id_ = 0;
};

// Whether the number can only be a device address.
inline bool is_device_address(DevicePointer address) {
  return address >= ptx::device_base;
}

}  // namespace softcuda
