// The CUDA driver as this process has it: libcuda.so.1, opened when a CUDA tensor first arrives and
// then for good, and what its results mean to us. A machine without a driver is an ordinary one.
// Thread rule: safe from any thread; a Driver is immutable once it was opened.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "client/cuda_abi.h"
#include "proto/device.hpp"
#include "proto/error.hpp"
#include "proto/fork_mark.hpp"
#include "proto/result.hpp"

namespace lyk::client {

inline constexpr std::string_view driver_library = "libcuda.so.1";

struct Driver {
  lyk_cu_functions cu{};
  CudaVersion version;
  int device_count = 0;
};

// Opens `library`, looks its functions up, and initialises it. Errors: no_driver (there is none, or
// it knows no device), not_eligible (it does not work in this process, which is the child of one
// that used it), refused (something else has that name, or it is too old, or it does not start),
// busy (this process has no room for a descriptor).
Result<Driver> open_driver(const std::string& library);

// The functions for device memory of a driver that was opened. Errors: as open_driver.
Result<lyk_cu_memory_functions> open_memory_functions(const std::string& library);

// What a failed call of the driver means: cuda for a sticky error, after which every call of this
// context fails; not_eligible where only this call is hurt (a broken capture, a process that ends
// or is a child of fork); refused for everything else. The text says what was tried and names the
// result: "load the image: CUDA_ERROR_NO_BINARY_FOR_GPU (209): no kernel image is available ...".
Error cuda_error(const lyk_cu_functions& cu, lyk_cu_result result, std::string_view what);

// The GPU of that number, as the driver counts. Errors: cuda_error.
Result<lyk_cu_device> find_device(const lyk_cu_functions& cu, std::int32_t number);

// True for results that the context does not survive.
bool is_sticky(lyk_cu_result result);

// A process's one driver.
class DriverHolder {
public:
  explicit DriverHolder(std::string library) : library_(std::move(library)) {}

  // Opens it the first time; what came of that holds for the rest of the process, unless it was
  // busy. Errors: as open_driver, with not_eligible for busy and in a child of a process in which
  // this library opened it.
  Result<const Driver*> get();

  // What get() has opened; null: nothing yet.
  const Driver* opened() const { return opened_.load(std::memory_order_acquire); }

private:
  Result<const Driver*> open();

  const std::string library_;
  ForkMark mark_;
  std::atomic<const Driver*> opened_{nullptr};  // points into driver_
  std::mutex mutex_;
  std::unique_ptr<const Result<Driver>> driver_;
};

}  // namespace lyk::client

// LYK_TRY_CUDA(cu, call, what): returns the Error of a call of the driver from the calling
// function.
#define LYK_TRY_CUDA(cu, call, what)                             \
  do {                                                           \
    if (const lyk_cu_result lyk_cuda = (cu).call; lyk_cuda != 0) \
      return ::lyk::client::cuda_error(cu, lyk_cuda, what);      \
  } while (false)
