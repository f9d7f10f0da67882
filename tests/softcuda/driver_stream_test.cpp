#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/softcuda/driver_calls.hpp"

namespace softcuda {
namespace {

StreamHandle make_stream(const Cuda& cuda, unsigned flags) {
  StreamHandle out{};
  EXPECT_EQ(cuda.cuStreamCreate(&out, flags), ok);
  return out;
}

EventHandle make_event(const Cuda& cuda, unsigned flags) {
  EventHandle out{};
  EXPECT_EQ(cuda.cuEventCreate(&out, flags), ok);
  return out;
}

TEST(SoftcudaStream, WorkRunsAsynchronouslyAndInOrder) {
  with_context({}, [](const Cuda& cuda) {
    const DevicePointer memory = upload(cuda, {1});
    StreamHandle stream = make_stream(cuda, 0);
    Gate gate;
    EXPECT_EQ(gate.close(cuda, stream), ok);
    EXPECT_EQ(cuda.cuMemsetD32Async(memory, 0x40000000, 1, stream), ok);
    EXPECT_EQ(cuda.cuMemsetD32Async(memory, 0x40400000, 1, stream), ok);
    EXPECT_EQ(cuda.cuStreamQuery(stream), Status::not_ready);
    gate.open();
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), ok);
    EXPECT_EQ(cuda.cuStreamQuery(stream), ok);
    EXPECT_EQ(download(cuda, memory, 1), (std::vector<float>{3}));
  });
}

TEST(SoftcudaStream, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  with_context({}, [](const Cuda& cuda) {
    StreamHandle blocking = make_stream(cuda, 0);
    Gate gate;
    EXPECT_EQ(gate.close(cuda, blocking), ok);
    EventHandle on_legacy = make_event(cuda, 0);
    EXPECT_EQ(cuda.cuEventRecord(on_legacy, nullptr), ok);
    StreamHandle other = make_stream(cuda, 0);
    EventHandle on_other = make_event(cuda, 0);
    EXPECT_EQ(cuda.cuEventRecord(on_other, other), ok);
    StreamHandle apart = make_stream(cuda, stream_non_blocking);
    EXPECT_EQ(cuda.cuStreamSynchronize(apart), ok);
    EXPECT_EQ(cuda.cuEventQuery(on_legacy), Status::not_ready);
    EXPECT_EQ(cuda.cuEventQuery(on_other), Status::not_ready);
    EXPECT_EQ(cuda.cuStreamQuery(nullptr), Status::not_ready);
    gate.open();
    EXPECT_EQ(cuda.cuEventSynchronize(on_other), ok);
    EXPECT_EQ(cuda.cuEventQuery(on_legacy), ok);
  });
}

TEST(SoftcudaStream, ANonBlockingStreamDoesNotWaitForTheLegacyStream) {
  with_context({}, [](const Cuda& cuda) {
    Gate gate;
    EXPECT_EQ(gate.close(cuda, nullptr), ok);
    StreamHandle apart = make_stream(cuda, stream_non_blocking);
    EventHandle event = make_event(cuda, 0);
    EXPECT_EQ(cuda.cuEventRecord(event, apart), ok);
    EXPECT_EQ(cuda.cuEventSynchronize(event), ok);
    EXPECT_EQ(cuda.cuStreamQuery(nullptr), Status::not_ready);
    unsigned flags = 0;
    EXPECT_EQ(cuda.cuStreamGetFlags(apart, &flags), ok);
    EXPECT_EQ(flags, stream_non_blocking);
  });
}

