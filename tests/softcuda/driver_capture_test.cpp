#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/softcuda/driver_calls.hpp"

namespace softcuda {
namespace {

constexpr int global = static_cast<int>(CaptureMode::global);
constexpr int of_thread = static_cast<int>(CaptureMode::of_thread);
constexpr int relaxed = static_cast<int>(CaptureMode::relaxed);

StreamHandle make_stream(const Cuda& cuda, unsigned flags = stream_non_blocking) {
  StreamHandle out{};
  EXPECT_EQ(cuda.cuStreamCreate(&out, flags), ok);
  return out;
}

EventHandle make_event(const Cuda& cuda) {
  EventHandle out{};
  EXPECT_EQ(cuda.cuEventCreate(&out, 0), ok);
  return out;
}

Status end(const Cuda& cuda, StreamHandle stream) {
  GraphHandle graph{};
  return cuda.cuStreamEndCapture(stream, &graph);
}

void in_other_thread(const Cuda& cuda, const std::function<void()>& body) {
  ContextHandle context{};
  EXPECT_EQ(cuda.cuCtxGetCurrent(&context), ok);
  std::thread{[&] {
    EXPECT_EQ(cuda.cuCtxSetCurrent(context), ok);
    body();
  }}.join();
}

Status allocate(const Cuda& cuda) {
  DevicePointer memory = 0;
  return cuda.cuMemAlloc_v2(&memory, 16);
}

TEST(SoftcudaCapture, CapturedWorkRunsWhenItsGraphIsLaunched) {
  with_context({}, [](const Cuda& cuda) {
    const DevicePointer memory = upload(cuda, {1, 1});
    StreamHandle stream = make_stream(cuda);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, global), ok);
    EXPECT_EQ(cuda.cuMemsetD32Async(memory, 0x40000000, 1, stream), ok);
    EXPECT_EQ(cuda.cuMemcpyAsync(memory + 4, memory, 4, stream), ok);
    int status = 0;
    EXPECT_EQ(cuda.cuStreamIsCapturing(stream, &status), ok);
    EXPECT_EQ(status, static_cast<int>(CaptureStatus::active));
    GraphHandle graph{};
    EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph), ok);
    EXPECT_EQ(download(cuda, memory, 2), (std::vector<float>{1, 1}));
    std::size_t nodes = 0;
    EXPECT_EQ(cuda.cuGraphGetNodes(graph, nullptr, &nodes), ok);
    EXPECT_EQ(nodes, 2U);
    GraphExecHandle exec{};
    EXPECT_EQ(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0), ok);
    EXPECT_EQ(cuda.cuGraphDestroy(graph), ok);
    EXPECT_EQ(cuda.cuGraphLaunch(exec, stream), ok);
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), ok);
    EXPECT_EQ(download(cuda, memory, 2), (std::vector<float>{2, 2}));
    EXPECT_EQ(cuda.cuGraphExecDestroy(exec), ok);
    EXPECT_EQ(cuda.cuGraphLaunch(exec, stream), Status::invalid_value);
  });
}

TEST(SoftcudaCapture, BeginningAndEndingHaveTheirRules) {
  with_context({}, [](const Cuda& cuda) {
    StreamHandle stream = make_stream(cuda);
    EXPECT_EQ(end(cuda, stream), Status::illegal_state);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(nullptr, global), Status::stream_capture_unsupported);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, 3), Status::invalid_value);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, global), ok);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, global), Status::illegal_state);
    EXPECT_EQ(end(cuda, stream), ok);
  });
}

TEST(SoftcudaCapture, SynchronisingOrQueryingACapturingStreamInvalidatesIt) {
  with_context({}, [](const Cuda& cuda) {
    StreamHandle stream = make_stream(cuda);
    for (const auto call : {cuda.cuStreamSynchronize, cuda.cuStreamQuery}) {
      EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, relaxed), ok);
      EXPECT_EQ(call(stream), Status::stream_capture_unsupported);
      EXPECT_EQ(cuda.cuMemsetD8Async(upload(cuda, {1}), 0, 1, stream),
                Status::stream_capture_invalidated);
      int status = 0;
      EXPECT_EQ(cuda.cuStreamIsCapturing(stream, &status), ok);
      EXPECT_EQ(status, static_cast<int>(CaptureStatus::invalidated));
      EXPECT_EQ(end(cuda, stream), Status::stream_capture_invalidated);
    }
  });
}

