#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "tests/fakes/softcuda/devices.hpp"
#include "tests/softcuda/driver_calls.hpp"

namespace softcuda {
namespace {

lyk::Arch arch(const char* text) {
  const auto out = lyk::Arch::parse(text);
  EXPECT_TRUE(out) << text;
  return *out;
}

TEST(SoftcudaDevices, EachRunsTheMachineCodeThatItsDriverAccepts) {
  struct Row {
    const char* device;
    const char* target;
    bool runs;
  };
  const std::vector<Row> rows{
      {"sm_75", "sm_75", true},     {"sm_80", "sm_75", false},    {"sm_86", "sm_80", true},
      {"sm_80", "sm_86", false},    {"sm_87", "sm_87", true},     {"sm_87", "sm_80", false},
      {"sm_87", "sm_86", false},    {"sm_90", "sm_87", false},    {"sm_90", "sm_90", true},
      {"sm_90", "sm_90a", true},    {"sm_100", "sm_90a", false},  {"sm_103", "sm_100", true},
      {"sm_103", "sm_100a", false}, {"sm_103", "sm_100f", true},  {"sm_100", "sm_103f", false},
      {"sm_121", "sm_120f", true},  {"sm_120", "sm_100f", false}, {"sm_121", "sm_120", true},
  };
  for (const Row& row : rows)
    EXPECT_EQ(runs_machine_code(*find_device_model(row.device), arch(row.target)), row.runs)
        << row.target << " on " << row.device;
}

TEST(SoftcudaDevices, EachCompilesThePtxThatItsDriverAccepts) {
  struct Row {
    const char* device;
    const char* target;
    bool compiles;
  };
  const std::vector<Row> rows{
      {"sm_90", "sm_75", true},     {"sm_75", "sm_80", false}, {"sm_120", "sm_90", true},
      {"sm_120", "sm_90a", false},  {"sm_90", "sm_90a", true}, {"sm_103", "sm_100f", true},
      {"sm_120", "sm_100f", false}, {"sm_87", "sm_80", true},
  };
  for (const Row& row : rows)
    EXPECT_EQ(compiles_ptx(*find_device_model(row.device), arch(row.target)), row.compiles)
        << row.target << " on " << row.device;
}

TEST(SoftcudaDevices, PtxVersionsCameWithTheirToolkits) {
  EXPECT_EQ(ptx_version_of({11, 8}), (lyk::CudaVersion{7, 8}));
  EXPECT_EQ(ptx_version_of({12, 4}), (lyk::CudaVersion{8, 4}));
  EXPECT_EQ(ptx_version_of({12, 5}), (lyk::CudaVersion{8, 5}));
  EXPECT_EQ(ptx_version_of({12, 6}), (lyk::CudaVersion{8, 5}));
  EXPECT_EQ(ptx_version_of({12, 9}), (lyk::CudaVersion{8, 8}));
  EXPECT_EQ(ptx_version_of({13, 0}), (lyk::CudaVersion{9, 0}));
}

TEST(SoftcudaDevices, TellWhatTheyAre) {
  in_child({{"SOFTCUDA_DEVICES", "sm_75,sm_87"}, {"SOFTCUDA_DRIVER", "12.4"}},
           [](const Cuda& cuda) {
             constexpr int integrated = 18;
             constexpr int capability_major = 75;
             constexpr int capability_minor = 76;
             ASSERT_EQ(cuda.cuInit(0), ok);
             int version = 0;
             EXPECT_EQ(cuda.cuDriverGetVersion(&version), ok);
             EXPECT_EQ(version, 12'040);
             int count = 0;
             EXPECT_EQ(cuda.cuDeviceGetCount(&count), ok);
             EXPECT_EQ(count, 2);
             int device = -1;
             EXPECT_EQ(cuda.cuDeviceGet(&device, 1), ok);
             EXPECT_EQ(device, 1);
             std::array<int, 3> values{};
             EXPECT_EQ(cuda.cuDeviceGetAttribute(values.data(), capability_major, 1), ok);
             EXPECT_EQ(cuda.cuDeviceGetAttribute(&values[1], capability_minor, 1), ok);
             EXPECT_EQ(cuda.cuDeviceGetAttribute(&values[2], integrated, 1), ok);
             EXPECT_EQ(values, (std::array{8, 7, 1}));
             EXPECT_EQ(cuda.cuDeviceGetAttribute(values.data(), integrated, 0), ok);
             EXPECT_EQ(values[0], 0);
             std::array<char, 64> name{};
             EXPECT_EQ(cuda.cuDeviceGetName(name.data(), 64, 0), ok);
             EXPECT_STREQ(name.data(), "softcuda sm_75");
             EXPECT_EQ(cuda.cuDeviceGetName(name.data(), 4, 0), ok);
             EXPECT_STREQ(name.data(), "sof");
             Uuid first{};
             Uuid second{};
             EXPECT_EQ(cuda.cuDeviceGetUuid_v2(&first, 0), ok);
             EXPECT_EQ(cuda.cuDeviceGetUuid_v2(&second, 1), ok);
             EXPECT_NE(std::memcmp(&first, &second, sizeof first), 0);
             std::size_t bytes = 0;
             EXPECT_EQ(cuda.cuDeviceTotalMem_v2(&bytes, 0), ok);
             EXPECT_EQ(bytes, device_memory_bytes);
           });
}

TEST(SoftcudaDevices, RefuseWhatDoesNotExist) {
  in_child({}, [](const Cuda& cuda) {
    ASSERT_EQ(cuda.cuInit(0), ok);
    int value = 0;
    EXPECT_EQ(cuda.cuDeviceGet(&value, 1), Status::invalid_device);
    EXPECT_EQ(cuda.cuDeviceGet(&value, -1), Status::invalid_device);
    EXPECT_EQ(cuda.cuDeviceGetAttribute(&value, 10, 7), Status::invalid_device);
    EXPECT_EQ(cuda.cuDeviceGetAttribute(&value, 1000, 0), Status::invalid_value);
    EXPECT_EQ(cuda.cuDeviceGetAttribute(&value, 0, 0), Status::invalid_value);
    EXPECT_EQ(cuda.cuDeviceGetCount(nullptr), Status::invalid_value);
    EXPECT_EQ(cuda.cuInit(1), Status::invalid_value);
  });
}

}  // namespace
}  // namespace softcuda
