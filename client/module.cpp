#include "client/module.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "client/c_interface.hpp"
#include "client/context.hpp"
#include "client/shortage.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

// Options of cuModuleLoadDataEx (CUjit_option).
constexpr int jit_error_log_buffer = 5;
constexpr int jit_error_log_buffer_bytes = 6;

class Mapping {
public:
  Mapping(int fd, std::size_t bytes)
      : bytes_(bytes), data_(::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0)) {}
  ~Mapping() {
    if (is_mapped())
      (void)::munmap(data_, bytes_);  // it was mapped so
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  Mapping(Mapping&&) = delete;
  Mapping& operator=(Mapping&&) = delete;

  bool is_mapped() const { return data_ != MAP_FAILED; }
  const void* data() const { return data_; }

private:
  std::size_t bytes_;
  void* data_;
};

// A module that is not complete yet, unloaded again where something fails.
class LoadedHandle {
public:
  LoadedHandle(const lyk_cu_functions& cu, lyk_cu_module handle) : cu_(cu), handle_(handle) {}
  ~LoadedHandle() {
    if (handle_ != nullptr)
      (void)cu_.module_unload(handle_);  // the first failure is the one to be told
  }
  LoadedHandle(const LoadedHandle&) = delete;
  LoadedHandle& operator=(const LoadedHandle&) = delete;
  LoadedHandle(LoadedHandle&&) = delete;
  LoadedHandle& operator=(LoadedHandle&&) = delete;

  lyk_cu_module get() const { return handle_; }
  lyk_cu_module release() { return std::exchange(handle_, nullptr); }

private:
  const lyk_cu_functions& cu_;
  lyk_cu_module handle_;
};

// "image sm_90 cubin of build/x/ops.so"
std::string describe(const wire::ResolveReply& reply) {
  const bool is_ptx = reply.image.kind == wire::ImageKind::ptx;
  return str("the ", reply.image.arch, is_ptx ? " PTX" : " cubin", " of ", reply.file);
}

Result<lyk_cu_module> load_data(const lyk_cu_functions& cu,
                                const void* image,
                                std::string_view title) {
  std::array<char, limits::jit_log_bytes> log{};
  std::array<int, 2> options{jit_error_log_buffer, jit_error_log_buffer_bytes};
  // The second "pointer" is the number itself: that is how the driver takes options.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(std::uintptr_t{log.size() - 1})};
  lyk_cu_module handle = nullptr;
  const lyk_cu_result result =
      cu.module_load_data(&handle, image, options.size(), options.data(), values.data());
  if (result == LYK_CU_SUCCESS)
    return handle;
  Error error = cuda_error(cu, result, str("load ", title));
  if (const std::string_view said = log.data(); !said.empty())
    error.message += str("; it says ", quoted(said));
  return error;
}

Result<lyk_cu_function> find_kernel(const lyk_cu_functions& cu,
                                    lyk_cu_module module,
                                    std::string_view symbol) {
  const std::string name{symbol};
  lyk_cu_function function = nullptr;
  LYK_TRY_CUDA(cu, module_get_function(&function, module, name.c_str()),
               str("find the kernel ", name));
  if (cu.func_load != nullptr)
    LYK_TRY_CUDA(cu, func_load(function), str("load the kernel ", name));
  return function;
}

}  // namespace

Result<std::unique_ptr<Module>> load_module(const Driver& driver,
                                            const void* image,
                                            std::string_view title,
                                            std::span<const std::string_view> symbols) {
  const lyk_cu_functions& cu = driver.cu;
  LYK_TRY_ASSIGN(const RelaxedCapture relaxed, RelaxedCapture::enter(cu));
  LYK_TRY_ASSIGN(lyk_cu_module loaded, load_data(cu, image, title));
  LoadedHandle handle{cu, loaded};
  auto module = std::make_unique<Module>();
  module->kernels = std::vector<Kernel>(symbols.size());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    LYK_TRY_ASSIGN(module->kernels[i].function, find_kernel(cu, handle.get(), symbols[i]));
  }
  module->handle = handle.release();
  return module;
}

Result<std::unique_ptr<Module>> load_module(const Driver& driver,
                                            const ResolvedImage& image,
                                            const LaunchAbi& abi) {
  const wire::Image& description = image.reply.image;
  const bool is_ptx = description.kind == wire::ImageKind::ptx;
  // Private, since older kernels refuse any shared mapping of what is sealed against writing.
  const Mapping bytes{image.fd.get(), description.bytes + (is_ptx ? 1 : 0)};
  if (!bytes.is_mapped())
    return passing_error(errno, "map the image");
  std::vector<std::string_view> symbols;
  for (const AbiKernel& kernel : abi.kernels)
    symbols.push_back(kernel.symbol);
  return load_module(driver, bytes.data(), describe(image.reply), symbols);
}

Result<void> check_not_capturing(const lyk_cu_functions& cu, lyk_cu_stream stream) {
  int status = LYK_CU_CAPTURE_STATUS_NONE;
  const lyk_cu_result result = cu.stream_is_capturing(stream, &status);
  // Asked about the legacy stream while another one captures, the driver refuses without harm;
  // anything else on the legacy stream would break that capture.
  if (result == LYK_CU_STREAM_CAPTURE_IMPLICIT)
    return not_taken("another stream captures, and the default stream may not be waited for");
  if (result != LYK_CU_SUCCESS)
    return cuda_error(cu, result, "ask whether the stream captures");
  if (status != LYK_CU_CAPTURE_STATUS_NONE)
    return not_taken("the stream captures, and this kernel has not run before");
  return {};
}

bool have_run(std::span<Kernel* const> kernels) {
  return std::all_of(kernels.begin(), kernels.end(), [](const Kernel* kernel) {
    return kernel->has_run.load(std::memory_order_acquire);
  });
}

Result<FirstRun> FirstRun::begin(const lyk_cu_functions& cu,
                                 std::span<Kernel* const> kernels,
                                 lyk_cu_stream stream) {
  FirstRun run{cu, kernels, stream};
  if (have_run(kernels))
    return run;
  LYK_TRY(check_not_capturing(cu, stream));
  // Waiting counts as unsafe too while a thread captures in the strictest mode.
  LYK_TRY_ASSIGN(RelaxedCapture relaxed, RelaxedCapture::enter(cu));
  if (const lyk_cu_result result = cu.stream_synchronize(stream); result != LYK_CU_SUCCESS) {
    Error error = cuda_error(cu, result, "earlier work of the stream");
    // Whatever it is, it is not a failure of these kernels.
    if (error.code != Code::cuda)
      error.code = Code::not_eligible;
    return error;
  }
  run.relaxed_.emplace(std::move(relaxed));
  return run;
}

Result<void> FirstRun::finish() {
  if (!is_first())
    return {};
  LYK_TRY_CUDA(*cu_, stream_synchronize(stream_), "run the kernel");
  for (Kernel* kernel : kernels_)
    kernel->has_run.store(true, std::memory_order_release);
  return {};
}

}  // namespace lyk::client
