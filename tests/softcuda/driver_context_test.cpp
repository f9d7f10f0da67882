#include <gtest/gtest.h>

#include <thread>

#include "tests/softcuda/driver_calls.hpp"

namespace softcuda {
namespace {

int active(const Cuda& cuda, int device) {
  unsigned flags = 0;
  int out = -1;
  EXPECT_EQ(cuda.cuDevicePrimaryCtxGetState(device, &flags, &out), ok);
  return out;
}

ContextHandle current(const Cuda& cuda) {
  ContextHandle out{};
  EXPECT_EQ(cuda.cuCtxGetCurrent(&out), ok);
  return out;
}

void in_initialised_child(const Environment& environment,
                          const std::function<void(const Cuda&)>& body) {
  in_child(environment, [&](const Cuda& cuda) {
    ASSERT_EQ(cuda.cuInit(0), ok);
    body(cuda);
  });
}

TEST(SoftcudaContext, APrimaryContextIsActiveWhileItIsRetained) {
  in_initialised_child({}, [](const Cuda& cuda) {
    EXPECT_EQ(active(cuda, 0), 0);
    ContextHandle first{};
    ContextHandle second{};
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&first, 0), ok);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&second, 0), ok);
    EXPECT_EQ(first, second);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), ok);
    EXPECT_EQ(active(cuda, 0), 1);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), ok);
    EXPECT_EQ(active(cuda, 0), 0);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), Status::invalid_context);
    ContextHandle again{};
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&again, 0), ok);
    EXPECT_EQ(again, first);
  });
}

TEST(SoftcudaContext, RetainingDoesNotMakeCurrent) {
  in_initialised_child({}, [](const Cuda& cuda) {
    ContextHandle context{};
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&context, 0), ok);
    EXPECT_EQ(current(cuda), nullptr);
    DevicePointer memory = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 4), Status::invalid_context);
  });
}

TEST(SoftcudaContext, AReleasedPrimaryContextIsDestroyedForThoseWhoHaveItCurrent) {
  in_initialised_child({}, [](const Cuda& cuda) {
    (void)use_device(cuda, 0);
    DevicePointer memory = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 4), ok);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), ok);
    EXPECT_EQ(cuda.cuCtxSynchronize(), Status::context_is_destroyed);
    EXPECT_EQ(cuda.cuMemFree_v2(memory), Status::context_is_destroyed);
    (void)use_device(cuda, 0);
    EXPECT_EQ(cuda.cuMemFree_v2(memory), Status::invalid_value);
  });
}

TEST(SoftcudaContext, AResetFreesWhatTheContextHas) {
  in_initialised_child({}, [](const Cuda& cuda) {
    ContextHandle context = use_device(cuda, 0);
    StreamHandle stream{};
    EXPECT_EQ(cuda.cuStreamCreate(&stream, 0), ok);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxReset_v2(0), ok);
    EXPECT_EQ(active(cuda, 0), 0);
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), Status::context_is_destroyed);
    EXPECT_EQ(cuda.cuCtxPushCurrent_v2(context), Status::context_is_destroyed);
    EXPECT_EQ(use_device(cuda, 0), context);
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), Status::invalid_handle);
  });
}

TEST(SoftcudaContext, APrimaryContextMayComeAgainElsewhere) {
  in_initialised_child({{"SOFTCUDA_MOVE_PRIMARY", "1"}}, [](const Cuda& cuda) {
    ContextHandle first = use_device(cuda, 0);
    EXPECT_EQ(use_device(cuda, 0), first);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxReset_v2(0), ok);
    ContextHandle second = use_device(cuda, 0);
    EXPECT_NE(second, first);
    EXPECT_EQ(cuda.cuCtxPushCurrent_v2(first), Status::invalid_context);
    EXPECT_EQ(cuda.cuCtxPushCurrent_v2(second), ok);
  });
}

TEST(SoftcudaContext, TheStackIsOfTheThread) {
  in_initialised_child({{"SOFTCUDA_DEVICES", "sm_90,sm_75"}}, [](const Cuda& cuda) {
    ContextHandle first = use_device(cuda, 0);
    ContextHandle second{};
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&second, 1), ok);
    EXPECT_EQ(cuda.cuCtxPushCurrent_v2(second), ok);
    int device = -1;
    EXPECT_EQ(cuda.cuCtxGetDevice(&device), ok);
    EXPECT_EQ(device, 1);
    std::thread{[&] { EXPECT_EQ(current(cuda), nullptr); }}.join();
    ContextHandle popped{};
    EXPECT_EQ(cuda.cuCtxPopCurrent_v2(&popped), ok);
    EXPECT_EQ(popped, second);
    EXPECT_EQ(current(cuda), first);
    EXPECT_EQ(cuda.cuCtxSetCurrent(second), ok);
    EXPECT_EQ(current(cuda), second);
    EXPECT_EQ(cuda.cuCtxSetCurrent(nullptr), ok);
    EXPECT_EQ(current(cuda), nullptr);
    EXPECT_EQ(cuda.cuCtxPopCurrent_v2(&popped), Status::invalid_context);
  });
}

