// The memory of one device, apart from host memory: a device address is never a valid host pointer,
// so host code that follows one by mistake dies at once, as it would with a real device.
//
// Invariants:
// - allocations are 256-byte aligned, never overlap, and at least 256 bytes that belong to nobody
//   follow each, so a short step beyond one is always seen;
// - an address is not given out twice in the life of a Memory, so the use of a freed one is seen;
// - each byte knows whether anything ever wrote it. Fresh bytes read as 0xff, which is a NaN in
//   every floating point format: what nobody wrote shows in the results.
//
// Thread rule: every member may be called from any thread. The table of allocations has a lock; the
// bytes have none, as on a device: two copies, or a copy and a kernel, that touch the same bytes at
// the same time are the caller's race. Kernels do not meet: runs take turns. A run works on the
// allocations that were live when it began and keeps their bytes alive, so a free during a run is
// safe, but is not noticed by that run: a driver lets the device come to rest before it frees, as
// cuMemFree does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "proto/result.hpp"

namespace softcuda::ptx {

using Address = std::uint64_t;

// Where device memory begins. Above every address that Linux hands out on x86-64 and aarch64 unless
// asked for, and not canonical with four levels of page tables.
inline constexpr Address device_base = 0x00d0'0000'0000'0000;

struct Range {
  Address base;
  std::uint64_t bytes;

  bool operator==(const Range&) const = default;
};

// One allocation. `written` holds 1 for each byte that was ever written, else 0.
struct Allocation {
  explicit Allocation(Range place);

  Range range;
  std::unique_ptr<std::byte[]> content;
  std::unique_ptr<std::uint8_t[]> written;
};

class Memory {
public:
  explicit Memory(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // `bytes` above 0. Fails with no_space when the device has not as much left.
  lyk::Result<Address> allocate(std::uint64_t bytes);
  // `base` is exactly what allocate returned; else invalid_argument, and nothing is freed.
  lyk::Result<void> free(Address base);
  // The live allocation that `address` lies in.
  [[nodiscard]] std::optional<Range> find(Address address) const;

  // Between host and device and within the device. All bytes lie in one live allocation, else
  // invalid_argument and nothing is changed. Zero bytes are always fine. Bytes that were never
  // written may be copied: `copy` takes along that they are, copy_out gives 0xff.
  lyk::Result<void> copy_in(Address to, std::span<const std::byte> from);
  lyk::Result<void> copy_out(std::span<std::byte> to, Address from) const;
  lyk::Result<void> copy(Address to, Address from, std::uint64_t bytes);
  // `count` times `pattern`, as cuMemsetD8, D16 and D32 do.
  lyk::Result<void> fill(Address to, std::span<const std::byte> pattern, std::uint64_t count);

  [[nodiscard]] std::uint64_t bytes_max() const { return bytes_max_; }
  [[nodiscard]] std::uint64_t bytes_used() const;
  // What is live now, in the order of addresses. For run().
  [[nodiscard]] std::vector<std::shared_ptr<Allocation>> live() const;
  // Held by a run as long as it lasts.
  [[nodiscard]] std::mutex& kernels() { return kernels_; }

private:
  [[nodiscard]] std::shared_ptr<Allocation> holder(Address address, std::uint64_t bytes) const;

  const std::uint64_t bytes_max_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<Address, std::shared_ptr<Allocation>> allocations_;
  Address next_ = device_base;
  std::uint64_t used_ = 0;
  std::mutex kernels_;  // guards nothing here: one kernel at a time works on the bytes
};

}  // namespace softcuda::ptx
