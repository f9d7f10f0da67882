#include "parity/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "client/driver.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::parity {

namespace {

constexpr std::align_val_t alignment{256};

lyk_cu_deviceptr device_address(void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

// What the driver refuses here says nothing of the kernels.
Error failure(const GpuFunctions& gpu, lyk_cu_result result, std::string_view what) {
  return {Code::cuda, client::cuda_error(gpu.cu, result, what).message};
}

}  // namespace

void Memory::Free::operator()(void* address) const {
  if (gpu != nullptr)
    (void)gpu->memory.mem_free(device_address(address));  // nothing works there any more
  else
    ::operator delete(address, alignment);
}

Result<Memory> Memory::on_gpu(const GpuFunctions& gpu, std::size_t bytes) {
  std::uintptr_t address = 0;
  // The driver gives none for nothing.
  const lyk_cu_result result = gpu.memory.mem_alloc(&address, std::max<std::size_t>(bytes, 1));
  if (result != LYK_CU_SUCCESS)
    return failure(gpu, result, str("allocate ", bytes, " bytes"));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number to the driver, data to a tensor
  return Memory{reinterpret_cast<void*>(address), &gpu, bytes};
}

Memory Memory::on_host(std::size_t bytes) {
  return {::operator new(std::max<std::size_t>(bytes, 1), alignment), nullptr, bytes};
}

Result<void> Memory::write(std::span<const std::byte> bytes) {
  LYK_CHECK(bytes.size() == bytes_);
  if (bytes_ == 0)
    return {};
  const GpuFunctions* gpu = address_.get_deleter().gpu;
  if (gpu == nullptr) {
    std::memcpy(address_.get(), bytes.data(), bytes_);
    return {};
  }
  const lyk_cu_result result =
      gpu->memory.copy_to_device(device_address(address_.get()), bytes.data(), bytes_);
  if (result != LYK_CU_SUCCESS)
    return failure(*gpu, result, str("copy ", bytes_, " bytes to the device"));
  return {};
}

Result<std::vector<std::byte>> Memory::read() const {
  std::vector<std::byte> out(bytes_);
  if (bytes_ == 0)
    return out;
  const GpuFunctions* gpu = address_.get_deleter().gpu;
  if (gpu == nullptr) {
    std::memcpy(out.data(), address_.get(), bytes_);
    return out;
  }
  const lyk_cu_result result =
      gpu->memory.copy_to_host(out.data(), device_address(address_.get()), bytes_);
  if (result != LYK_CU_SUCCESS)
    return failure(*gpu, result, str("copy ", bytes_, " bytes from the device"));
  return out;
}

}  // namespace lyk::parity