TEST(SoftcudaCapture, SynchronisingTheContextInvalidatesCapturesInIt) {
  with_context({}, [](const Cuda& cuda) {
    StreamHandle stream = make_stream(cuda);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, relaxed), ok);
    in_other_thread(
        cuda, [&] { EXPECT_EQ(cuda.cuCtxSynchronize(), Status::stream_capture_unsupported); });
    EXPECT_EQ(end(cuda, stream), Status::stream_capture_invalidated);
  });
}

TEST(SoftcudaCapture, UnsafeCallsAreProhibitedByModeAndThread) {
  struct Row {
    int capture;     // mode of the capture in this thread
    int own;         // mode of the thread that calls
    bool elsewhere;  // whether that is another thread
    bool prohibited;
  };
  const std::vector<Row> rows{
      {global, global, false, true},      {global, of_thread, false, true},
      {global, relaxed, false, false},    {of_thread, global, false, true},
      {relaxed, global, false, false},    {global, global, true, true},
      {global, of_thread, true, false},   {global, relaxed, true, false},
      {of_thread, global, true, false},   {relaxed, global, true, false},
      {of_thread, relaxed, false, false},
  };
  for (const Row& row : rows)
    with_context({}, [&](const Cuda& cuda) {
      SCOPED_TRACE(testing::Message() << row.capture << row.own << row.elsewhere);
      StreamHandle stream = make_stream(cuda);
      EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, row.capture), ok);
      const Status expected = row.prohibited ? Status::stream_capture_unsupported : ok;
      const auto unsafe = [&] {
        int mode = row.own;
        EXPECT_EQ(cuda.cuThreadExchangeStreamCaptureMode(&mode), ok);
        EXPECT_EQ(mode, global);
        EXPECT_EQ(allocate(cuda), expected);
        EXPECT_EQ(cuda.cuThreadExchangeStreamCaptureMode(&mode), ok);
        EXPECT_EQ(mode, row.own);
      };
      if (row.elsewhere)
        in_other_thread(cuda, unsafe);
      else
        unsafe();
      EXPECT_EQ(end(cuda, stream), row.prohibited ? Status::stream_capture_invalidated : ok);
    });
}

TEST(SoftcudaCapture, EachUnsafeCallIsRefused) {
  using Call = std::function<Status(const Cuda&, DevicePointer, EventHandle, StreamHandle)>;
  const std::vector<Call> calls{
      [](const Cuda& cuda, auto memory, auto, auto) { return cuda.cuMemFree_v2(memory); },
      [](const Cuda& cuda, auto, auto, auto) {
        void* host = nullptr;
        return cuda.cuMemAllocHost_v2(&host, 8);
      },
      [](const Cuda& cuda, auto, auto, auto) {
        ModuleHandle module{};
        const std::string text = scale_ptx("7.5", "sm_75");
        return cuda.cuModuleLoadData(&module, text.c_str());
      },
      [](const Cuda& cuda, auto, auto event, auto) { return cuda.cuEventQuery(event); },
      [](const Cuda& cuda, auto, auto, auto other) { return cuda.cuStreamSynchronize(other); },
      [](const Cuda& cuda, auto memory, auto, auto) { return cuda.cuMemsetD8_v2(memory, 0, 1); },
      [](const Cuda& cuda, auto memory, auto, auto) {
        char byte = 0;
        return cuda.cuMemcpyDtoH_v2(&byte, memory, 1);
      },
  };
  with_context({}, [&](const Cuda& cuda) {
    const DevicePointer memory = upload(cuda, {1});
    EventHandle event = make_event(cuda);
    StreamHandle other = make_stream(cuda);
    StreamHandle stream = make_stream(cuda);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, global), ok);
      EXPECT_EQ(calls[i](cuda, memory, event, other), Status::stream_capture_unsupported) << i;
      EXPECT_EQ(end(cuda, stream), Status::stream_capture_invalidated) << i;
    }
  });
}