TEST(SoftcudaContext, TheCallsOf13TakeAContextOrTheCurrentOne) {
  in_initialised_child({{"SOFTCUDA_DEVICES", "sm_90,sm_75"}}, [](const Cuda& cuda) {
    ContextHandle first = use_device(cuda, 0);
    (void)use_device(cuda, 1);
    int device = -1;
    EXPECT_EQ(cuda.cuCtxGetDevice_v2(&device, first), ok);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(cuda.cuCtxGetDevice_v2(&device, nullptr), ok);
    EXPECT_EQ(device, 1);
    EXPECT_EQ(cuda.cuCtxSynchronize_v2(first), ok);
    EXPECT_EQ(cuda.cuCtxSynchronize_v2(nullptr), ok);
    // What a caller of the older signature may pass by accident.
    EXPECT_EQ(cuda.cuCtxSynchronize_v2(reinterpret_cast<ContextHandle>(&device)),
              Status::invalid_context);
    ContextHandle context{};
    void* green = &device;
    EXPECT_EQ(cuda.cuStreamGetCtx_v2(nullptr, &context, &green), ok);
    EXPECT_EQ(green, nullptr);
    EXPECT_EQ(cuda.cuCtxSetCurrent(nullptr), ok);
    EXPECT_EQ(cuda.cuCtxGetDevice_v2(&device, nullptr), Status::invalid_context);
  });
}

TEST(SoftcudaContext, AFullStackRefusesOneMore) {
  in_initialised_child({}, [](const Cuda& cuda) {
    ContextHandle context = use_device(cuda, 0);
    for (int i = 1; i < 128; ++i)
      ASSERT_EQ(cuda.cuCtxPushCurrent_v2(context), ok);
    EXPECT_EQ(cuda.cuCtxPushCurrent_v2(context), Status::out_of_memory);
  });
}

TEST(SoftcudaContext, OwnContextsAreCurrentWhenMadeAndGoneWhenDestroyed) {
  in_initialised_child({}, [](const Cuda& cuda) {
    ContextHandle context{};
    EXPECT_EQ(cuda.cuCtxCreate_v2(&context, 0, 0), ok);
    EXPECT_EQ(current(cuda), context);
    EXPECT_EQ(active(cuda, 0), 0);
    unsigned version = 0;
    EXPECT_EQ(cuda.cuCtxGetApiVersion(context, &version), ok);
    EXPECT_EQ(version, 3020U);
    ContextHandle other{};
    EXPECT_EQ(cuda.cuCtxCreate_v4(&other, nullptr, 0, 0), ok);
    EXPECT_EQ(cuda.cuCtxDestroy_v2(context), ok);
    EXPECT_EQ(current(cuda), other);
    EXPECT_EQ(cuda.cuCtxDestroy_v2(context), Status::invalid_context);
    EXPECT_EQ(cuda.cuCtxSetCurrent(context), Status::invalid_context);
    EXPECT_EQ(cuda.cuCtxDestroy_v2(other), ok);
    // Only the top of the stack goes with its context: the other one is there, and of no use.
    EXPECT_EQ(current(cuda), context);
    EXPECT_EQ(cuda.cuCtxSynchronize(), Status::context_is_destroyed);
    EXPECT_EQ(cuda.cuCtxCreate_v2(&context, 0x100, 0), Status::invalid_value);
    EXPECT_EQ(cuda.cuCtxCreate_v2(&context, 0, 1), Status::invalid_device);
  });
}

TEST(SoftcudaContext, APrimaryContextCannotBeDestroyedLikeAnOwnOne) {
  in_initialised_child({}, [](const Cuda& cuda) {
    ContextHandle context = use_device(cuda, 0);
    EXPECT_EQ(cuda.cuCtxDestroy_v2(context), Status::invalid_context);
    EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
  });
}

