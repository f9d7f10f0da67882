// The library as a host loads it: twice in one process, and closed again.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/client/in_child.hpp"
#include "tests/client/launch_service.hpp"

namespace lyk::test {
namespace {

const DeformShape tiny{
    .batch = 1, .heads = 1, .channels = 4, .queries = 1, .points = 1, .levels = {2, 3}};

// One copy of the library, by its own path and with its own state.
class Copy {
public:
  explicit Copy(const std::string& path) : library_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr)
      throw std::runtime_error(::dlerror());
    forward = reinterpret_cast<decltype(forward)>(::dlsym(library_, "lyk_ms_deform_attn_forward"));
    message = reinterpret_cast<decltype(message)>(::dlsym(library_, "lyk_error_message"));
    set_callback =
        reinterpret_cast<decltype(set_callback)>(::dlsym(library_, "lyk_set_message_callback"));
  }
  ~Copy() { (void)::dlclose(library_); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  Copy(Copy&&) = delete;
  Copy& operator=(Copy&&) = delete;

  decltype(&lyk_ms_deform_attn_forward) forward = nullptr;
  decltype(&lyk_error_message) message = nullptr;
  decltype(&lyk_set_message_callback) set_callback = nullptr;

private:
  void* library_;
};

void count_warning(void* user, const char*) {
  ++*static_cast<int*>(user);
}

// Of the library's own implementations only the hub.
Variables hub_variables(Variables more = {}) {
  more.emplace_back("LIBREYOLO_KERNELS", "hub");
  return softcuda_variables(std::move(more));
}

std::string copy_of_library(const LaunchService& service, const char* name) {
  std::filesystem::copy_file(LYK_LIBRARY, service.folder() / name);
  return service.folder() / name;
}

TEST(LoadedLibrary, TwoCopiesInOneProcessEachWorkByThemselves) {
  const std::string said = in_child(hub_variables(), []() -> std::string {
    const LaunchService service;
    const SoftGpu gpu;  // from now on libcuda.so.1 is this one
    const Copy first{copy_of_library(service, "first.so")};
    const Copy second{copy_of_library(service, "second.so")};
    GpuCall call{gpu, tiny, 1};
    const lyk_ms_deform_attn_call arguments = call.description().call();
    for (const Copy* copy : {&first, &second, &first}) {
      if (copy->forward(&arguments) != LYK_OK)
        return copy->message(nullptr);
      if (std::string wrong = call.check_forward(); !wrong.empty())
        return wrong;
      call.spoil_outputs();
    }
    return service.connections() == 2 ? "" : "they share what they loaded";
  });
  EXPECT_EQ(said, "");
}

TEST(LoadedLibrary, WhatIsOffStaysOffWhenTheHostClosesAndOpensIt) {
  const std::string said =
      in_child(hub_variables({{"SOFTCUDA_FAIL", "cuLaunchKernel:1:2"}}), []() -> std::string {
        const LaunchService service;
        const SoftGpu gpu;
        const std::string path = copy_of_library(service, "library.so");
        GpuCall call{gpu, tiny, 1};
        const lyk_ms_deform_attn_call arguments = call.description().call();
        int warnings = 0;
        for (int i = 0; i < 3; ++i) {
          const Copy copy{path};
          (void)copy.set_callback(count_warning, &warnings);
          if (copy.forward(&arguments) != LYK_NOT_ELIGIBLE)
            return "it ran";
        }
        return warnings == 1 && service.connections() == 1 ? "" : "it was tried again";
      });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
