#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/softcuda/settings.hpp"
#include "tests/softcuda/driver_calls.hpp"

namespace softcuda {
namespace {

std::string refusal_of(const Variables& variables) {
  const auto settings = parse_settings(variables);
  return settings ? std::string{} : settings.error().message;
}

TEST(SoftcudaSettings, WithoutVariablesThereIsOneHopperAndDriver13) {
  const auto settings = parse_settings({});
  ASSERT_TRUE(settings) << settings.error().message;
  ASSERT_EQ(settings->devices.size(), 1U);
  EXPECT_EQ(settings->devices[0]->sm, "sm_90");
  EXPECT_EQ(settings->driver, (lyk::CudaVersion{13, 0}));
  EXPECT_TRUE(settings->execute);
  EXPECT_TRUE(settings->injections.empty());
}

TEST(SoftcudaSettings, EmptyVariablesMeanTheirDefaults) {
  const auto settings = parse_settings({{"SOFTCUDA_DEVICES", ""}, {"SOFTCUDA_FAIL", ""}});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->devices.size(), 1U);
}

TEST(SoftcudaSettings, DevicesKeepTheirOrder) {
  const auto settings = parse_settings({{"SOFTCUDA_DEVICES", "sm_120,sm_75,sm_87"}});
  ASSERT_TRUE(settings) << settings.error().message;
  ASSERT_EQ(settings->devices.size(), 3U);
  EXPECT_EQ(settings->devices[0]->sm, "sm_120");
  EXPECT_EQ(settings->devices[2]->sm, "sm_87");
  EXPECT_TRUE(settings->devices[2]->tegra);
}

TEST(SoftcudaSettings, InjectionsHaveACallACodeAndATime) {
  const auto settings =
      parse_settings({{"SOFTCUDA_FAIL",
                       "cuLaunchKernel:2:719,cuMemAlloc_v2:3+:2,cuLaunchKernel_ptsz:1:700:async"}});
  ASSERT_TRUE(settings) << settings.error().message;
  ASSERT_EQ(settings->injections.size(), 3U);
  const Injection& plain = settings->injections[0];
  EXPECT_EQ(plain.function, "cuLaunchKernel");
  EXPECT_EQ(plain.call, 2U);
  EXPECT_EQ(plain.status, Status::launch_failed);
  EXPECT_EQ(plain.when, Injection::When::instead);
  EXPECT_EQ(settings->injections[1].function, "cuMemAlloc");
  EXPECT_EQ(settings->injections[1].calls, Injection::Calls::from_this_on);
  EXPECT_EQ(settings->injections[2].function, "cuLaunchKernel");
  EXPECT_EQ(settings->injections[2].when, Injection::When::afterwards);
}

TEST(SoftcudaSettings, EachMalformedVariableIsRefusedByNameAndReason) {
  struct Row {
    const char* name;
    const char* value;
    const char* says;
  };
  const std::vector<Row> rows{
      {"SOFTCUDA_DEVICES", "sm_99", "no device 'sm_99' here; known: sm_75"},
      {"SOFTCUDA_DEVICES", "sm_90,", "no device ''"},
      {"SOFTCUDA_DEVICES", "sm_90a", "no device 'sm_90a'"},
      {"SOFTCUDA_DRIVER", "11.7", "'11.7' is no CUDA version"},
      {"SOFTCUDA_DRIVER", "14.0", "'14.0' is no CUDA version"},
      {"SOFTCUDA_DRIVER", "new", "'new' is no CUDA version"},
      {"SOFTCUDA_FAIL", "cuLaunchKernel", "is not function:call:code"},
      {"SOFTCUDA_FAIL", "cuLaunchKernel:1", "is not function:call:code"},
      {"SOFTCUDA_FAIL", "cuLaunchKernel:1:700:async:x", "is not function:call:code"},
      {"SOFTCUDA_FAIL", "cuLaunchKernl:1:700", "perhaps cuLaunchKernel"},
      {"SOFTCUDA_FAIL", "cuLaunchKernel:0:700", "counted from 1"},
      {"SOFTCUDA_FAIL", "cuLaunchKernel:x:700", "'x' is no number"},
      {"SOFTCUDA_FAIL", "cuLaunchKernel:-1:700", "'-1' is no number"},
      {"SOFTCUDA_FAIL", "cuLaunchKernel:1:0", "codes are 1 to 999"},
      {"SOFTCUDA_FAIL", "cuLaunchKernel:1:1000", "codes are 1 to 999"},
      {"SOFTCUDA_FAIL", "cuLaunchKernel:1:700:later", "'later' is not 'async'"},
      {"SOFTCUDA_FAIL", "cuLaunchKernel:1:2:async", "does not come from a running kernel"},
      {"SOFTCUDA_FAIL", "cuLaunchKernel:1:700,", "is not function:call:code"},
      {"SOFTCUDA_SEED", "many", "'many' is no number"},
      {"SOFTCUDA_CHECK", "races", "is neither 'race' nor 'uninitialised'"},
      {"SOFTCUDA_EXECUTE", "no", "is neither 0 nor 1"},
      {"SOFTCUDA_MOVE_PRIMARY", "2", "is neither 0 nor 1"},
      {"SOFTCUDA_HIDE", "cuFuncLod", "perhaps cuFuncLoad"},
      {"SOFTCUDA_DEVICE", "sm_90", "no such variable, perhaps SOFTCUDA_DEVICES"},
  };
  for (const Row& row : rows) {
    const std::string message = refusal_of({{row.name, row.value}});
    EXPECT_NE(message.find(row.name), std::string::npos) << message;
    EXPECT_NE(message.find(row.says), std::string::npos) << row.value << ": " << message;
  }
}

TEST(SoftcudaSettings, ADriverKnowsOnlyTheDevicesOfItsTime) {
  EXPECT_NE(refusal_of({{"SOFTCUDA_DEVICES", "sm_120"}, {"SOFTCUDA_DRIVER", "12.7"}})
                .find("sm_120 needs a driver of CUDA 12.8"),
            std::string::npos);
  EXPECT_EQ(refusal_of({{"SOFTCUDA_DEVICES", "sm_120"}, {"SOFTCUDA_DRIVER", "12.8"}}), "");
  EXPECT_EQ(refusal_of({{"SOFTCUDA_DEVICES", "sm_90"}, {"SOFTCUDA_DRIVER", "11.8"}}), "");
}

TEST(SoftcudaSettings, VersionsAndStreamTwinsOfAFunctionAreOneFunction) {
  EXPECT_EQ(base_name("cuMemAlloc_v2"), "cuMemAlloc");
  EXPECT_EQ(base_name("cuMemcpyHtoD_v2_ptds"), "cuMemcpyHtoD");
  EXPECT_EQ(base_name("cuLaunchKernel_ptsz"), "cuLaunchKernel");
  EXPECT_EQ(base_name("cuInit"), "cuInit");
}

TEST(SoftcudaSettings, AMalformedVariableFailsCuInit) {
  in_child({{"SOFTCUDA_DEVICES", "sm_1"}}, [](const Cuda& cuda) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuda.cuInit(0), Status::invalid_value);
    EXPECT_EQ(cuda.cuInit(0), Status::invalid_value);
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.find("softcuda: SOFTCUDA_DEVICES: "), 0U) << text;
    EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
    int count = 0;
    EXPECT_EQ(cuda.cuDeviceGetCount(&count), Status::not_initialized);
  });
}