TEST(SoftcudaStream, AnEventMakesOneStreamWaitForAnother) {
  with_context({}, [](const Cuda& cuda) {
    const DevicePointer memory = upload(cuda, {1});
    StreamHandle first = make_stream(cuda, stream_non_blocking);
    StreamHandle second = make_stream(cuda, stream_non_blocking);
    EventHandle event = make_event(cuda, 0);
    EXPECT_EQ(cuda.cuStreamWaitEvent(second, event, 0), ok);  // never recorded: nothing to wait for
    EXPECT_EQ(cuda.cuStreamSynchronize(second), ok);
    Gate gate;
    EXPECT_EQ(gate.close(cuda, first), ok);
    EXPECT_EQ(cuda.cuMemsetD32Async(memory, 0x40000000, 1, first), ok);
    EXPECT_EQ(cuda.cuEventRecord(event, first), ok);
    EXPECT_EQ(cuda.cuStreamWaitEvent(second, event, 0), ok);
    EXPECT_EQ(cuda.cuStreamQuery(second), Status::not_ready);
    EXPECT_EQ(cuda.cuMemsetD32Async(memory, 0x40400000, 1, second), ok);
    gate.open();
    EXPECT_EQ(cuda.cuStreamSynchronize(second), ok);
    EXPECT_EQ(download(cuda, memory, 1), (std::vector<float>{3}));
  });
}

TEST(SoftcudaStream, EventsTellTheTimeBetweenThem) {
  with_context({}, [](const Cuda& cuda) {
    StreamHandle stream = make_stream(cuda, 0);
    EventHandle start = make_event(cuda, 0);
    EventHandle end = make_event(cuda, 0);
    EventHandle untimed = make_event(cuda, event_disable_timing);
    float milliseconds = -1;
    EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, start, end), Status::invalid_handle);
    EXPECT_EQ(cuda.cuEventRecord(start, stream), ok);
    Gate gate;
    EXPECT_EQ(gate.close(cuda, stream), ok);
    EXPECT_EQ(cuda.cuEventRecord(end, stream), ok);
    EXPECT_EQ(cuda.cuEventRecord(untimed, stream), ok);
    EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, start, end), Status::not_ready);
    gate.open();
    EXPECT_EQ(cuda.cuEventSynchronize(untimed), ok);
    EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, start, end), ok);
    EXPECT_GE(milliseconds, 0);
    EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, start, untimed), Status::invalid_handle);
    EXPECT_EQ(cuda.cuEventCreate(nullptr, 0), Status::invalid_value);
    EventHandle event{};
    EXPECT_EQ(cuda.cuEventCreate(&event, 8), Status::invalid_value);
  });
}

TEST(SoftcudaStream, ADestroyedStreamStillDoesItsWork) {
  with_context({}, [](const Cuda& cuda) {
    const DevicePointer memory = upload(cuda, {1});
    StreamHandle stream = make_stream(cuda, stream_non_blocking);
    Gate gate;
    EXPECT_EQ(gate.close(cuda, stream), ok);
    EXPECT_EQ(cuda.cuMemsetD32Async(memory, 0x40000000, 1, stream), ok);
    EXPECT_EQ(cuda.cuStreamDestroy_v2(stream), ok);
    gate.open();
    EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
    EXPECT_EQ(download(cuda, memory, 1), (std::vector<float>{2}));
  });
}

TEST(SoftcudaStream, EachThreadHasADefaultStreamOfItsOwn) {
  with_context({}, [](const Cuda& cuda) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): CU_STREAM_PER_THREAD
    const auto own = reinterpret_cast<StreamHandle>(stream_per_thread);
    ContextHandle context{};
    EXPECT_EQ(cuda.cuCtxGetCurrent(&context), ok);
    Gate gate;
    EXPECT_EQ(gate.close(cuda, own), ok);
    EXPECT_EQ(cuda.cuStreamQuery(own), Status::not_ready);
    std::thread{[&] {
      EXPECT_EQ(cuda.cuCtxSetCurrent(context), ok);
      EXPECT_EQ(cuda.cuStreamQuery(own), ok);
      EXPECT_EQ(cuda.cuStreamSynchronize_ptsz(nullptr), ok);
    }}.join();
    gate.open();
    EXPECT_EQ(cuda.cuStreamSynchronize_ptsz(nullptr), ok);
  });
}

TEST(SoftcudaStream, MemoryThatIsNotPinnedIsReadBeforeTheCallReturns) {
  with_context({}, [](const Cuda& cuda) {
    const DevicePointer memory = upload(cuda, {0});
    StreamHandle stream = make_stream(cuda, stream_non_blocking);
    Gate gate;
    EXPECT_EQ(gate.close(cuda, stream), ok);
    float value = 5;
    EXPECT_EQ(cuda.cuMemcpyHtoDAsync_v2(memory, &value, sizeof value, stream), ok);
    value = 6;
    gate.open();
    EXPECT_EQ(cuda.cuMemcpyDtoHAsync_v2(&value, memory, sizeof value, stream), ok);
    EXPECT_EQ(value, 5);
  });
}

