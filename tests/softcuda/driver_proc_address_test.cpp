#include <dlfcn.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/fakes/softcuda/functions.hpp"
#include "tests/softcuda/driver_calls.hpp"

namespace softcuda {
namespace {

void* exported(std::string_view name) {
  void* const library = ::dlopen(LYK_BINARY_DIR "/softcuda/libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return ::dlsym(library, std::string{name}.c_str());
}

TEST(SoftcudaProcAddress, EveryFunctionIsExportedUnderItsVersionedName) {
  in_child({}, [](const Cuda&) {
    for (const FunctionInfo& function : functions())
      EXPECT_NE(exported(function.exported), nullptr) << function.exported;
  });
}

TEST(SoftcudaProcAddress, GivesTheNewestFunctionOfTheAskedVersion) {
  struct Row {
    const char* name;
    int version;
    std::uint64_t flags;
    const char* function;  // null: not found
    ProcAddressStatus status;
  };
  const std::vector<Row> rows{
      {"cuMemAlloc", 13'000, 0, "cuMemAlloc_v2", ProcAddressStatus::found},
      {"cuMemAlloc", 2000, 0, nullptr, ProcAddressStatus::version_not_sufficient},
      {"cuCtxCreate", 11'000, 0, "cuCtxCreate_v2", ProcAddressStatus::found},
      {"cuCtxCreate", 12'000, 0, "cuCtxCreate_v3", ProcAddressStatus::found},
      {"cuCtxCreate", 13'000, 0, "cuCtxCreate_v4", ProcAddressStatus::found},
      {"cuGetProcAddress", 11'080, 0, "cuGetProcAddress", ProcAddressStatus::found},
      {"cuGetProcAddress", 12'000, 0, "cuGetProcAddress_v2", ProcAddressStatus::found},
      {"cuStreamGetCaptureInfo", 12'000, 0, "cuStreamGetCaptureInfo_v2", ProcAddressStatus::found},
      {"cuStreamGetCaptureInfo", 12'030, 0, "cuStreamGetCaptureInfo_v3", ProcAddressStatus::found},
      {"cuCtxSynchronize", 12'090, 0, "cuCtxSynchronize", ProcAddressStatus::found},
      {"cuCtxSynchronize", 13'000, 0, "cuCtxSynchronize_v2", ProcAddressStatus::found},
      {"cuCtxGetDevice", 13'000, 0, "cuCtxGetDevice_v2", ProcAddressStatus::found},
      {"cuStreamGetCtx", 12'050, 2, "cuStreamGetCtx_v2_ptsz", ProcAddressStatus::found},
      {"cuLaunchKernel", 12'000, 1, "cuLaunchKernel", ProcAddressStatus::found},
      {"cuLaunchKernel", 12'000, 2, "cuLaunchKernel_ptsz", ProcAddressStatus::found},
      {"cuMemcpyHtoD", 12'000, 2, "cuMemcpyHtoD_v2_ptds", ProcAddressStatus::found},
      {"cuMemAlloc", 12'000, 2, "cuMemAlloc_v2", ProcAddressStatus::found},
      {"cuGraphInstantiate", 12'000, 0, "cuGraphInstantiateWithFlags", ProcAddressStatus::found},
      {"cuMemAlloc_v2", 12'000, 0, nullptr, ProcAddressStatus::not_found},
      {"cuNothing", 12'000, 0, nullptr, ProcAddressStatus::not_found},
      {"", 12'000, 0, nullptr, ProcAddressStatus::not_found},
  };
  in_child({}, [&](const Cuda& cuda) {
    for (const Row& row : rows) {
      void* address = nullptr;
      int status = -1;
      EXPECT_EQ(cuda.cuGetProcAddress_v2(row.name, &address, row.version, row.flags, &status), ok);
      EXPECT_EQ(address, row.function == nullptr ? nullptr : exported(row.function))
          << row.name << ' ' << row.version;
      EXPECT_EQ(status, static_cast<int>(row.status)) << row.name << ' ' << row.version;
    }
  });
}

TEST(SoftcudaProcAddress, TheFirstVersionSaysNotFoundByItsResult) {
  in_child({}, [](const Cuda& cuda) {
    void* address = &address;
    EXPECT_EQ(cuda.cuGetProcAddress("cuNothing", &address, 12'000, 0), Status::not_found);
    EXPECT_EQ(address, nullptr);
    EXPECT_EQ(cuda.cuGetProcAddress("cuInit", &address, 12'000, 0), ok);
    EXPECT_EQ(cuda.cuGetProcAddress(nullptr, &address, 12'000, 0), Status::invalid_value);
    EXPECT_EQ(cuda.cuGetProcAddress("cuInit", nullptr, 12'000, 0), Status::invalid_value);
    EXPECT_EQ(cuda.cuGetProcAddress("cuInit", &address, 12'000, 4), Status::invalid_value);
    EXPECT_EQ(cuda.cuGetProcAddress("cuInit", &address, 13'010, 0), Status::invalid_value);
  });
}

TEST(SoftcudaProcAddress, AnOldDriverLacksWhatCameLater) {
  in_child({{"SOFTCUDA_DRIVER", "11.8"}}, [](const Cuda& cuda) {
    void* address = nullptr;
    EXPECT_EQ(cuda.cuGetProcAddress("cuFuncLoad", &address, 11'080, 0), Status::not_found);
    EXPECT_EQ(cuda.cuGetProcAddress("cuLibraryLoadData", &address, 11'080, 0), Status::not_found);
    EXPECT_EQ(cuda.cuGetProcAddress("cuLaunchKernel", &address, 11'080, 0), ok);
  });
}

TEST(SoftcudaProcAddress, HiddenFunctionsAreNotFound) {
  in_child({{"SOFTCUDA_HIDE", "cuFuncLoad,cuLaunchKernel"}}, [](const Cuda& cuda) {
    void* address = nullptr;
    int status = -1;
    EXPECT_EQ(cuda.cuGetProcAddress_v2("cuFuncLoad", &address, 13'000, 0, &status), ok);
    EXPECT_EQ(address, nullptr);
    EXPECT_EQ(status, static_cast<int>(ProcAddressStatus::not_found));
    EXPECT_EQ(cuda.cuGetProcAddress_v2("cuLaunchKernel", &address, 13'000, 2, nullptr), ok);
    EXPECT_EQ(address, nullptr);
    EXPECT_EQ(cuda.cuGetProcAddress_v2("cuLaunchKernelEx", &address, 13'000, 0, nullptr), ok);
    EXPECT_NE(address, nullptr);
  });
}

TEST(SoftcudaProcAddress, ResultCodesHaveNamesAndTexts) {
  in_child({}, [](const Cuda& cuda) {
    const char* text = nullptr;
    EXPECT_EQ(cuda.cuGetErrorName(700, &text), ok);
    EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
    EXPECT_EQ(cuda.cuGetErrorString(700, &text), ok);
    EXPECT_STREQ(text, "an illegal memory access was encountered");
    EXPECT_EQ(cuda.cuGetErrorName(12'345, &text), Status::invalid_value);
    EXPECT_EQ(text, nullptr);
  });
}

}  // namespace
}  // namespace softcuda
