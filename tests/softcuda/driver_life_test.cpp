#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/softcuda/driver_calls.hpp"

namespace softcuda {
namespace {

int exit_code(const std::function<void()>& body) {
  (void)std::fflush(nullptr);
  const pid_t child = ::fork();
  EXPECT_GE(child, 0);
  if (child == 0) {
    body();
    (void)std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SoftcudaLife, NothingWorksBeforeCuInitButVersionsAndLookingUp) {
  in_child({}, [](const Cuda& cuda) {
    int number = 0;
    ContextHandle context{};
    DevicePointer memory = 0;
    EXPECT_EQ(cuda.cuDeviceGetCount(&number), Status::not_initialized);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&context, 0), Status::not_initialized);
    EXPECT_EQ(cuda.cuCtxGetCurrent(&context), Status::not_initialized);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 4), Status::not_initialized);
    EXPECT_EQ(cuda.cuDriverGetVersion(&number), ok);
    const char* text = nullptr;
    EXPECT_EQ(cuda.cuGetErrorName(3, &text), ok);
    EXPECT_STREQ(text, "CUDA_ERROR_NOT_INITIALIZED");
    void* address = nullptr;
    EXPECT_EQ(cuda.cuGetProcAddress_v2("cuInit", &address, 12'000, 0, nullptr), ok);
    EXPECT_NE(address, nullptr);
  });
}

TEST(SoftcudaLife, AChildOfAnInitialisedProcessHasNoDriver) {
  with_context({}, [](const Cuda& cuda) {
    const DevicePointer memory = upload(cuda, {1});
    StreamHandle stream{};
    EXPECT_EQ(cuda.cuStreamCreate(&stream, 0), ok);
    EXPECT_EQ(cuda.cuMemsetD8Async(memory, 0, 1, stream), ok);  // a thread of ours is alive
    EXPECT_EQ(exit_code([&] {
                int count = 0;
                EXPECT_EQ(cuda.cuDeviceGetCount(&count), Status::not_initialized);
                EXPECT_EQ(cuda.cuInit(0), Status::not_initialized);
                EXPECT_EQ(cuda.cuStreamSynchronize(stream), Status::not_initialized);
                EXPECT_EQ(cuda.cuMemFree_v2(memory), Status::not_initialized);
              }),
              0);
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), ok);
  });
}

TEST(SoftcudaLife, AChildOfAProcessThatOnlyLoadedTheDriverHasIt) {
  in_child({}, [](const Cuda& cuda) {
    int version = 0;
    EXPECT_EQ(cuda.cuDriverGetVersion(&version), ok);
    EXPECT_EQ(exit_code([&] {
                EXPECT_EQ(cuda.cuInit(0), ok);
                (void)use_device(cuda, 0);
                EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
              }),
              0);
  });
}

// Set before the driver registers its own handler, so it runs after that.
const Cuda* cuda_at_exit = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

TEST(SoftcudaLife, AtExitCallsAreDeinitialised) {
  constexpr int as_expected = 7;
  EXPECT_EQ(exit_code([] {
              static const Cuda cuda = load_driver();
              cuda_at_exit = &cuda;
              (void)std::atexit([] {
                const Status status = cuda_at_exit->cuCtxSynchronize();
                ::_exit(status == Status::deinitialized ? as_expected : 1);
              });
              EXPECT_EQ(cuda.cuInit(0), ok);
              (void)use_device(cuda, 0);
              std::exit(0);
            }),
            as_expected);
}

TEST(SoftcudaLife, ProgramsThatDoNotCleanUpEndWell) {
  EXPECT_EQ(exit_code([] {
              const Cuda cuda = load_driver();
              EXPECT_EQ(cuda.cuInit(0), ok);
              (void)use_device(cuda, 0);
              const DevicePointer memory = upload(cuda, {1, 2});
              EXPECT_EQ(cuda.cuMemsetD8Async(memory, 0, 8, nullptr), ok);
              std::exit(testing::Test::HasFailure() ? 1 : 0);
            }),
            0);
}

}  // namespace
}  // namespace softcuda
