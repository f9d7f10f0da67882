// What a call costs above what it cannot be cheaper than: a slot of the program's own above the
// function itself, and a launch above cuLaunchKernel. Both sides in one run, interleaved.
//
//   launch_bench --benchmark_repetitions=20 --benchmark_enable_random_interleaving=true
//   launch_bench first        prints the seconds of the first call of a process, all included
//   launch_bench first_bare   prints what of that is the driver's own
//   launch_bench allocations  prints how often 1000 calls made the library allocate
//   launch_bench executed     prints the seconds of a forward of three levels, until it has run
//
// needs a service that has ms_deform_attn for 9.0, and a libcuda.so.1; with the stand-in driver and
// SOFTCUDA_EXECUTE=0 launches are checked and queued, not run. bench/run.py sets that up.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <lyk.hpp>

#include "client/cuda_abi.h"
#include "proto/launch_abi.hpp"

// ---- allocations of the library alone

namespace {
std::atomic<std::uintptr_t> library_begin{0};  // 0: nothing is counted
std::atomic<std::uintptr_t> library_end{0};
std::atomic<std::uint64_t> allocations{0};
}  // namespace

// glibc's own, which the one below stands before.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): glibc's name for it
extern "C" void* __libc_malloc(std::size_t size);

// The library's operator new is its own, so that what it allocates is asked for from inside of it.
extern "C" void* malloc(std::size_t size) {
  const auto caller = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  if (caller >= library_begin.load(std::memory_order_relaxed) &&
      caller < library_end.load(std::memory_order_relaxed))
    allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}

namespace {

[[noreturn]] void fail(const std::string& what) {
  (void)std::fprintf(stderr, "launch_bench: %s\n", what.c_str());
  std::exit(1);
}

int find_library(dl_phdr_info* info, std::size_t, void*) {
  if (std::string_view{info->dlpi_name}.find("libreyolo_kernels") == std::string_view::npos)
    return 0;
  std::uintptr_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD)
      end = std::max(end, info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz);
  library_end = info->dlpi_addr + end;
  library_begin = info->dlpi_addr;
  return 1;
}

// ---- a GPU and a call

struct Gpu {
  lyk_cu_functions cu{};
  lyk_cu_result (*mem_alloc)(lyk_cu_deviceptr* address, std::size_t bytes) = nullptr;
  lyk_cu_result (*to_device)(lyk_cu_deviceptr to, const void* from, std::size_t bytes) = nullptr;
  lyk_cu_stream stream = nullptr;

  Gpu() {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      fail(::dlerror());
#define LYK_FIND(member, name, parameters) \
  cu.member = reinterpret_cast<decltype(cu.member)>(::dlsym(library, name));
    LYK_CU_REQUIRED(LYK_FIND)
    LYK_CU_OPTIONAL(LYK_FIND)
#undef LYK_FIND
    mem_alloc = reinterpret_cast<decltype(mem_alloc)>(::dlsym(library, "cuMemAlloc_v2"));
    to_device = reinterpret_cast<decltype(to_device)>(::dlsym(library, "cuMemcpyHtoD_v2"));
    const auto stream_create = reinterpret_cast<lyk_cu_result (*)(lyk_cu_stream*, unsigned)>(
        ::dlsym(library, "cuStreamCreate"));
    const auto set_current =
        reinterpret_cast<lyk_cu_result (*)(lyk_cu_context)>(::dlsym(library, "cuCtxSetCurrent"));
    lyk_cu_context context = nullptr;
    must(cu.init(0));
    must(cu.primary_ctx_retain(&context, 0));
    must(set_current(context));
    must(stream_create(&stream, 0));
  }
  static void must(lyk_cu_result result) {
    if (result != 0)
      fail("the driver fails with " + std::to_string(result));
  }
  void* allocate(std::size_t bytes) const {
    lyk_cu_deviceptr address = 0;
    must(mem_alloc(&address, bytes));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): what a tensor calls its data
    return reinterpret_cast<void*>(address);
  }
  template <typename T>
  void* upload(const std::vector<T>& values) const {
    void* address = allocate(sizeof(T) * values.size());
    must(to_device(reinterpret_cast<lyk_cu_deviceptr>(address), values.data(),
                   sizeof(T) * values.size()));
    return address;
  }
  // Numbers from 0 to 1: locations inside of the levels.
  void* floats(std::int64_t count) const {
    std::mt19937 generator{1};
    std::uniform_real_distribution<float> distribution{0, 1};
    std::vector<float> values(static_cast<std::size_t>(count));
    std::generate(values.begin(), values.end(), [&] { return distribution(generator); });
    return upload(values);
  }
};