TEST(SoftcudaCapture, LazyFunctionsAreLoadedByTheFirstUseAndThatIsUnsafe) {
  with_context({{"SOFTCUDA_EXECUTE", "0"}, {"CUDA_MODULE_LOADING", "LAZY"}}, [](const Cuda& cuda) {
    const std::string text = scale_ptx("7.5", "sm_75");
    ModuleHandle module{};
    EXPECT_EQ(cuda.cuModuleLoadData(&module, text.c_str()), ok);
    StreamHandle stream = make_stream(cuda);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, global), ok);
    FunctionHandle function{};
    EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, "scale"),
              Status::stream_capture_unsupported);
    EXPECT_EQ(end(cuda, stream), Status::stream_capture_invalidated);
    EXPECT_EQ(cuda.cuModuleEnumerateFunctions(&function, 1, module), ok);
    int state = -1;
    EXPECT_EQ(cuda.cuFuncIsLoaded(&state, function), ok);
    EXPECT_EQ(state, 0);
    EXPECT_EQ(cuda.cuFuncLoad(function), ok);
    EXPECT_EQ(cuda.cuFuncIsLoaded(&state, function), ok);
    EXPECT_EQ(state, 1);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, global), ok);
    EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, "scale"), ok);
    EXPECT_EQ(end(cuda, stream), ok);
  });
}

TEST(SoftcudaCapture, TheLegacyStreamCannotBeUsedWhileABlockingStreamCaptures) {
  with_context({}, [](const Cuda& cuda) {
    const DevicePointer memory = upload(cuda, {1});
    StreamHandle stream = make_stream(cuda, 0);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, relaxed), ok);
    int status = 0;
    EXPECT_EQ(cuda.cuStreamIsCapturing(nullptr, &status), Status::stream_capture_implicit);
    EXPECT_EQ(cuda.cuStreamIsCapturing(stream, &status), ok);
    EXPECT_EQ(status, static_cast<int>(CaptureStatus::active));
    EXPECT_EQ(cuda.cuMemsetD8Async(memory, 0, 1, nullptr), Status::stream_capture_implicit);
    EXPECT_EQ(end(cuda, stream), Status::stream_capture_invalidated);
    StreamHandle apart = make_stream(cuda);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(apart, relaxed), ok);
    EXPECT_EQ(cuda.cuMemsetD8Async(memory, 0, 1, nullptr), ok);
    EXPECT_EQ(end(cuda, apart), ok);
  });
}

TEST(SoftcudaCapture, EventsForkAndJoinStreams) {
  with_context({}, [](const Cuda& cuda) {
    const DevicePointer memory = upload(cuda, {1, 1});
    StreamHandle origin = make_stream(cuda);
    StreamHandle side = make_stream(cuda);
    EventHandle fork = make_event(cuda);
    EventHandle join = make_event(cuda);
    const auto fork_side = [&] {
      EXPECT_EQ(cuda.cuStreamBeginCapture_v2(origin, global), ok);
      EXPECT_EQ(cuda.cuMemsetD32Async(memory, 0x40000000, 1, origin), ok);
      EXPECT_EQ(cuda.cuEventRecord(fork, origin), ok);
      EXPECT_EQ(cuda.cuStreamWaitEvent(side, fork, 0), ok);
      EXPECT_EQ(cuda.cuMemcpyAsync(memory + 4, memory, 4, side), ok);
    };
    fork_side();
    EXPECT_EQ(end(cuda, side), Status::stream_capture_unmatched);
    EXPECT_EQ(end(cuda, origin), Status::stream_capture_invalidated);
    fork_side();
    EXPECT_EQ(end(cuda, origin), Status::stream_capture_unjoined);
    fork_side();
    EXPECT_EQ(cuda.cuEventRecord(join, side), ok);
    EXPECT_EQ(cuda.cuStreamWaitEvent(origin, join, 0), ok);
    GraphHandle graph{};
    EXPECT_EQ(cuda.cuStreamEndCapture(origin, &graph), ok);
    GraphExecHandle exec{};
    EXPECT_EQ(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0), ok);
    EXPECT_EQ(cuda.cuGraphLaunch(exec, nullptr), ok);
    EXPECT_EQ(download(cuda, memory, 2), (std::vector<float>{2, 2}));
    EXPECT_EQ(cuda.cuMemsetD8Async(memory, 0, 1, side), ok);
  });
}