TEST(SoftcudaSettings, NoneIsAMachineWithoutDevices) {
  in_child({{"SOFTCUDA_DEVICES", "none"}}, [](const Cuda& cuda) {
    EXPECT_EQ(cuda.cuInit(0), Status::no_device);
    int count = 0;
    EXPECT_EQ(cuda.cuDeviceGetCount(&count), Status::not_initialized);
    EXPECT_EQ(cuda.cuDriverGetVersion(&count), ok);
  });
}

TEST(SoftcudaSettings, AMachineHasAtMost16Devices) {
  std::string devices = "sm_90";
  for (int i = 1; i < 16; ++i)
    devices += ",sm_90";
  EXPECT_EQ(refusal_of({{"SOFTCUDA_DEVICES", devices}}), "");
  EXPECT_NE(refusal_of({{"SOFTCUDA_DEVICES", devices + ",sm_90"}}).find("17 devices, limit 16"),
            std::string::npos);
}

TEST(SoftcudaSettings, OnlyFaultsOfRunningWorkAreSticky) {
  for (const int code : {214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 911})
    EXPECT_TRUE(is_sticky(Status{code})) << code;
  for (const int code : {1, 2, 200, 209, 400, 600, 701, 709, 801, 900, 999})
    EXPECT_FALSE(is_sticky(Status{code})) << code;
}

TEST(SoftcudaSettings, ATraceThatCannotBeOpenedFailsCuInit) {
  in_child({{"SOFTCUDA_TRACE", "/nowhere/trace"}}, [](const Cuda& cuda) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuda.cuInit(0), Status::invalid_value);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("cannot open '/nowhere/trace'"),
              std::string::npos);
  });
}

}  // namespace
}  // namespace softcuda
