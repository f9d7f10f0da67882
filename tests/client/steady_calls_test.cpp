// A call that was made once and is taken by `hub` or `cuda` allocates nothing and takes no lock,
// also where another implementation refuses it first. Both are counted where the library does them.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "proto/channel.hpp"
#include "proto/message.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/launch_scene.hpp"
#include "tests/support/temp_dir.hpp"

// ---- what is counted

namespace {

std::atomic<std::uintptr_t> library_begin{0};  // 0: nothing is counted
std::atomic<std::uintptr_t> library_end{0};
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> locks{0};

void count(std::atomic<std::uint64_t>& counter, const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  if (at >= library_begin.load(std::memory_order_relaxed) &&
      at < library_end.load(std::memory_order_relaxed))
    counter.fetch_add(1, std::memory_order_relaxed);
}

using LockFunction = int (*)(pthread_mutex_t*);
std::atomic<LockFunction> lock_of_glibc{nullptr};

}  // namespace

// glibc's own, which the one below stands before.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): glibc's name for it
extern "C" void* __libc_malloc(std::size_t size);

// The library's C++ library is its own, so that what it allocates is asked for from inside of it.
extern "C" void* malloc(std::size_t size) {
  count(allocations, __builtin_return_address(0));
  return __libc_malloc(size);
}

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  count(locks, __builtin_return_address(0));
  LockFunction lock = lock_of_glibc.load(std::memory_order_relaxed);
  if (lock == nullptr) {
    lock = reinterpret_cast<LockFunction>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    lock_of_glibc.store(lock, std::memory_order_relaxed);
  }
  return lock(mutex);
}

namespace lyk::test {
namespace {

int find_library(dl_phdr_info* info, std::size_t, void*) {
  if (std::string_view{info->dlpi_name}.find("counted.so") == std::string_view::npos)
    return 0;
  std::uintptr_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD)
      end = std::max(end, info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
  library_end = info->dlpi_addr + end;
  library_begin = info->dlpi_addr;
  return 1;
}

// ---- a host of the library

// The library with a fatbin beside it, and a service that answers with that.
class Host {
public:
  explicit Host(FakeService::Serve serve) : service_(folder_ / "socket", std::move(serve)) {
    (void)::setenv("LIBREYOLO_KERNELS_SOCKET", (folder_ / "socket").c_str(), 1);
    std::filesystem::copy_file(LYK_LIBRARY, folder_ / "counted.so");
    std::filesystem::copy_file(LYK_IMAGES "/deform.fatbin", folder_ / "libreyolo_kernels.fatbin");
    void* library = ::dlopen((folder_ / "counted.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      throw std::runtime_error(::dlerror());
    forward_ = reinterpret_cast<decltype(forward_)>(::dlsym(library, "lyk_ms_deform_attn_forward"));
    message_ = reinterpret_cast<decltype(message_)>(::dlsym(library, "lyk_error_message"));
    (void)reinterpret_cast<decltype(&lyk_set_message_callback)>(
        ::dlsym(library, "lyk_set_message_callback"))([](void*, const char*) {}, nullptr);
  }

  // What is wrong with a hundred calls after the first; empty: nothing.
  std::string call_steadily(GpuCall& call) {
    const lyk_ms_deform_attn_call arguments = call.description().call();
    if (forward_(&arguments) != LYK_OK)
      return message_(nullptr);
    if (::dl_iterate_phdr(find_library, nullptr) != 1)
      return "the library is not where it was expected";
    for (int i = 0; i < 100; ++i)
      if (forward_(&arguments) != LYK_OK)
        return message_(nullptr);
    return allocations == 0 && locks == 0
               ? ""
               : str(allocations.load(), " allocations and ", locks.load(), " locks");
  }

private:
  TempDir folder_;
  FakeService service_;
  decltype(&lyk_ms_deform_attn_forward) forward_ = nullptr;
  decltype(&lyk_error_message) message_ = nullptr;
};

// Calls of `change`d arguments, where the service answers with that.
std::string steady_calls(const FakeService::Serve& serve,
                         const std::function<void(DeformCall&)>& change) {
  return in_child(softcuda_variables({{"SOFTCUDA_EXECUTE", "0"}}), [&]() -> std::string {
    const SoftGpu gpu;
    Host host{serve};
    GpuCall call{gpu, tiny, 1};
    change(call.description());
    return host.call_steadily(call);
  });
}

FakeService::Serve with_the_kernels(const HubImage& image) {
  return [&image](UniqueFd connection, int) {
    answer_resolves(std::move(connection), image.reply, image.fd.get());
  };
}

TEST(SteadyCalls, OfTheHubAllocateNothingAndTakeNoLock) {
  const HubImage image = HubImage::cubin();
  EXPECT_EQ(steady_calls(with_the_kernels(image), [](DeformCall&) {}), "");
}

TEST(SteadyCalls, OfCudaAllocateNothingWhereTheHubDoesNotTakeTheType) {
  const HubImage image = HubImage::cubin();
  EXPECT_EQ(steady_calls(with_the_kernels(image),
                         [](DeformCall& call) {
                           call.value.tensor.dtype = {LYK_DTYPE_FLOAT, 16, 1};
                           call.output.tensor.dtype = {LYK_DTYPE_FLOAT, 16, 1};
                         }),
            "");
}

TEST(SteadyCalls, OfCudaAllocateNothingWhereTheHubDoesNotTakeTheOrder) {
  const HubImage image = HubImage::cubin();
  EXPECT_EQ(steady_calls(with_the_kernels(image),
                         [](DeformCall& call) {
                           call.value.strides = {24, 1, 24, 6};
                         }),
            "");
}

TEST(SteadyCalls, OfCudaAllocateNothingWhereThePinMarksNothingDeterministic) {
  HubImage image = HubImage::cubin();
  image.reply.deterministic.clear();
  EXPECT_EQ(steady_calls(with_the_kernels(image),
                         [](DeformCall& call) { call.flags = LYK_DETERMINISTIC; }),
            "");
}

TEST(SteadyCalls, OfCudaTakeNoLockWhereTheHubHasNoImage) {
  const std::string refusal = wire::encode_error({Code::no_image, "nothing fits"}, {}) + '\0';
  EXPECT_EQ(
      steady_calls([&](UniqueFd connection, int) { answer_raw(std::move(connection), refusal); },
                   [](DeformCall&) {}),
      "");
}

}  // namespace
}  // namespace lyk::test