TEST(SoftcudaCapture, EventsDoNotCrossTheBorderOfACapture) {
  with_context({}, [](const Cuda& cuda) {
    StreamHandle first = make_stream(cuda);
    StreamHandle second = make_stream(cuda);
    EventHandle outside = make_event(cuda);
    EventHandle inside = make_event(cuda);
    EXPECT_EQ(cuda.cuEventRecord(outside, second), ok);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(first, relaxed), ok);
    EXPECT_EQ(cuda.cuStreamWaitEvent(first, outside, 0), Status::stream_capture_isolation);
    EXPECT_EQ(end(cuda, first), Status::stream_capture_invalidated);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(first, relaxed), ok);
    EXPECT_EQ(cuda.cuEventRecord(inside, first), ok);
    EXPECT_EQ(cuda.cuEventQuery(inside), Status::captured_event);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(second, relaxed), ok);
    EXPECT_EQ(cuda.cuStreamWaitEvent(second, inside, 0), Status::stream_capture_merge);
    EXPECT_EQ(end(cuda, first), Status::stream_capture_invalidated);
    EXPECT_EQ(end(cuda, second), Status::stream_capture_invalidated);
    EXPECT_EQ(cuda.cuEventSynchronize(inside), Status::captured_event);
    EXPECT_EQ(cuda.cuEventRecord(inside, first), ok);
    EXPECT_EQ(cuda.cuEventSynchronize(inside), ok);
  });
}

TEST(SoftcudaCapture, OnlyARelaxedCaptureMayEndInAnotherThread) {
  with_context({}, [](const Cuda& cuda) {
    StreamHandle stream = make_stream(cuda);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, of_thread), ok);
    in_other_thread(cuda,
                    [&] { EXPECT_EQ(end(cuda, stream), Status::stream_capture_wrong_thread); });
    EXPECT_EQ(end(cuda, stream), Status::stream_capture_invalidated);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, relaxed), ok);
    in_other_thread(cuda, [&] { EXPECT_EQ(end(cuda, stream), ok); });
  });
}

TEST(SoftcudaCapture, AllocationOnACapturingStreamIsRefused) {
  with_context({}, [](const Cuda& cuda) {
    StreamHandle stream = make_stream(cuda);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, relaxed), ok);
    DevicePointer memory = 0;
    EXPECT_EQ(cuda.cuMemAllocAsync(&memory, 4, stream), Status::stream_capture_unsupported);
    EXPECT_EQ(end(cuda, stream), Status::stream_capture_invalidated);
  });
}

TEST(SoftcudaCapture, InfoTellsTheCaptureItsGraphAndWhatComesNext) {
  with_context({}, [](const Cuda& cuda) {
    const DevicePointer memory = upload(cuda, {1});
    StreamHandle stream = make_stream(cuda);
    int status = -1;
    std::uint64_t id = 0;
    GraphHandle graph{};
    const NodeHandle* nodes = nullptr;
    std::size_t count = 0;
    EXPECT_EQ(cuda.cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &count), ok);
    EXPECT_EQ(status, static_cast<int>(CaptureStatus::none));
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, global), ok);
    EXPECT_EQ(cuda.cuMemsetD8Async(memory, 0, 1, stream), ok);
    EXPECT_EQ(cuda.cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &count), ok);
    EXPECT_EQ(status, static_cast<int>(CaptureStatus::active));
    EXPECT_NE(id, 0U);
    EXPECT_EQ(count, 1U);
    GraphHandle captured{};
    EXPECT_EQ(cuda.cuStreamEndCapture(stream, &captured), ok);
    EXPECT_EQ(captured, graph);
  });
}

TEST(SoftcudaCapture, AnInvalidExchangeChangesNothing) {
  with_context({}, [](const Cuda& cuda) {
    int mode = 3;
    EXPECT_EQ(cuda.cuThreadExchangeStreamCaptureMode(&mode), Status::invalid_value);
    EXPECT_EQ(cuda.cuThreadExchangeStreamCaptureMode(nullptr), Status::invalid_value);
    mode = relaxed;
    EXPECT_EQ(cuda.cuThreadExchangeStreamCaptureMode(&mode), ok);
    EXPECT_EQ(mode, global);
  });
}

}  // namespace
}  // namespace softcuda
