#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/softcuda/driver_calls.hpp"

namespace softcuda {
namespace {

const Environment checked_only{{"SOFTCUDA_EXECUTE", "0"}, {"SOFTCUDA_DEVICES", "sm_86"}};

struct Arguments {
  DevicePointer values = 0;
  float factor = 2;
  int count = 4;
  std::array<void*, 3> places{&values, &factor, &count};
};

TEST(SoftcudaLaunch, SizesAreHeldAgainstTheDevice) {
  struct Row {
    std::array<unsigned, 3> grid;
    std::array<unsigned, 3> block;
    Status status;
  };
  const std::vector<Row> rows{
      {{1, 1, 1}, {1, 1, 1}, ok},
      {{0x7fffffff, 65535, 65535}, {1, 1, 1}, ok},
      {{1, 1, 1}, {1024, 1, 1}, ok},
      {{1, 1, 1}, {4, 4, 64}, ok},
      {{0, 1, 1}, {1, 1, 1}, Status::invalid_value},
      {{1, 0, 1}, {1, 1, 1}, Status::invalid_value},
      {{1, 1, 1}, {1, 1, 0}, Status::invalid_value},
      {{0x80000000, 1, 1}, {1, 1, 1}, Status::invalid_value},
      {{1, 65536, 1}, {1, 1, 1}, Status::invalid_value},
      {{1, 1, 65536}, {1, 1, 1}, Status::invalid_value},
      {{1, 1, 1}, {1025, 1, 1}, Status::invalid_value},
      {{1, 1, 1}, {1, 1, 65}, Status::invalid_value},
      {{1, 1, 1}, {512, 4, 1}, Status::invalid_value},
  };
  with_context(checked_only, [&](const Cuda& cuda) {
    FunctionHandle function = load_scale(cuda);
    Arguments arguments;
    for (const auto& [grid, block, status] : rows)
      EXPECT_EQ(cuda.cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1],
                                    block[2], 0, nullptr, arguments.places.data(), nullptr),
                status)
          << grid[0] << ' ' << grid[1] << ' ' << grid[2] << ", " << block[0] << ' ' << block[1]
          << ' ' << block[2];
  });
}

TEST(SoftcudaLaunch, DynamicSharedMemoryAbove48KibHasToBeAskedFor) {
  with_context(checked_only, [](const Cuda& cuda) {
    constexpr int dynamic_max = 8;
    constexpr int kib = 1024;
    FunctionHandle function = load_scale(cuda);
    Arguments arguments;
    const auto launch = [&](unsigned shared) {
      return cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, shared, nullptr,
                                 arguments.places.data(), nullptr);
    };
    EXPECT_EQ(launch(48 * kib), ok);
    EXPECT_EQ(launch(48 * kib + 1), Status::invalid_value);
    EXPECT_EQ(cuda.cuFuncSetAttribute(function, dynamic_max, 99 * kib), ok);
    EXPECT_EQ(launch(99 * kib), ok);
    EXPECT_EQ(launch(99 * kib + 1), Status::invalid_value);
    EXPECT_EQ(cuda.cuFuncSetAttribute(function, dynamic_max, 99 * kib + 1), Status::invalid_value);
    EXPECT_EQ(cuda.cuFuncSetAttribute(function, 0, 1), Status::invalid_value);
    int value = 0;
    EXPECT_EQ(cuda.cuFuncGetAttribute(&value, dynamic_max, function), ok);
    EXPECT_EQ(cuda.cuFuncGetAttribute(&value, -1, function), Status::invalid_value);
    EXPECT_EQ(cuda.cuFuncGetAttribute(&value, 999, function), Status::invalid_value);
    EXPECT_EQ(value, 99 * kib);
  });
}

TEST(SoftcudaLaunch, ParametersComeAsPointersOrAsOneBuffer) {
  with_context(checked_only, [](const Cuda& cuda) {
    FunctionHandle function = load_scale(cuda);
    const auto launch = [&](void** parameters, void** extra) {
      return cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, extra);
    };
    Arguments arguments;
    EXPECT_EQ(launch(nullptr, nullptr), Status::invalid_value);
    std::array<void*, 3> with_null{arguments.places[0], nullptr, arguments.places[2]};
    EXPECT_EQ(launch(with_null.data(), nullptr), Status::invalid_value);
    std::array<char, 16> buffer{};
    std::size_t bytes = buffer.size();
    // NOLINTBEGIN(performance-no-int-to-ptr): the words of the list are numbers
    std::array<void*, 5> extra{reinterpret_cast<void*>(launch_buffer_pointer), buffer.data(),
                               reinterpret_cast<void*>(launch_buffer_size), &bytes, nullptr};
    EXPECT_EQ(launch(nullptr, extra.data()), ok);
    EXPECT_EQ(launch(arguments.places.data(), extra.data()), Status::invalid_value);
    bytes = 15;
    EXPECT_EQ(launch(nullptr, extra.data()), Status::invalid_value);
    extra[2] = reinterpret_cast<void*>(std::uintptr_t{7});
    EXPECT_EQ(launch(nullptr, extra.data()), Status::invalid_value);
    extra[0] = nullptr;
    EXPECT_EQ(launch(nullptr, extra.data()), Status::invalid_value);
    // NOLINTEND(performance-no-int-to-ptr)
  });
}

