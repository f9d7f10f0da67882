#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/softcuda/driver_calls.hpp"
#include "tests/softcuda/driver_images.hpp"

namespace softcuda {
namespace {

Status load_text(const Cuda& cuda, const std::string& text) {
  ModuleHandle module{};
  return cuda.cuModuleLoadData(&module, text.c_str());
}

Status load_file(const Cuda& cuda, const std::string& name) {
  ModuleHandle module{};
  return cuda.cuModuleLoadData(&module, read_image(name).data());
}

Environment on(const std::string& device, const std::string& driver = "13.0") {
  return {{"SOFTCUDA_DEVICES", device}, {"SOFTCUDA_DRIVER", driver}, {"SOFTCUDA_EXECUTE", "0"}};
}

TEST(SoftcudaModule, PtxIsRefusedByVersionTargetAndSyntax) {
  with_context(on("sm_80", "12.4"), [](const Cuda& cuda) {
    EXPECT_EQ(load_text(cuda, scale_ptx("8.4", "sm_75")), ok);
    EXPECT_EQ(load_text(cuda, scale_ptx("8.5", "sm_75")), Status::unsupported_ptx_version);
    EXPECT_EQ(load_text(cuda, scale_ptx("9.0", "sm_75")), Status::unsupported_ptx_version);
    EXPECT_EQ(load_text(cuda, scale_ptx("7.8", "sm_90")), Status::invalid_ptx);
    EXPECT_EQ(load_text(cuda, ".version 7.5\n.target sm_75\n.visible .entry broken("),
              Status::invalid_ptx);
    EXPECT_EQ(load_text(cuda, "not an image of any kind"), Status::invalid_image);
    EXPECT_EQ(load_text(cuda, ""), Status::invalid_image);
    ModuleHandle module{};
    EXPECT_EQ(cuda.cuModuleLoadData(&module, nullptr), Status::invalid_value);
    EXPECT_EQ(cuda.cuModuleLoadData(nullptr, "x"), Status::invalid_value);
  });
}

TEST(SoftcudaModule, TheReasonIsInTheErrorLog) {
  with_context(on("sm_80"), [](const Cuda& cuda) {
    std::array<int, 2> options{jit_error_log_buffer, jit_error_log_buffer_size_bytes};
    std::array<char, 256> log{};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes numbers as pointers
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
    ModuleHandle module{};
    const std::string text = scale_ptx("7.8", "sm_90");
    EXPECT_EQ(cuda.cuModuleLoadDataEx(&module, text.c_str(), 2, options.data(), values.data()),
              Status::invalid_ptx);
    EXPECT_STREQ(log.data(), "PTX for sm_90 cannot be compiled for sm_80");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values[1]), std::string{log.data()}.size());
    EXPECT_EQ(cuda.cuModuleLoadDataEx(&module, text.c_str(), 2, nullptr, nullptr),
              Status::invalid_value);
  });
}

TEST(SoftcudaModule, FunctionsAreFoundByNameAndTellTheirParameters) {
  with_context(on("sm_90"), [](const Cuda& cuda) {
    ModuleHandle module{};
    const std::string text = scale_ptx("7.5", "sm_75");
    ASSERT_EQ(cuda.cuModuleLoadData(&module, text.c_str()), ok);
    FunctionHandle function{};
    EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, "scal"), Status::not_found);
    EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, "scale"), ok);
    FunctionHandle again{};
    EXPECT_EQ(cuda.cuModuleGetFunction(&again, module, "scale"), ok);
    EXPECT_EQ(again, function);
    const char* name = nullptr;
    EXPECT_EQ(cuda.cuFuncGetName(&name, function), ok);
    EXPECT_STREQ(name, "scale");
    std::vector<std::size_t> layout;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    for (std::size_t i = 0; cuda.cuFuncGetParamInfo(function, i, &offset, &bytes) == ok; ++i)
      layout.insert(layout.end(), {offset, bytes});
    EXPECT_EQ(layout, (std::vector<std::size_t>{0, 8, 8, 4, 12, 4}));
    unsigned count = 0;
    EXPECT_EQ(cuda.cuModuleGetFunctionCount(&count, module), ok);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(cuda.cuModuleUnload(module), ok);
    EXPECT_EQ(cuda.cuFuncLoad(function), Status::invalid_handle);
    EXPECT_EQ(cuda.cuModuleUnload(module), Status::invalid_handle);
  });
}