TEST(SoftcudaStream, HostFunctionsMayNotCallTheDriver) {
  with_context({}, [](const Cuda& cuda) {
    struct Seen {
      const Cuda* cuda;
      Status status;
    } seen{&cuda, ok};
    EXPECT_EQ(cuda.cuLaunchHostFunc(
                  nullptr,
                  [](void* given) {
                    auto* const to = static_cast<Seen*>(given);
                    to->status = to->cuda->cuCtxSynchronize();
                  },
                  &seen),
              ok);
    EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
    EXPECT_EQ(seen.status, Status::not_permitted);
    EXPECT_EQ(cuda.cuLaunchHostFunc(nullptr, nullptr, nullptr), Status::invalid_value);
  });
}

TEST(SoftcudaStream, FreeingLetsTheDeviceComeToRestFirst) {
  with_context({}, [](const Cuda& cuda) {
    const DevicePointer memory = upload(cuda, {1});
    StreamHandle stream = make_stream(cuda, stream_non_blocking);
    Gate gate;
    std::atomic<bool> is_freed = false;
    EXPECT_EQ(gate.close(cuda, stream), ok);
    EXPECT_EQ(cuda.cuMemsetD32Async(memory, 0, 1, stream), ok);
    ContextHandle context{};
    EXPECT_EQ(cuda.cuCtxGetCurrent(&context), ok);
    std::thread freeing{[&] {
      EXPECT_EQ(cuda.cuCtxSetCurrent(context), ok);
      EXPECT_EQ(cuda.cuMemFree_v2(memory), ok);
      is_freed = true;
    }};
    EXPECT_FALSE(is_freed);
    gate.open();
    freeing.join();
    EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
  });
}

TEST(SoftcudaStream, FreeingOnAStreamComesAfterItsWork) {
  with_context({}, [](const Cuda& cuda) {
    StreamHandle stream = make_stream(cuda, stream_non_blocking);
    DevicePointer memory = 0;
    EXPECT_EQ(cuda.cuMemAllocAsync(&memory, 4, stream), ok);
    Gate gate;
    EXPECT_EQ(gate.close(cuda, stream), ok);
    EXPECT_EQ(cuda.cuMemsetD8Async(memory, 0, 4, stream), ok);
    EXPECT_EQ(cuda.cuMemFreeAsync(memory, stream), ok);
    gate.open();
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), ok);
    EXPECT_EQ(cuda.cuMemFreeAsync(memory, stream), Status::invalid_value);
  });
}

TEST(SoftcudaStream, ManyThreadsUseOneContext) {
  with_context({}, [](const Cuda& cuda) {
    ContextHandle context{};
    EXPECT_EQ(cuda.cuCtxGetCurrent(&context), ok);
    const auto work = [&] {
      EXPECT_EQ(cuda.cuCtxPushCurrent_v2(context), ok);
      StreamHandle stream = make_stream(cuda, 0);
      const DevicePointer memory = upload(cuda, {1, 2});
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(cuda.cuMemsetD32Async(memory, 0x40000000, 2, stream), ok);
        EventHandle event = make_event(cuda, 0);
        EXPECT_EQ(cuda.cuEventRecord(event, stream), ok);
        EXPECT_EQ(cuda.cuEventSynchronize(event), ok);
        EXPECT_EQ(cuda.cuEventDestroy_v2(event), ok);
      }
      EXPECT_EQ(download(cuda, memory, 2), (std::vector<float>{2, 2}));
      EXPECT_EQ(cuda.cuMemFree_v2(memory), ok);
      EXPECT_EQ(cuda.cuStreamDestroy_v2(stream), ok);
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back(work);
    for (std::thread& thread : threads)
      thread.join();
  });
}

}  // namespace
}  // namespace softcuda