struct Shape {
  std::vector<std::int64_t> sizes;   // height and width of each level
  std::vector<std::int64_t> starts;  // the first cell of each, and behind them all cells
  std::int64_t queries = 0, heads = 0, channels = 0, points = 0;

  std::int64_t levels() const { return static_cast<std::int64_t>(starts.size()) - 1; }
  std::int64_t cells() const { return starts.back(); }
  std::int64_t samples() const { return queries * heads * levels() * points; }
};

// RF-DETR's decoder, and RT-DETR's in the shape in which the stand-in driver's speed is stated.
const Shape one_level{{24, 24}, {0, 576}, 300, 16, 16, 2};
const Shape three_levels{{80, 80, 40, 40, 20, 20}, {0, 6400, 8000, 8400}, 300, 8, 32, 4};

class Attention {
public:
  explicit Attention(const Gpu& gpu, const Shape& shape = one_level)
      : sizes_(shape.sizes),
        value_(gpu.floats(shape.cells() * shape.heads * shape.channels),
               lyk::float32,
               lyk::cuda(0),
               {1, shape.cells(), shape.heads, shape.channels}),
        shapes_(gpu.upload(shape.sizes), lyk::int64, lyk::cuda(0), {shape.levels(), 2}),
        starts_(gpu.upload(shape.starts), lyk::int64, lyk::cuda(0), {shape.levels()}),
        locations_(gpu.floats(2 * shape.samples()),
                   lyk::float32,
                   lyk::cuda(0),
                   {1, shape.queries, shape.heads, shape.levels(), shape.points, 2}),
        weights_(gpu.floats(shape.samples()),
                 lyk::float32,
                 lyk::cuda(0),
                 {1, shape.queries, shape.heads, shape.levels(), shape.points}),
        output_(gpu.floats(shape.queries * shape.heads * shape.channels),
                lyk::float32,
                lyk::cuda(0),
                {1, shape.queries, shape.heads * shape.channels}) {
    call.value = value_.get();
    call.spatial_shapes = shapes_.get();
    call.level_start_index = starts_.get();
    call.sampling_locations = locations_.get();
    call.attention_weights = weights_.get();
    call.output = output_.get();
    call.host_spatial_shapes = sizes_.data();
    call.stream = gpu.stream;
  }
  Attention(const Attention&) = delete;
  Attention& operator=(const Attention&) = delete;
  Attention(Attention&&) = delete;
  Attention& operator=(Attention&&) = delete;
  ~Attention() = default;

  lyk_ms_deform_attn_call call = lyk::zeroed<lyk_ms_deform_attn_call>();

private:
  std::vector<std::int64_t> sizes_;
  lyk::Tensor value_, shapes_, starts_, locations_, weights_, output_;
};

// ---- the same launch without the library

class BareLaunch {
public:
  BareLaunch(const Gpu& gpu, const Attention& attention) : gpu_(gpu) {
    const auto* call = &attention.call;
    pointers_ = {call->value->data,
                 call->spatial_shapes->data,
                 call->level_start_index->data,
                 call->sampling_locations->data,
                 call->attention_weights->data,
                 call->output->data};
    numbers_ = {76800, 1, 576, 16, 16, 1, 300, 2};
    parameters_ = {numbers_.data(), pointers_.data(), &pointers_[1], &pointers_[2], &pointers_[3],
                   &pointers_[4],   &numbers_[1],     &numbers_[2],  &numbers_[3],  &numbers_[4],
                   &numbers_[5],    &numbers_[6],     &numbers_[7],  &pointers_[5]};
  }

  // What a first call asks of the driver.
  void load(const void* image) {
    lyk_cu_module module = nullptr;
    Gpu::must(gpu_.cu.module_load_data(&module, image, 0, nullptr, nullptr));
    const auto kernels = lyk::find_launch_abi("ms_deform_im2col")->kernels;
    for (const lyk::AbiKernel& kernel : kernels) {
      lyk_cu_function function = nullptr;
      Gpu::must(gpu_.cu.module_get_function(&function, module, std::string{kernel.symbol}.c_str()));
      if (gpu_.cu.func_load != nullptr)
        Gpu::must(gpu_.cu.func_load(function));
      if (&kernel == kernels.data())
        function_ = function;
    }
    Gpu::must(gpu_.cu.stream_synchronize(gpu_.stream));
    launch();
    Gpu::must(gpu_.cu.stream_synchronize(gpu_.stream));
  }
  void launch() {
    Gpu::must(gpu_.cu.launch_kernel(function_, 75, 1, 1, 1024, 1, 1, 0, gpu_.stream,
                                    parameters_.data(), nullptr));
  }

private:
  const Gpu& gpu_;
  lyk_cu_function function_ = nullptr;
  std::array<void*, 6> pointers_{};
  std::array<int, 8> numbers_{};
  std::array<void*, 14> parameters_{};
};

