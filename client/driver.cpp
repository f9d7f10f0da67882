#include "client/driver.hpp"

#include <dlfcn.h>
#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "client/shortage.hpp"
#include "proto/text.hpp"
#include "proto/unique.hpp"

namespace lyk::client {

namespace {

// CUDA 11.0: the oldest driver with all of LYK_CU_REQUIRED.
constexpr int version_min = 11000;

using Symbol = void (*)();

Symbol find_symbol(void* library, const char* name) {
  return reinterpret_cast<Symbol>(::dlsym(library, name));  // POSIX: dlsym's pointers are functions
}

#define LYK_FIND(member, exported, parameters) \
  cu.member = reinterpret_cast<decltype(cu.member)>(find_symbol(library, exported));
#define LYK_REQUIRE(member, exported, parameters)                   \
  LYK_FIND(member, exported, parameters)                            \
  if (cu.member == nullptr)                                         \
    return Error{Code::refused, str(name, ": it has no ", exported, \
                                    ", so it is no CUDA driver, or one from before 11.0")};

Result<lyk_cu_functions> find_functions(void* library, std::string_view name) {
  lyk_cu_functions cu{};
  LYK_CU_REQUIRED(LYK_REQUIRE)
  LYK_CU_OPTIONAL(LYK_FIND)
  return cu;
}

Result<lyk_cu_memory_functions> find_memory_functions(void* library, std::string_view name) {
  lyk_cu_memory_functions cu{};
  LYK_CU_MEMORY(LYK_REQUIRE)
  return cu;
}

#undef LYK_REQUIRE
#undef LYK_FIND

Result<void> start(Driver& driver, std::string_view name) {
  const lyk_cu_result result = driver.cu.init(0);
  if (result == LYK_CU_NO_DEVICE)
    return Error{Code::no_driver, str(name, ": it knows no device")};
  if (result != LYK_CU_SUCCESS)
    return cuda_error(driver.cu, result, "initialise the driver");
  int version = 0;
  LYK_TRY_CUDA(driver.cu, driver_get_version(&version), "ask the driver for its version");
  driver.version = {version / 1000, version % 1000 / 10};
  if (version < version_min)
    return Error{Code::refused, str(name, ": it is for CUDA ", driver.version.text(),
                                    ", and 11.0 is the oldest that is known")};
  LYK_TRY_CUDA(driver.cu, device_get_count(&driver.device_count), "count the devices");
  if (driver.device_count == 0)
    return Error{Code::no_driver, str(name, ": it knows no device")};
  return {};
}

// Never closed: the driver has threads of its own, and others in this process use it too.
Result<void*> open_library(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr)
    return handle;
  // The loader says only in words what it met: whether a file can be opened now is asked anew.
  const UniqueFd any{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  if (!any && is_shortage(errno))
    return Error{Code::busy, os_error(errno, "open the driver").message};
  const char* why = ::dlerror();
  return Error{Code::no_driver, str("no driver: ", why == nullptr ? library.c_str() : why)};
}

}  // namespace

Result<lyk_cu_memory_functions> open_memory_functions(const std::string& library) {
  LYK_TRY_ASSIGN(void* handle, open_library(library));
  return find_memory_functions(handle, library);
}

Result<Driver> open_driver(const std::string& library) {
  LYK_TRY_ASSIGN(void* handle, open_library(library));
  Driver driver;
  LYK_TRY_ASSIGN(driver.cu, find_functions(handle, library));
  if (auto started = start(driver, library); !started) {
    // Whatever the number says: no context can be lost before there is one.
    if (started.error().code == Code::cuda)
      started.error().code = Code::refused;
    return std::move(started).error();
  }
  return driver;
}

Result<lyk_cu_device> find_device(const lyk_cu_functions& cu, std::int32_t number) {
  lyk_cu_device device = 0;
  LYK_TRY_CUDA(cu, device_get(&device, number), str("find device ", number));
  return device;
}

bool is_sticky(lyk_cu_result result) {
  switch (result) {
    case LYK_CU_ECC_UNCORRECTABLE:
    case LYK_CU_NVLINK_UNCORRECTABLE:
    case LYK_CU_CONTAINED:
    case LYK_CU_ILLEGAL_ADDRESS:
    case LYK_CU_LAUNCH_TIMEOUT:
    case LYK_CU_CONTEXT_IS_DESTROYED:
    case LYK_CU_ASSERT:
    case LYK_CU_HARDWARE_STACK_ERROR:
    case LYK_CU_ILLEGAL_INSTRUCTION:
    case LYK_CU_MISALIGNED_ADDRESS:
    case LYK_CU_INVALID_ADDRESS_SPACE:
    case LYK_CU_INVALID_PC:
    case LYK_CU_LAUNCH_FAILED:
    case LYK_CU_TENSOR_MEMORY_LEAK:
    case LYK_CU_MPS_CLIENT_TERMINATED:
    case LYK_CU_EXTERNAL_DEVICE:
    case LYK_CU_UNKNOWN:
      return true;
    default:  // a driver may return any number
      return false;
  }
}

Error cuda_error(const lyk_cu_functions& cu, lyk_cu_result result, std::string_view what) {
  const char* name = nullptr;
  const char* meaning = nullptr;
  if (cu.get_error_name(result, &name) != LYK_CU_SUCCESS || name == nullptr)
    name = "CUDA error";
  std::string text = str(what, ": ", name, " (", result, ")");
  if (cu.get_error_string(result, &meaning) == LYK_CU_SUCCESS && meaning != nullptr)
    text += str(": ", meaning);
  if (is_sticky(result))
    return {Code::cuda, std::move(text)};
  // A child of somebody else's fork; a process that is on its way out; a capture that broke before.
  const bool is_passing =
      result == LYK_CU_NOT_INITIALIZED || result == LYK_CU_DEINITIALIZED ||
      (result >= LYK_CU_STREAM_CAPTURE_UNSUPPORTED && result <= LYK_CU_STREAM_CAPTURE_WRONG_THREAD);
  return {is_passing ? Code::not_eligible : Code::refused, std::move(text)};
}

Result<const Driver*> DriverHolder::get() {
  // Before anything else: in a child of fork not even the mutex may be touched, which a thread of
  // the parent may have held.
  if (mark_.is_inherited())
    return Error{Code::not_eligible, "the parent of this process used the driver before its fork"};
  if (const Driver* driver = opened_.load(std::memory_order_acquire))
    return driver;
  return open();
}

Result<const Driver*> DriverHolder::open() {
  // First, since a child of a fork from here on may inherit the mutex locked.
  mark_.set();
  const std::lock_guard lock{mutex_};
  if (!driver_) {
    auto opened = open_driver(library_);
    if (!opened && opened.error().code == Code::busy)
      return Error{Code::not_eligible, opened.error().message};
    driver_ = std::make_unique<const Result<Driver>>(std::move(opened));
  }
  if (!*driver_)
    return driver_->error();
  opened_.store(&driver_->value(), std::memory_order_release);
  return &driver_->value();
}

}  // namespace lyk::client