TEST(SoftcudaModule, LoadingIsLazyByDefaultSince12Point2) {
  struct Row {
    const char* driver;
    const char* wanted;
    LoadingMode mode;
  };
  for (const Row& row :
       {Row{"12.1", "", LoadingMode::eager}, Row{"12.2", "", LoadingMode::lazy},
        Row{"13.0", "EAGER", LoadingMode::eager}, Row{"11.8", "LAZY", LoadingMode::lazy}})
    in_child({{"SOFTCUDA_DRIVER", row.driver}, {"CUDA_MODULE_LOADING", row.wanted}},
             [&](const Cuda& cuda) {
               ASSERT_EQ(cuda.cuInit(0), ok);
               int mode = 0;
               EXPECT_EQ(cuda.cuModuleGetLoadingMode(&mode), ok);
               EXPECT_EQ(mode, static_cast<int>(row.mode)) << row.driver;
             });
}

#ifdef SOFTCUDA_IMAGES

TEST(SoftcudaModule, ACubinRunsOnItsArchitectureAndHigherMinors) {
  struct Row {
    const char* device;
    const char* cubin;
    Status status;
  };
  for (const Row& row : {Row{"sm_75", "kernels.sm_75.cubin", ok},
                         Row{"sm_80", "kernels.sm_75.cubin", Status::no_binary_for_gpu},
                         Row{"sm_86", "kernels.sm_80.cubin", ok},
                         Row{"sm_87", "kernels.sm_80.cubin", Status::no_binary_for_gpu},
                         Row{"sm_90", "kernels.sm_90a.cubin", ok},
                         Row{"sm_120", "kernels.sm_90a.cubin", Status::no_binary_for_gpu}})
    with_context(on(row.device), [&](const Cuda& cuda) {
      EXPECT_EQ(load_file(cuda, row.cubin), row.status) << row.cubin << " on " << row.device;
    });
}

TEST(SoftcudaModule, ACubinOfANewerMajorIsRefused) {
  with_context(on("sm_75", "12.9"), [](const Cuda& cuda) {
    EXPECT_EQ(load_file(cuda, "kernels.sm_75.cubin"), Status::invalid_image);
  });
}

TEST(SoftcudaModule, ADamagedCubinIsRefused) {
  with_context(on("sm_75"), [](const Cuda& cuda) {
    std::vector<char> image = read_image("kernels.sm_75.cubin");
    constexpr std::size_t machine = 18;
    image[machine] = 1;
    ModuleHandle module{};
    EXPECT_EQ(cuda.cuModuleLoadData(&module, image.data()), Status::invalid_image);
    image = read_image("kernels.sm_75.cubin");
    constexpr std::size_t section_entry_bytes = 58;
    image[section_entry_bytes] = 1;
    EXPECT_EQ(cuda.cuModuleLoadData(&module, image.data()), Status::invalid_image);
    // Fields of eight bytes that promise more than there is.
    constexpr std::size_t segment_table = 32;
    constexpr std::size_t section_table = 40;
    constexpr std::size_t header_bytes = 52;
    image = read_image("kernels.sm_75.cubin");
    std::uint64_t sections = 0;
    std::memcpy(&sections, image.data() + section_table, sizeof sections);
    const std::size_t section_start = sections + 64 + 24;
    for (const std::size_t field : {segment_table, section_table, header_bytes, section_start}) {
      image = read_image("kernels.sm_75.cubin");
      std::memset(image.data() + field, 0xff, sizeof(std::uint64_t));
      EXPECT_EQ(cuda.cuModuleLoadData(&module, image.data()), Status::invalid_image) << field;
    }
    EXPECT_EQ(cuda.cuCtxSynchronize(), ok);
  });
}