lyk::Image resolve() {
  auto device = lyk::zeroed<lyk_device>();
  device.compute_major = 9;
  lyk::Client client;
  return client.resolve("ms_deform_attn", device);
}

void must_run(const lyk_ms_deform_attn_call& call) {
  if (lyk_ms_deform_attn_forward(&call) != LYK_OK)
    fail(lyk_error_message(nullptr));
}

double seconds_of(const std::function<void()>& action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// ---- benchmarks

constexpr int launches_in_a_row = 256;

int do_nothing(void* user, const lyk_arguments* arguments) {
  *static_cast<std::uint32_t*>(user) += arguments->tensor_count;
  return LYK_OK;
}

void direct_call(benchmark::State& state) {
  std::uint32_t user = 0;
  const auto arguments = lyk::zeroed<lyk_arguments>();
  lyk_implementation_fn fn = do_nothing;
  benchmark::DoNotOptimize(fn);
  for (auto _ : state)
    benchmark::DoNotOptimize(fn(&user, &arguments));
}
BENCHMARK(direct_call);

void registry_call(benchmark::State& state) {
  static std::uint32_t user = 0;
  static const bool is_registered = [] {
    auto implementation = lyk::zeroed<lyk_implementation>();
    implementation.name = "bench";
    implementation.fn = do_nothing;
    implementation.user = &user;
    return lyk_register("bench", &implementation) == LYK_OK;
  }();
  if (!is_registered)
    fail(lyk_error_message(nullptr));
  const auto arguments = lyk::zeroed<lyk_arguments>();
  for (auto _ : state)
    benchmark::DoNotOptimize(lyk_call("bench", &arguments));
}
BENCHMARK(registry_call);

struct LaunchScene {
  Gpu gpu;
  Attention attention{gpu};
  BareLaunch bare{gpu, attention};
  lyk::Image image = resolve();

  LaunchScene() {
    bare.load(image.data());
    must_run(attention.call);
  }
  static LaunchScene& get() {
    static LaunchScene scene;
    return scene;
  }
};

// In rows of some hundred, so that the stream's queue does not grow without end. An iteration is a
// row: the counter says how many launches that is.
template <typename Launch>
void launch_in_rows(benchmark::State& state, const Launch& launch) {
  const LaunchScene& scene = LaunchScene::get();
  for (auto _ : state) {
    const double seconds = seconds_of([&] {
      for (int i = 0; i < launches_in_a_row; ++i)
        launch();
    });
    state.SetIterationTime(seconds);
    Gpu::must(scene.gpu.cu.stream_synchronize(scene.gpu.stream));
  }
  state.counters["launches"] = launches_in_a_row;
}

void bare_launch(benchmark::State& state) {
  launch_in_rows(state, [] { LaunchScene::get().bare.launch(); });
}
BENCHMARK(bare_launch)->UseManualTime();

void slot_launch(benchmark::State& state) {
  launch_in_rows(state, [] { must_run(LaunchScene::get().attention.call); });
}
BENCHMARK(slot_launch)->UseManualTime();

// ---- first calls

int print_first_call() {
  const Gpu gpu;
  const Attention attention{gpu};
  std::printf("%.9f\n", seconds_of([&] { must_run(attention.call); }));
  return 0;
}

int print_first_bare() {
  const Gpu gpu;
  const Attention attention{gpu};
  BareLaunch bare{gpu, attention};
  const lyk::Image image = resolve();
  const void* data = image.data();
  std::printf("%.9f\n", seconds_of([&] { bare.load(data); }));
  return 0;
}

int print_allocations() {
  const LaunchScene& scene = LaunchScene::get();
  if (::dl_iterate_phdr(find_library, nullptr) != 1)
    fail("the library is not where it was expected");
  for (int i = 0; i < 1000; ++i)
    must_run(scene.attention.call);
  std::printf("%llu\n", static_cast<unsigned long long>(allocations.load()));
  return 0;
}

int print_executed() {
  const Gpu gpu;
  const Attention attention{gpu, three_levels};
  must_run(attention.call);  // loads
  std::printf("%.9f\n", seconds_of([&] {
                must_run(attention.call);
                Gpu::must(gpu.cu.stream_synchronize(gpu.stream));
              }));
  return 0;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): whoever measures sees what ended the program
int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "first")
    return print_first_call();
  if (mode == "first_bare")
    return print_first_bare();
  if (mode == "allocations")
    return print_allocations();
  if (mode == "executed")
    return print_executed();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