TEST(SoftcudaContext, WrongHandlesOfEveryKindAreAnswersAndNeverCrashes) {
  with_context({}, [](const Cuda& cuda) {
    for (const std::uintptr_t number : {std::uintptr_t{0x10}, std::uintptr_t{0xc0600000000010},
                                        reinterpret_cast<std::uintptr_t>(&cuda)}) {
      // NOLINTBEGIN(performance-no-int-to-ptr): wrong handles on purpose
      EXPECT_EQ(cuda.cuCtxPushCurrent_v2(reinterpret_cast<ContextHandle>(number)),
                Status::invalid_context);
      EXPECT_EQ(cuda.cuStreamSynchronize(reinterpret_cast<StreamHandle>(number)),
                Status::invalid_handle);
      EXPECT_EQ(cuda.cuStreamDestroy_v2(reinterpret_cast<StreamHandle>(number)),
                Status::invalid_handle);
      EXPECT_EQ(cuda.cuEventQuery(reinterpret_cast<EventHandle>(number)), Status::invalid_handle);
      EXPECT_EQ(cuda.cuModuleUnload(reinterpret_cast<ModuleHandle>(number)),
                Status::invalid_handle);
      EXPECT_EQ(cuda.cuFuncLoad(reinterpret_cast<FunctionHandle>(number)), Status::invalid_handle);
      EXPECT_EQ(cuda.cuLaunchKernel(reinterpret_cast<FunctionHandle>(number), 1, 1, 1, 1, 1, 1, 0,
                                    nullptr, nullptr, nullptr),
                Status::invalid_handle);
      EXPECT_EQ(cuda.cuLibraryUnload(reinterpret_cast<LibraryHandle>(number)),
                Status::invalid_handle);
      EXPECT_EQ(cuda.cuGraphLaunch(reinterpret_cast<GraphExecHandle>(number), nullptr),
                Status::invalid_value);
      EXPECT_EQ(cuda.cuGraphDestroy(reinterpret_cast<GraphHandle>(number)), Status::invalid_value);
      // NOLINTEND(performance-no-int-to-ptr)
    }
  });
}

TEST(SoftcudaContext, FreedHandlesAreInvalidAndNeverAnotherObject) {
  with_context({}, [](const Cuda& cuda) {
    StreamHandle stream{};
    EXPECT_EQ(cuda.cuStreamCreate(&stream, 0), ok);
    EXPECT_EQ(cuda.cuStreamDestroy_v2(stream), ok);
    StreamHandle other{};
    EXPECT_EQ(cuda.cuStreamCreate(&other, 0), ok);
    EXPECT_NE(stream, other);
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), Status::invalid_handle);
    EventHandle event{};
    EXPECT_EQ(cuda.cuEventCreate(&event, 0), ok);
    EXPECT_EQ(cuda.cuEventDestroy_v2(event), ok);
    EXPECT_EQ(cuda.cuEventRecord(event, other), Status::invalid_handle);
  });
}

TEST(SoftcudaContext, ObjectsOfAnotherContextAreInvalid) {
  with_context({}, [](const Cuda& cuda) {
    StreamHandle stream{};
    EXPECT_EQ(cuda.cuStreamCreate(&stream, 0), ok);
    ContextHandle other{};
    EXPECT_EQ(cuda.cuCtxCreate_v2(&other, 0, 0), ok);
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), Status::invalid_handle);
  });
}

TEST(SoftcudaContext, HasANumberThatNoneBeforeHadAlsoWhereItsHandleStays) {
  in_initialised_child({}, [](const Cuda& cuda) {
    std::uint64_t first = 0;
    std::uint64_t later = 0;
    EXPECT_EQ(cuda.cuCtxGetId(nullptr, &first), Status::invalid_context);
    auto* const context = use_device(cuda, 0);
    EXPECT_EQ(cuda.cuCtxGetId(context, &first), ok);
    EXPECT_EQ(cuda.cuCtxGetId(nullptr, &later), ok);
    EXPECT_EQ(later, first);
    EXPECT_EQ(cuda.cuCtxGetId(context, nullptr), Status::invalid_value);

    EXPECT_EQ(cuda.cuDevicePrimaryCtxReset_v2(0), ok);
    EXPECT_EQ(cuda.cuCtxGetId(context, &later), Status::context_is_destroyed);
    EXPECT_EQ(use_device(cuda, 0), context);
    EXPECT_EQ(cuda.cuCtxGetId(context, &later), ok);
    EXPECT_NE(later, first);

    ContextHandle own{};
    EXPECT_EQ(cuda.cuCtxCreate_v2(&own, 0, 0), ok);
    EXPECT_EQ(cuda.cuCtxGetId(own, &first), ok);
    EXPECT_NE(later, first);
  });
}

}  // namespace
}  // namespace softcuda
