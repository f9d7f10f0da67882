// A program that uses the CUDA driver itself, as a host of the library does: it has a primary
// context, device memory and streams. The driver is the stand-in (tests/fakes/softcuda).
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "client/cuda_abi.h"

namespace lyk::test {

struct CUgraph_st;
struct CUgraphExec_st;

#define LYK_TEST_CU(X)                                                                       \
  X(ctx_set_current, "cuCtxSetCurrent", (lyk_cu_context context))                            \
  X(ctx_create, "cuCtxCreate_v2",                                                            \
    (lyk_cu_context * context, unsigned flags, lyk_cu_device device))                        \
  X(primary_ctx_reset, "cuDevicePrimaryCtxReset_v2", (lyk_cu_device device))                 \
  X(mem_alloc, "cuMemAlloc_v2", (lyk_cu_deviceptr * address, std::size_t bytes))             \
  X(mem_free, "cuMemFree_v2", (lyk_cu_deviceptr address))                                    \
  X(memcpy_to_device, "cuMemcpyHtoD_v2",                                                     \
    (lyk_cu_deviceptr to, const void* from, std::size_t bytes))                              \
  X(memcpy_to_host, "cuMemcpyDtoH_v2", (void* to, lyk_cu_deviceptr from, std::size_t bytes)) \
  X(stream_create, "cuStreamCreate", (lyk_cu_stream * stream, unsigned flags))               \
  X(begin_capture, "cuStreamBeginCapture_v2", (lyk_cu_stream stream, int mode))              \
  X(end_capture, "cuStreamEndCapture", (lyk_cu_stream stream, CUgraph_st * *graph))          \
  X(graph_instantiate, "cuGraphInstantiateWithFlags",                                        \
    (CUgraphExec_st * *executable, CUgraph_st * graph, std::uint64_t flags))                 \
  X(graph_launch, "cuGraphLaunch", (CUgraphExec_st * executable, lyk_cu_stream stream))

// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration, which takes none
#define LYK_TEST_CU_MEMBER(member, name, parameters) lyk_cu_result(*member) parameters = nullptr;
struct HostFunctions {
  LYK_TEST_CU(LYK_TEST_CU_MEMBER)
};
#undef LYK_TEST_CU_MEMBER

// Throws std::runtime_error where the driver fails: a test that cannot be set up.
class SoftGpu {
public:
  explicit SoftGpu(int number = 0) {
    void* library = ::dlopen(LYK_SOFTCUDA, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      throw std::runtime_error(::dlerror());
#define LYK_TEST_CU_FIND(member, name, parameters) \
  host.member = reinterpret_cast<decltype(host.member)>(::dlsym(library, name));
    LYK_TEST_CU(LYK_TEST_CU_FIND)
#undef LYK_TEST_CU_FIND
#define LYK_TEST_CU_FIND(member, name, parameters) \
  cu.member = reinterpret_cast<decltype(cu.member)>(::dlsym(library, name));
    LYK_CU_REQUIRED(LYK_TEST_CU_FIND)
#undef LYK_TEST_CU_FIND
    must(cu.init(0), "cuInit");
    lyk_cu_device device = 0;
    must(cu.device_get(&device, number), "cuDeviceGet");
    must(cu.primary_ctx_retain(&context, device), "cuDevicePrimaryCtxRetain");
    must(host.ctx_set_current(context), "cuCtxSetCurrent");
  }

  static void must(lyk_cu_result result, const char* what) {
    if (result != LYK_CU_SUCCESS)
      throw std::runtime_error(std::string{what} + " fails with " + std::to_string(result));
  }

  lyk_cu_deviceptr allocate(std::size_t bytes) const {
    lyk_cu_deviceptr address = 0;
    must(host.mem_alloc(&address, bytes == 0 ? 1 : bytes), "cuMemAlloc");
    return address;
  }
  template <typename T>
  lyk_cu_deviceptr upload(const std::vector<T>& values) const {
    const lyk_cu_deviceptr address = allocate(values.size() * sizeof(T));
    if (!values.empty())
      must(host.memcpy_to_device(address, values.data(), values.size() * sizeof(T)),
           "cuMemcpyHtoD");
    return address;
  }
  std::vector<float> download(lyk_cu_deviceptr address, std::size_t count) const {
    std::vector<float> out(count);
    if (count != 0)
      must(host.memcpy_to_host(out.data(), address, count * sizeof(float)), "cuMemcpyDtoH");
    return out;
  }
  lyk_cu_stream stream(unsigned flags = 0) const {
    lyk_cu_stream out = nullptr;
    must(host.stream_create(&out, flags), "cuStreamCreate");
    return out;
  }
  lyk_cu_context current() const {
    lyk_cu_context out = nullptr;
    must(cu.ctx_get_current(&out), "cuCtxGetCurrent");
    return out;
  }

  lyk_cu_functions cu{};
  HostFunctions host;
  lyk_cu_context context = nullptr;
};

}  // namespace lyk::test