TEST(SoftcudaLaunch, TheExtendedCallRefusesWhatItCannotDo) {
  with_context(checked_only, [](const Cuda& cuda) {
    FunctionHandle function = load_scale(cuda);
    Arguments arguments;
    LaunchConfig config{.grid = {1, 1, 1},
                        .block = {1, 1, 1},
                        .shared_bytes = 0,
                        .stream = nullptr,
                        .attributes = nullptr,
                        .attribute_count = 0};
    const auto launch = [&] {
      return cuda.cuLaunchKernelEx(&config, function, arguments.places.data(), nullptr);
    };
    EXPECT_EQ(launch(), ok);
    config.attribute_count = 1;
    EXPECT_EQ(launch(), Status::invalid_value);
    LaunchAttribute attribute{
        .id = launch_attribute_cluster_dimension, .padding = 0, .value = {1, 1, 1}};
    config.attributes = &attribute;
    EXPECT_EQ(launch(), ok);
    attribute.value[0] = 2;
    EXPECT_EQ(launch(), Status::not_supported);
    attribute.id = launch_attribute_cooperative;
    EXPECT_EQ(launch(), Status::not_supported);
    EXPECT_EQ(cuda.cuLaunchKernelEx(nullptr, function, arguments.places.data(), nullptr),
              Status::invalid_value);
  });
}

TEST(SoftcudaLaunch, StreamsOfTheLaunchAreChecked) {
  with_context(checked_only, [](const Cuda& cuda) {
    FunctionHandle function = load_scale(cuda);
    Arguments arguments;
    StreamHandle stream{};
    EXPECT_EQ(cuda.cuStreamCreate(&stream, 0), ok);
    EXPECT_EQ(cuda.cuStreamDestroy_v2(stream), ok);
    EXPECT_EQ(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments.places.data(),
                                  nullptr),
              Status::invalid_handle);
  });
}

TEST(SoftcudaLaunch, AFunctionOfAnotherContextIsInvalid) {
  with_context({{"SOFTCUDA_EXECUTE", "0"}, {"SOFTCUDA_DEVICES", "sm_90,sm_90"}},
               [](const Cuda& cuda) {
                 FunctionHandle function = load_scale(cuda);
                 (void)use_device(cuda, 1);
                 Arguments arguments;
                 EXPECT_EQ(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr,
                                               arguments.places.data(), nullptr),
                           Status::invalid_handle);
               });
}

TEST(SoftcudaLaunch, WhatIsNotExecutedTakesItsPlaceInTheStreamAllTheSame) {
  with_context(checked_only, [](const Cuda& cuda) {
    FunctionHandle function = load_scale(cuda);
    Arguments arguments;
    StreamHandle stream{};
    EXPECT_EQ(cuda.cuStreamCreate(&stream, 0), ok);
    Gate gate;
    EXPECT_EQ(gate.close(cuda, nullptr), ok);  // which a blocking stream waits for
    EXPECT_EQ(cuda.cuStreamQuery(stream), ok);
    EXPECT_EQ(cuda.cuLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, stream, arguments.places.data(),
                                  nullptr),
              ok);
    EXPECT_EQ(cuda.cuStreamQuery(stream), Status::not_ready);
    gate.open();
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), ok);  // and nobody wrote to address 0
  });
}

// Also where nothing is executed, and wherever in a struct the pointer stands.
TEST(SoftcudaLaunch, PointersToMemoryOfAnotherDeviceAreFoundInStructsToo) {
  const std::string text =
      ".version 7.5\n.target sm_75\n.address_size 64\n"
      ".visible .entry take(.param .u32 take_param_0, .param .align 8 .b8 take_param_1[28])\n"
      "{\n  ret;\n}\n";
  for (const char* execute : {"0", "1"}) {
    with_context({{"SOFTCUDA_EXECUTE", execute}, {"SOFTCUDA_DEVICES", "sm_90,sm_90"}},
                 [&](const Cuda& cuda) {
                   testing::internal::CaptureStderr();
                   (void)use_device(cuda, 1);
                   const DevicePointer elsewhere = upload(cuda, {0});
                   (void)use_device(cuda, 0);
                   const DevicePointer here = upload(cuda, {0});
                   ModuleHandle module{};
                   FunctionHandle take{};
                   EXPECT_EQ(cuda.cuModuleLoadData(&module, text.c_str()), ok);
                   EXPECT_EQ(cuda.cuModuleGetFunction(&take, module, "take"), ok);
                   std::uint32_t number = 0;
                   struct {
                     std::uint64_t elements = 1;
                     DevicePointer from = 0, to = 0;
                     float factor = 1;
                   } given;
                   std::array<void*, 2> places{&number, &given};
                   const auto launch = [&] {
                     return cuda.cuLaunchKernel(take, 1, 1, 1, 1, 1, 1, 0, nullptr, places.data(),
                                                nullptr);
                   };
                   given.from = given.to = here;
                   EXPECT_EQ(launch(), ok);
                   EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
                   given.to = elsewhere;
                   EXPECT_EQ(launch(), ok);
                   EXPECT_EQ(cuda.cuCtxSynchronize(), Status::illegal_address);
                   EXPECT_NE(testing::internal::GetCapturedStderr().find(
                                 "the parameter at byte 24 is memory of device 1"),
                             std::string::npos);
                 });
  }
}

TEST(SoftcudaLaunch, OccupancyFollowsTheDevice) {
  with_context(checked_only, [](const Cuda& cuda) {
    FunctionHandle function = load_scale(cuda);
    int blocks = 0;
    EXPECT_EQ(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 512, 0), ok);
    EXPECT_EQ(blocks, 3);  // 1536 threads
    EXPECT_EQ(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 0), ok);
    EXPECT_EQ(blocks, 16);
    EXPECT_EQ(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 40'000), ok);
    EXPECT_EQ(blocks, 2);  // 100 KiB of shared memory
    EXPECT_EQ(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 0, 0),
              Status::invalid_value);
    int grid = 0;
    int block = 0;
    EXPECT_EQ(cuda.cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0), ok);
    EXPECT_EQ(block, 768);
    EXPECT_EQ(grid, 2 * 82);
  });
}

}  // namespace
}  // namespace softcuda
