// Kernels that nvcc compiled, from their cubin and run by its PTX twin.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/softcuda/driver_calls.hpp"
#include "tests/softcuda/driver_images.hpp"
#include "tests/support/temp_dir.hpp"

namespace softcuda {
namespace {

Environment with_twin() {
  return {{"SOFTCUDA_DEVICES", "sm_75"},
          {"SOFTCUDA_PTX_PATH", "/nowhere.ptx:" + image_path("kernels.ptx")}};
}

FunctionHandle load(const Cuda& cuda, const char* name) {
  ModuleHandle module{};
  EXPECT_EQ(cuda.cuModuleLoadData(&module, read_image("kernels.sm_75.cubin").data()), ok);
  FunctionHandle out{};
  EXPECT_EQ(cuda.cuModuleGetFunction(&out, module, name), ok);
  return out;
}

struct Shape {
  unsigned grid = 1;
  unsigned block = 1;
  unsigned shared = 0;
  StreamHandle stream{};
};

template <typename... T>
Status launch(const Cuda& cuda, FunctionHandle function, Shape shape, T... arguments) {
  std::array<void*, sizeof...(T) + 1> places{static_cast<void*>(&arguments)..., nullptr};
  return cuda.cuLaunchKernel(function, shape.grid, 1, 1, shape.block, 1, 1, shape.shared,
                             shape.stream, places.data(), nullptr);
}

std::vector<float> counted(std::size_t count) {
  std::vector<float> out(count);
  std::iota(out.begin(), out.end(), 1.0F);
  return out;
}

TEST(SoftcudaExecution, ACubinIsRunByItsTwin) {
  with_context(with_twin(), [](const Cuda& cuda) {
    struct Pair {
      float first;
      float second;
    };
    FunctionHandle combine = load(cuda, "combine");
    const DevicePointer from = upload(cuda, counted(100));
    const DevicePointer to = upload(cuda, std::vector<float>(100, 7.0F));
    EXPECT_EQ(
        launch(cuda, combine, {.grid = 4, .block = 32}, from, Pair{2, 10}, std::uint8_t{1}, 99, to),
        ok);
    EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
    const auto result = download(cuda, to, 100);
    for (std::size_t i = 0; i < 99; ++i)
      EXPECT_EQ(result[i], -(static_cast<float>(i + 1) * 2 + 10.5F)) << i;
    EXPECT_EQ(result[99], 7);
  });
}

TEST(SoftcudaExecution, VariablesOfTheModuleCanBeWritten) {
  with_context(with_twin(), [](const Cuda& cuda) {
    ModuleHandle module{};
    ASSERT_EQ(cuda.cuModuleLoadData(&module, read_image("kernels.ptx").data()), ok);
    DevicePointer address = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(cuda.cuModuleGetGlobal_v2(&address, &bytes, module, "none"), Status::not_found);
    ASSERT_EQ(cuda.cuModuleGetGlobal_v2(&address, &bytes, module, "offset_of_all"), ok);
    EXPECT_EQ(bytes, 4U);
    EXPECT_EQ(download(cuda, address, 1), (std::vector<float>{0.5F}));
    const float three = 3;
    EXPECT_EQ(cuda.cuMemcpyHtoD_v2(address, &three, sizeof three), ok);
    FunctionHandle combine{};
    EXPECT_EQ(cuda.cuModuleGetFunction(&combine, module, "combine"), ok);
    const DevicePointer values = upload(cuda, {1});
    EXPECT_EQ(
        launch(cuda, combine, {}, values, std::array<float, 2>{1, 0}, std::uint8_t{0}, 1, values),
        ok);
    EXPECT_EQ(download(cuda, values, 1), (std::vector<float>{4}));
  });
}

TEST(SoftcudaExecution, SharedMemoryIsOfTheBlock) {
  with_context(with_twin(), [](const Cuda& cuda) {
    constexpr int shared_size = 1;
    FunctionHandle sum = load(cuda, "block_sum");
    int bytes = 0;
    EXPECT_EQ(cuda.cuFuncGetAttribute(&bytes, shared_size, sum), ok);
    EXPECT_EQ(bytes, 1024);
    const DevicePointer from = upload(cuda, counted(128));
    const DevicePointer sums = upload(cuda, {0, 0});
    EXPECT_EQ(launch(cuda, sum, {.grid = 2, .block = 64}, from, sums), ok);
    EXPECT_EQ(download(cuda, sums, 2), (std::vector<float>{2080, 6176}));

    FunctionHandle reverse = load(cuda, "reverse");
    EXPECT_EQ(launch(cuda, reverse, {.block = 4, .shared = 16}, from), ok);
    EXPECT_EQ(download(cuda, from, 5), (std::vector<float>{4, 3, 2, 1, 5}));
  });
}

TEST(SoftcudaExecution, LaunchBoundsAreHeld) {
  with_context(with_twin(), [](const Cuda& cuda) {
    FunctionHandle few = load(cuda, "few_threads");
    const DevicePointer to = upload(cuda, std::vector<float>(65, 0));
    EXPECT_EQ(launch(cuda, few, {.block = 65}, to), Status::launch_out_of_resources);
    EXPECT_EQ(launch(cuda, few, {.block = 64}, to), ok);
    const auto result = download(cuda, to, 65);
    EXPECT_EQ(result[63], 2);
    EXPECT_EQ(result[64], 0);
  });
}

TEST(SoftcudaExecution, FaultsOfAKernelSurfaceLaterAndStay) {
  struct Row {
    const char* kernel;
    DevicePointer argument;
    Status status;
  };
  for (const Row& row : {Row{"write_through", 16, Status::illegal_address},
                         Row{"write_misaligned", 0, Status::misaligned_address},
                         Row{"trap_always", 0, Status::launch_failed}})
    with_context(with_twin(), [&](const Cuda& cuda) {
      testing::internal::CaptureStderr();
      FunctionHandle function = load(cuda, row.kernel);
      StreamHandle stream{};
      EXPECT_EQ(cuda.cuStreamCreate(&stream, stream_non_blocking), ok);
      Gate gate;
      EXPECT_EQ(gate.close(cuda, stream), ok);
      const DevicePointer memory = upload(cuda, {0, 0});
      const DevicePointer argument = row.argument == 0 ? memory : row.argument;
      EXPECT_EQ(launch(cuda, function, {.stream = stream}, argument), ok);
      EXPECT_EQ(cuda.cuStreamQuery(stream), Status::not_ready);
      gate.open();
      EXPECT_EQ(cuda.cuStreamSynchronize(stream), row.status) << row.kernel;
      EXPECT_EQ(cuda.cuMemFree_v2(memory), row.status);
      const std::string text = testing::internal::GetCapturedStderr();
      EXPECT_NE(text.find(row.kernel), std::string::npos) << text;
    });
}

TEST(SoftcudaExecution, TheTraceTellsWhereAKernelWentWrong) {
  const lyk::test::TempDir folder;
  Environment environment = with_twin();
  environment.emplace_back("SOFTCUDA_TRACE", folder / "trace");
  with_context(environment, [](const Cuda& cuda) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(launch(cuda, load(cuda, "write_through"), {}, DevicePointer{16}), ok);
    EXPECT_EQ(cuda.cuCtxSynchronize(), Status::illegal_address);
    (void)testing::internal::GetCapturedStderr();
  });
  std::ifstream stream{folder / "trace"};
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  EXPECT_NE(text.find(" (running) kernel=write_through -> 700: illegal address: "),
            std::string::npos)
      << text;
}

TEST(SoftcudaExecution, AFreedAddressIsIllegal) {
  with_context(with_twin(), [](const Cuda& cuda) {
    testing::internal::CaptureStderr();
    FunctionHandle write = load(cuda, "write_through");
    const DevicePointer memory = upload(cuda, {0});
    EXPECT_EQ(cuda.cuMemFree_v2(memory), ok);
    EXPECT_EQ(launch(cuda, write, {}, memory), ok);
    EXPECT_EQ(cuda.cuCtxSynchronize(), Status::illegal_address);
    (void)testing::internal::GetCapturedStderr();
  });
}

TEST(SoftcudaExecution, MemoryOfAnotherDeviceIsIllegal) {
  Environment environment = with_twin();
  environment[0].second = "sm_75,sm_75";
  with_context(environment, [](const Cuda& cuda) {
    testing::internal::CaptureStderr();
    (void)use_device(cuda, 1);
    const DevicePointer elsewhere = upload(cuda, {0});
    (void)use_device(cuda, 0);
    EXPECT_EQ(launch(cuda, load(cuda, "write_through"), {}, elsewhere), ok);
    EXPECT_EQ(cuda.cuCtxSynchronize(), Status::illegal_address);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("memory of device 1"), std::string::npos);
    (void)use_device(cuda, 1);
    EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
  });
}

