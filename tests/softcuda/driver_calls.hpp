// The driver as a test calls it: loaded by dlopen from the build, each test in a process of its
// own, since a driver reads its environment once and is never unloaded.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/softcuda/abi.hpp"

namespace softcuda {

// For the messages of failed expectations: the code as a number.
// NOLINTNEXTLINE(readability-identifier-naming): gtest's name for it
inline void PrintTo(Status status, std::ostream* out) {
  *out << static_cast<int>(status);
}

// NOLINTBEGIN(cppcoreguidelines-macro-usage): one list for members and for looking them up
#define SOFTCUDA_TEST_CALLS(X)                                                                    \
  X(cuInit, unsigned)                                                                             \
  X(cuDriverGetVersion, int*)                                                                     \
  X(cuGetProcAddress, const char*, void**, int, std::uint64_t)                                    \
  X(cuGetProcAddress_v2, const char*, void**, int, std::uint64_t, int*)                           \
  X(cuGetErrorName, int, const char**)                                                            \
  X(cuGetErrorString, int, const char**)                                                          \
  X(cuDeviceGetCount, int*)                                                                       \
  X(cuDeviceGet, int*, int)                                                                       \
  X(cuDeviceGetName, char*, int, int)                                                             \
  X(cuDeviceGetUuid_v2, Uuid*, int)                                                               \
  X(cuDeviceGetAttribute, int*, int, int)                                                         \
  X(cuDeviceTotalMem_v2, std::size_t*, int)                                                       \
  X(cuDevicePrimaryCtxRetain, ContextHandle*, int)                                                \
  X(cuDevicePrimaryCtxRelease_v2, int)                                                            \
  X(cuDevicePrimaryCtxGetState, int, unsigned*, int*)                                             \
  X(cuDevicePrimaryCtxReset_v2, int)                                                              \
  X(cuDevicePrimaryCtxSetFlags_v2, int, unsigned)                                                 \
  X(cuCtxCreate_v2, ContextHandle*, unsigned, int)                                                \
  X(cuCtxCreate_v4, ContextHandle*, void*, unsigned, int)                                         \
  X(cuCtxDestroy_v2, ContextHandle)                                                               \
  X(cuCtxGetCurrent, ContextHandle*)                                                              \
  X(cuCtxSetCurrent, ContextHandle)                                                               \
  X(cuCtxPushCurrent_v2, ContextHandle)                                                           \
  X(cuCtxPopCurrent_v2, ContextHandle*)                                                           \
  X(cuCtxGetDevice, int*)                                                                         \
  X(cuCtxGetDevice_v2, int*, ContextHandle)                                                       \
  X(cuCtxSynchronize_v2, ContextHandle)                                                           \
  X(cuStreamGetCtx_v2, StreamHandle, ContextHandle*, void**)                                      \
  X(cuCtxSynchronize)                                                                             \
  X(cuCtxGetApiVersion, ContextHandle, unsigned*)                                                 \
  X(cuCtxGetId, ContextHandle, std::uint64_t*)                                                    \
  X(cuModuleLoad, ModuleHandle*, const char*)                                                     \
  X(cuModuleLoadData, ModuleHandle*, const void*)                                                 \
  X(cuModuleLoadDataEx, ModuleHandle*, const void*, unsigned, int*, void**)                       \
  X(cuModuleUnload, ModuleHandle)                                                                 \
  X(cuModuleGetFunction, FunctionHandle*, ModuleHandle, const char*)                              \
  X(cuModuleGetGlobal_v2, DevicePointer*, std::size_t*, ModuleHandle, const char*)                \
  X(cuModuleGetLoadingMode, int*)                                                                 \
  X(cuModuleGetFunctionCount, unsigned*, ModuleHandle)                                            \
  X(cuModuleEnumerateFunctions, FunctionHandle*, unsigned, ModuleHandle)                          \
  X(cuLibraryLoadData, LibraryHandle*, const void*, int*, void**, unsigned, int*, void**,         \
    unsigned)                                                                                     \
  X(cuLibraryUnload, LibraryHandle)                                                               \
  X(cuLibraryGetKernel, KernelHandle*, LibraryHandle, const char*)                                \
  X(cuKernelGetFunction, FunctionHandle*, KernelHandle)                                           \
  X(cuFuncGetAttribute, int*, int, FunctionHandle)                                                \
  X(cuFuncSetAttribute, FunctionHandle, int, int)                                                 \
  X(cuFuncGetName, const char**, FunctionHandle)                                                  \
  X(cuFuncGetParamInfo, FunctionHandle, std::size_t, std::size_t*, std::size_t*)                  \
  X(cuFuncLoad, FunctionHandle)                                                                   \
  X(cuFuncIsLoaded, int*, FunctionHandle)                                                         \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, int*, FunctionHandle, int, std::size_t)          \
  X(cuOccupancyMaxPotentialBlockSize, int*, int*, FunctionHandle, BlockSizeToShared, std::size_t, \
    int)                                                                                          \
  X(cuLaunchKernel, FunctionHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
    unsigned, StreamHandle, void**, void**)                                                       \
  X(cuLaunchKernelEx, const LaunchConfig*, FunctionHandle, void**, void**)                        \
  X(cuLaunchHostFunc, StreamHandle, HostFunction, void*)                                          \
  X(cuMemAlloc_v2, DevicePointer*, std::size_t)                                                   \
  X(cuMemFree_v2, DevicePointer)                                                                  \
  X(cuMemAllocAsync, DevicePointer*, std::size_t, StreamHandle)                                   \
  X(cuMemFreeAsync, DevicePointer, StreamHandle)                                                  \
  X(cuMemAllocHost_v2, void**, std::size_t)                                                       \
  X(cuMemFreeHost, void*)                                                                         \
  X(cuMemGetInfo_v2, std::size_t*, std::size_t*)                                                  \
  X(cuMemGetAddressRange_v2, DevicePointer*, std::size_t*, DevicePointer)                         \
  X(cuPointerGetAttribute, void*, int, DevicePointer)                                             \
  X(cuPointerGetAttributes, unsigned, int*, void**, DevicePointer)                                \
  X(cuMemcpy, DevicePointer, DevicePointer, std::size_t)                                          \
  X(cuMemcpyAsync, DevicePointer, DevicePointer, std::size_t, StreamHandle)                       \
  X(cuMemcpyHtoD_v2, DevicePointer, const void*, std::size_t)                                     \
  X(cuMemcpyDtoH_v2, void*, DevicePointer, std::size_t)                                           \
  X(cuMemcpyDtoD_v2, DevicePointer, DevicePointer, std::size_t)                                   \
  X(cuMemcpyHtoDAsync_v2, DevicePointer, const void*, std::size_t, StreamHandle)                  \
  X(cuMemcpyDtoHAsync_v2, void*, DevicePointer, std::size_t, StreamHandle)                        \
  X(cuMemsetD8_v2, DevicePointer, unsigned char, std::size_t)                                     \
  X(cuMemsetD16_v2, DevicePointer, unsigned short, std::size_t)                                   \
  X(cuMemsetD32_v2, DevicePointer, unsigned, std::size_t)                                         \
  X(cuMemsetD8Async, DevicePointer, unsigned char, std::size_t, StreamHandle)                     \
  X(cuMemsetD32Async, DevicePointer, unsigned, std::size_t, StreamHandle)                         \
  X(cuStreamCreate, StreamHandle*, unsigned)                                                      \
  X(cuStreamDestroy_v2, StreamHandle)                                                             \
  X(cuStreamSynchronize, StreamHandle)                                                            \
  X(cuStreamSynchronize_ptsz, StreamHandle)                                                       \
  X(cuStreamQuery, StreamHandle)                                                                  \
  X(cuStreamWaitEvent, StreamHandle, EventHandle, unsigned)                                       \
  X(cuStreamGetCtx, StreamHandle, ContextHandle*)                                                 \
  X(cuStreamGetFlags, StreamHandle, unsigned*)                                                    \
  X(cuStreamIsCapturing, StreamHandle, int*)                                                      \
  X(cuStreamBeginCapture_v2, StreamHandle, int)                                                   \
  X(cuStreamEndCapture, StreamHandle, GraphHandle*)                                               \
  X(cuStreamGetCaptureInfo_v2, StreamHandle, int*, std::uint64_t*, GraphHandle*,                  \
    const NodeHandle**, std::size_t*)                                                             \
  X(cuThreadExchangeStreamCaptureMode, int*)                                                      \
  X(cuEventCreate, EventHandle*, unsigned)                                                        \
  X(cuEventRecord, EventHandle, StreamHandle)                                                     \
  X(cuEventQuery, EventHandle)                                                                    \
  X(cuEventSynchronize, EventHandle)                                                              \
  X(cuEventElapsedTime, float*, EventHandle, EventHandle)                                         \
  X(cuEventDestroy_v2, EventHandle)                                                               \
  X(cuGraphInstantiateWithFlags, GraphExecHandle*, GraphHandle, unsigned long long)               \
  X(cuGraphGetNodes, GraphHandle, NodeHandle*, std::size_t*)                                      \
  X(cuGraphLaunch, GraphExecHandle, StreamHandle)                                                 \
  X(cuGraphDestroy, GraphHandle)                                                                  \
  X(cuGraphExecDestroy, GraphExecHandle)
