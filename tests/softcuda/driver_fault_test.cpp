#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tests/softcuda/driver_calls.hpp"

namespace softcuda {
namespace {

Environment failing(const std::string& injections) {
  return {{"SOFTCUDA_FAIL", injections}, {"SOFTCUDA_EXECUTE", "0"}};
}

Status launch(const Cuda& cuda, FunctionHandle function) {
  DevicePointer values = 0;
  float factor = 1;
  int count = 0;
  std::array<void*, 3> places{&values, &factor, &count};
  return cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, places.data(), nullptr);
}

TEST(SoftcudaFault, TheNthCallOfAFunctionGivesTheInjectedCode) {
  with_context(failing("cuMemAlloc:2:2,cuMemAlloc:4+:999"), [](const Cuda& cuda) {
    DevicePointer memory = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 4), ok);
    const DevicePointer before = memory;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 4), Status::out_of_memory);
    EXPECT_EQ(memory, before);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 4), ok);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 4), Status::unknown);
    EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
  });
}

TEST(SoftcudaFault, InitialisationItselfCanFail) {
  in_child(failing("cuInit:1:100,cuDeviceGetCount:1:3"), [](const Cuda& cuda) {
    EXPECT_EQ(cuda.cuInit(0), Status::no_device);
    int count = 0;
    EXPECT_EQ(cuda.cuDeviceGetCount(&count), Status::not_initialized);
    EXPECT_EQ(cuda.cuDeviceGetCount(&count), Status::not_initialized);
    EXPECT_EQ(cuda.cuInit(0), ok);
    EXPECT_EQ(cuda.cuDeviceGetCount(&count), ok);
  });
}

TEST(SoftcudaFault, AStickyCodeStaysInTheContext) {
  with_context(failing("cuLaunchKernel:1:719"), [](const Cuda& cuda) {
    FunctionHandle function = load_scale(cuda);
    EXPECT_EQ(launch(cuda, function), Status::launch_failed);
    EXPECT_EQ(launch(cuda, function), Status::launch_failed);
    DevicePointer memory = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 4), Status::launch_failed);
    EXPECT_EQ(cuda.cuCtxSynchronize(), Status::launch_failed);
    StreamHandle stream{};
    EXPECT_EQ(cuda.cuStreamCreate(&stream, 0), Status::launch_failed);
  });
}

TEST(SoftcudaFault, OtherCodesDoNotStay) {
  with_context(failing("cuLaunchKernel:1:701"), [](const Cuda& cuda) {
    FunctionHandle function = load_scale(cuda);
    EXPECT_EQ(launch(cuda, function), Status::launch_out_of_resources);
    EXPECT_EQ(launch(cuda, function), ok);
    EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
  });
}

TEST(SoftcudaFault, AnAsynchronousFaultComesWithTheNextCall) {
  for (const int code : {700, 710, 715, 716, 719})
    with_context(failing("cuLaunchKernel:1:" + std::to_string(code) + ":async"),
                 [code](const Cuda& cuda) {
                   FunctionHandle function = load_scale(cuda);
                   EXPECT_EQ(launch(cuda, function), ok);
                   EXPECT_EQ(cuda.cuStreamSynchronize(nullptr), Status{code});
                   EXPECT_EQ(launch(cuda, function), Status{code});
                 });
}

TEST(SoftcudaFault, EveryCallInAFaultyContextAnswersWithTheFault) {
  with_context(failing("cuCtxSynchronize:1:700:async"), [](const Cuda& cuda) {
    FunctionHandle function = load_scale(cuda);
    const DevicePointer memory = upload(cuda, {1});
    EventHandle event{};
    EXPECT_EQ(cuda.cuEventCreate(&event, 0), ok);
    EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
    ModuleHandle module{};
    FunctionHandle other{};
    std::array<char, 4> bytes{};
    int number = 0;
    const std::vector<std::function<Status()>> calls{
        [&] { return cuda.cuMemFree_v2(memory); },
        [&] { return cuda.cuMemcpyDtoH_v2(bytes.data(), memory, 4); },
        [&] { return cuda.cuMemsetD8Async(memory, 0, 4, nullptr); },
        [&] { return cuda.cuModuleLoadData(&module, scale_ptx("7.5", "sm_75").c_str()); },
        [&] { return cuda.cuModuleGetFunction(&other, module, "scale"); },
        [&] { return cuda.cuFuncGetAttribute(&number, 0, function); },
        [&] { return cuda.cuEventRecord(event, nullptr); },
        [&] { return cuda.cuEventQuery(event); },
        [&] { return cuda.cuStreamQuery(nullptr); },
        [&] { return launch(cuda, function); },
    };
    for (std::size_t i = 0; i < calls.size(); ++i)
      EXPECT_EQ(calls[i](), Status::illegal_address) << i;
    ContextHandle context{};
    EXPECT_EQ(cuda.cuCtxPopCurrent_v2(&context), ok);
    EXPECT_EQ(cuda.cuCtxPushCurrent_v2(context), ok);
  });
}

TEST(SoftcudaFault, OneContextsFaultIsNotAnothers) {
  with_context({{"SOFTCUDA_FAIL", "cuCtxSynchronize:1:700"}, {"SOFTCUDA_DEVICES", "sm_90,sm_75"}},
               [](const Cuda& cuda) {
                 EXPECT_EQ(cuda.cuCtxSynchronize(), Status::illegal_address);
                 (void)use_device(cuda, 1);
                 EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
                 EXPECT_EQ(cuda.cuDevicePrimaryCtxReset_v2(0), ok);
                 (void)use_device(cuda, 0);
                 EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
               });
}

TEST(SoftcudaFault, WorkAfterAFaultIsNotDone) {
  with_context(failing("cuStreamQuery:1:719:async"), [](const Cuda& cuda) {
    StreamHandle stream{};
    EXPECT_EQ(cuda.cuStreamCreate(&stream, stream_non_blocking), ok);
    bool was_done = false;
    Gate gate;
    StreamHandle other{};
    EXPECT_EQ(cuda.cuStreamCreate(&other, stream_non_blocking), ok);
    EXPECT_EQ(gate.close(cuda, stream), ok);
    EXPECT_EQ(cuda.cuLaunchHostFunc(
                  stream, [](void* given) { *static_cast<bool*>(given) = true; }, &was_done),
              ok);
    EXPECT_EQ(cuda.cuStreamQuery(other), ok);
    gate.open();
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), Status::launch_failed);
    ContextHandle context{};
    EXPECT_EQ(cuda.cuCtxGetCurrent(&context), ok);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), ok);  // waits for the streams
    EXPECT_FALSE(was_done);
  });
}

}  // namespace
}  // namespace softcuda
