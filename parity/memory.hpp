// Memory for a tensor, of a GPU or of the host, for as long as it is needed.
// Thread rule: the thread in which the GPU's context is current.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "client/cuda_abi.h"
#include "proto/result.hpp"

namespace lyk::parity {

// What a program that has tensors of its own needs of the driver.
struct GpuFunctions {
  lyk_cu_functions cu{};
  lyk_cu_memory_functions memory{};
};

// At a multiple of 256 bytes either way, as allocators of frameworks have it.
class Memory {
public:
  // `gpu` must outlive the memory. Errors: cuda_error, such as one for memory that runs out.
  static Result<Memory> on_gpu(const GpuFunctions& gpu, std::size_t bytes);
  static Memory on_host(std::size_t bytes);

  Memory(Memory&& other) noexcept = default;
  Memory& operator=(Memory&&) = delete;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() = default;

  void* data() const { return address_.get(); }

  // All of it. Waits for the work before it.
  Result<void> write(std::span<const std::byte> bytes);
  Result<std::vector<std::byte>> read() const;

private:
  struct Free {
    const GpuFunctions* gpu;  // null: it is the host's
    void operator()(void* address) const;
  };

  Memory(void* address, const GpuFunctions* gpu, std::size_t bytes)
      : address_(address, Free{gpu}), bytes_(bytes) {}

  std::unique_ptr<void, Free> address_;
  std::size_t bytes_;
};

}  // namespace lyk::parity