// NOLINTEND(cppcoreguidelines-macro-usage)

struct Cuda {
  // NOLINTBEGIN(readability-identifier-naming): the driver's names
#define SOFTCUDA_TEST_MEMBER(name, ...) Status (*name)(__VA_ARGS__) = nullptr;
  SOFTCUDA_TEST_CALLS(SOFTCUDA_TEST_MEMBER)
#undef SOFTCUDA_TEST_MEMBER
  // NOLINTEND(readability-identifier-naming)
};

// Loads the driver that the build made.
Cuda load_driver();

using Environment = std::vector<std::pair<std::string, std::string>>;

// Runs `body` in a child process with these variables and a driver that nobody has called yet. The
// child's failed expectations are this test's.
void in_child(const Environment& environment, const std::function<void(const Cuda&)>& body);
// The same after cuInit and with a context current: that of device 0, retained.
void with_context(const Environment& environment, const std::function<void(const Cuda&)>& body);

inline constexpr auto ok = Status::success;

// Makes the primary context of a device current, or fails the test.
ContextHandle use_device(const Cuda& cuda, int device);

// Device memory with these numbers in it.
DevicePointer upload(const Cuda& cuda, const std::vector<float>& values);
std::vector<float> download(const Cuda& cuda, DevicePointer from, std::size_t count);

// A kernel `scale(float* values, float factor, int count)` as PTX text, with what the module says
// of itself.
std::string scale_ptx(const std::string& version, const std::string& target);
FunctionHandle load_scale(const Cuda& cuda);

// Holds up the stream that it is queued in until it is opened.
class Gate {
public:
  Status close(const Cuda& cuda, StreamHandle stream) {
    return cuda.cuLaunchHostFunc(stream, wait_for, new std::shared_ptr<State>{state_});
  }
  void open();
  ~Gate() { open(); }
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

private:
  struct State;
  // Owns the pointer that it gets, since the gate may be gone when its turn comes.
  static void wait_for(void* given);

  std::shared_ptr<State> state_ = make_state();
  static std::shared_ptr<State> make_state();
};

}  // namespace softcuda