TEST(SoftcudaExecution, ACapturedLaunchIsReplayedWithTheParametersOfItsCapture) {
  with_context(with_twin(), [](const Cuda& cuda) {
    FunctionHandle reverse = load(cuda, "reverse");
    DevicePointer values = upload(cuda, {1, 2});
    StreamHandle stream{};
    EXPECT_EQ(cuda.cuStreamCreate(&stream, stream_non_blocking), ok);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, 0), ok);
    EXPECT_EQ(launch(cuda, reverse, {.block = 2, .shared = 8, .stream = stream}, values), ok);
    GraphHandle graph{};
    EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph), ok);
    EXPECT_EQ(download(cuda, values, 2), (std::vector<float>{1, 2}));
    GraphExecHandle exec{};
    EXPECT_EQ(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0), ok);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(cuda.cuGraphLaunch(exec, stream), ok);
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), ok);
    EXPECT_EQ(download(cuda, values, 2), (std::vector<float>{2, 1}));
  });
}

TEST(SoftcudaExecution, AModuleMayBeUnloadedWhenItsWorkIsDone) {
  with_context(with_twin(), [](const Cuda& cuda) {
    ModuleHandle module{};
    ASSERT_EQ(cuda.cuModuleLoadData(&module, read_image("kernels.fatbin").data()), ok);
    FunctionHandle function{};
    EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, "write_through"), ok);
    const DevicePointer memory = upload(cuda, {0});
    EXPECT_EQ(launch(cuda, function, {}, memory), ok);
    EXPECT_EQ(cuda.cuModuleUnload(module), ok);
    EXPECT_EQ(download(cuda, memory, 1), (std::vector<float>{1}));
    EXPECT_EQ(launch(cuda, function, {}, memory), Status::invalid_handle);
  });
}

TEST(SoftcudaExecution, ThreadsLaunchAtTheSameTime) {
  with_context(with_twin(), [](const Cuda& cuda) {
    FunctionHandle reverse = load(cuda, "reverse");
    ContextHandle context{};
    EXPECT_EQ(cuda.cuCtxGetCurrent(&context), ok);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        EXPECT_EQ(cuda.cuCtxSetCurrent(context), ok);
        StreamHandle stream{};
        EXPECT_EQ(cuda.cuStreamCreate(&stream, stream_non_blocking), ok);
        const DevicePointer values = upload(cuda, {1, 2, 3});
        for (int j = 0; j < 11; ++j)
          EXPECT_EQ(launch(cuda, reverse, {.block = 3, .shared = 12, .stream = stream}, values),
                    ok);
        EXPECT_EQ(cuda.cuStreamSynchronize(stream), ok);
        EXPECT_EQ(download(cuda, values, 3), (std::vector<float>{3, 2, 1}));
      });
    for (std::thread& thread : threads)
      thread.join();
  });
}

}  // namespace
}  // namespace softcuda