TEST(SoftcudaModule, AFatbinGivesTheBestImageForTheDevice) {
  const auto binary_version_on = [](const char* device, int& out) {
    return [device, &out](const Cuda& cuda) {
      constexpr int binary_version = 6;
      ModuleHandle module{};
      ASSERT_EQ(cuda.cuModuleLoadData(&module, read_image("kernels.fatbin").data()), ok) << device;
      FunctionHandle function{};
      ASSERT_EQ(cuda.cuModuleGetFunction(&function, module, "combine"), ok);
      EXPECT_EQ(cuda.cuFuncGetAttribute(&out, binary_version, function), ok);
    };
  };
  for (const auto& [device, expected] :
       {std::pair{"sm_75", 75}, std::pair{"sm_86", 80}, std::pair{"sm_90", 90}})
    with_context(on(device), [&, name = device, wanted = expected](const Cuda& cuda) {
      int version = 0;
      binary_version_on(name, version)(cuda);
      EXPECT_EQ(version, wanted) << name;
    });
}

TEST(SoftcudaModule, AFatbinWithoutAFittingImageSaysWhy) {
  with_context(on("sm_75"), [](const Cuda& cuda) {
    EXPECT_EQ(load_file(cuda, "high.fatbin"), Status::no_binary_for_gpu);
  });
  with_context(on("sm_90", "12.9"), [](const Cuda& cuda) {
    EXPECT_EQ(load_file(cuda, "high.fatbin"), Status::unsupported_ptx_version);
  });
}

TEST(SoftcudaModule, ALibraryIsLoadedIntoEachContextAtItsFirstUse) {
  with_context({{"SOFTCUDA_DEVICES", "sm_75,sm_90"}, {"SOFTCUDA_EXECUTE", "0"}},
               [](const Cuda& cuda) {
                 const std::vector<char> image = read_image("kernels.fatbin");
                 LibraryHandle library{};
                 ASSERT_EQ(cuda.cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0,
                                                  nullptr, nullptr, 0),
                           ok);
                 KernelHandle kernel{};
                 EXPECT_EQ(cuda.cuLibraryGetKernel(&kernel, library, "none"), Status::not_found);
                 EXPECT_EQ(cuda.cuLibraryGetKernel(&kernel, library, "combine"), ok);
                 FunctionHandle first{};
                 FunctionHandle second{};
                 EXPECT_EQ(cuda.cuKernelGetFunction(&first, kernel), ok);
                 (void)use_device(cuda, 1);
                 EXPECT_EQ(cuda.cuKernelGetFunction(&second, kernel), ok);
                 EXPECT_NE(first, second);
                 EXPECT_EQ(cuda.cuFuncLoad(first), Status::invalid_handle);
                 EXPECT_EQ(cuda.cuFuncLoad(reinterpret_cast<FunctionHandle>(kernel)), ok);
                 EXPECT_EQ(cuda.cuLibraryUnload(library), ok);
                 EXPECT_EQ(cuda.cuFuncLoad(second), Status::invalid_handle);
               });
}

TEST(SoftcudaModule, ACubinWithoutItsTwinCannotBeExecuted) {
  with_context({{"SOFTCUDA_DEVICES", "sm_75"}}, [](const Cuda& cuda) {
    EXPECT_EQ(load_file(cuda, "kernels.sm_75.cubin"), Status::not_supported);
  });
  with_context({{"SOFTCUDA_DEVICES", "sm_75"}, {"SOFTCUDA_PTX_PATH", image_path("other.ptx")}},
               [](const Cuda& cuda) {
                 EXPECT_EQ(load_file(cuda, "kernels.sm_75.cubin"), Status::not_supported);
               });
}

#endif

}  // namespace
}  // namespace softcuda
