// The stand-in compared with a real GPU: the same device code, with the same arguments, on both.
// Label gpu. Where there is no GPU each test says so and is skipped; LYK_GPU_DRIVER=/path names
// another driver to compare with.
//
// What a GPU's own compiler may contract or approximate differs in the last places; whole numbers
// and what the forward kernel computes may not differ at all.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "client/cuda_abi.h"

namespace softcuda {
namespace {

void must(lyk_cu_result result, const char* what) {
  if (result != LYK_CU_SUCCESS)
    throw std::runtime_error(std::string{what} + " fails with " + std::to_string(result));
}

// A driver with the primary context of its first GPU, as far as the comparison needs it.
class Gpu {
public:
  explicit Gpu(void* library) : library_(library) {
    must(call<lyk_cu_result(unsigned)>("cuInit")(0), "cuInit");
    lyk_cu_device device = 0;
    must(call<lyk_cu_result(lyk_cu_device*, int)>("cuDeviceGet")(&device, 0), "cuDeviceGet");
    std::array<char, 128> name{};
    must(
        call<lyk_cu_result(char*, int, lyk_cu_device)>("cuDeviceGetName")(name.data(), 127, device),
        "cuDeviceGetName");
    name_ = name.data();
    must(call<lyk_cu_result(lyk_cu_context*, lyk_cu_device)>("cuDevicePrimaryCtxRetain")(&context_,
                                                                                         device),
         "cuDevicePrimaryCtxRetain");
    enter();
  }

  const std::string& name() const { return name_; }

  // Two drivers in one thread: each has its own notion of the current context.
  void enter() const {
    must(call<lyk_cu_result(lyk_cu_context)>("cuCtxSetCurrent")(context_), "cuCtxSetCurrent");
  }

  lyk_cu_function load(const std::string& ptx, const char* kernel) const {
    lyk_cu_module module = nullptr;
    lyk_cu_function function = nullptr;
    must(call<lyk_cu_result(lyk_cu_module*, const void*)>("cuModuleLoadData")(&module, ptx.c_str()),
         "cuModuleLoadData");
    must(call<lyk_cu_result(lyk_cu_function*, lyk_cu_module, const char*)>("cuModuleGetFunction")(
             &function, module, kernel),
         "cuModuleGetFunction");
    return function;
  }

  template <typename T>
  lyk_cu_deviceptr upload(const std::vector<T>& values) const {
    lyk_cu_deviceptr address = 0;
    const std::size_t bytes = values.size() * sizeof(T);
    must(call<lyk_cu_result(lyk_cu_deviceptr*, std::size_t)>("cuMemAlloc_v2")(&address, bytes),
         "cuMemAlloc");
    must(call<lyk_cu_result(lyk_cu_deviceptr, const void*, std::size_t)>("cuMemcpyHtoD_v2")(
             address, values.data(), bytes),
         "cuMemcpyHtoD");
    return address;
  }

  template <typename T>
  std::vector<T> download(lyk_cu_deviceptr from, std::size_t count) const {
    std::vector<T> out(count);
    must(call<lyk_cu_result(void*, lyk_cu_deviceptr, std::size_t)>("cuMemcpyDtoH_v2")(
             out.data(), from, count * sizeof(T)),
         "cuMemcpyDtoH");
    return out;
  }

  // On the legacy default stream: the copies wait for it.
  void launch(lyk_cu_function function,
              unsigned blocks,
              unsigned threads,
              void** parameters) const {
    must(call<lyk_cu_result(lyk_cu_function, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, unsigned, void*, void**, void**)>("cuLaunchKernel")(
             function, blocks, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr),
         "cuLaunchKernel");
  }

private:
  template <typename Signature>
  Signature* call(const char* name) const {
    void* symbol = ::dlsym(library_, name);
    if (symbol == nullptr)
      throw std::runtime_error(std::string{name} + " is missing");
    return reinterpret_cast<Signature*>(symbol);
  }

  void* library_;
  lyk_cu_context context_ = nullptr;
  std::string name_;
};

// The GPU first: by its bare name a loader would take the stand-in for it, once that is loaded.
std::optional<Gpu> real_gpu() {
  const char* given = std::getenv("LYK_GPU_DRIVER");
  void* library = ::dlopen(given != nullptr ? given : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return std::nullopt;
  try {
    Gpu gpu{library};
    if (given == nullptr && gpu.name().starts_with("softcuda"))
      return std::nullopt;
    return gpu;
  } catch (const std::runtime_error&) {
    return std::nullopt;  // a driver without a GPU
  }
}

Gpu stand_in() {
  void* library = ::dlopen(LYK_BINARY_DIR "/softcuda/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error(::dlerror());
  return Gpu{library};
}

std::string ptx_of(const char* name) {
  std::ifstream stream{std::string{SOFTCUDA_PTX_FILES "/"} + name};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

template <typename T>
std::vector<T> random_numbers(std::size_t count, double low, double high, unsigned seed) {
  std::mt19937_64 random{seed};
  std::uniform_real_distribution<double> distribution{low, high};
  std::vector<T> out(count);
  for (T& number : out)
    number = static_cast<T>(distribution(random));
  return out;
}

// The greatest, in units of the last place of `one`; infinite where one of two is no number.
template <typename T>
double distance(const std::vector<T>& one, const std::vector<T>& other) {
  double greatest = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (std::isnan(one[i]) && std::isnan(other[i]))
      continue;
    if (one[i] == other[i])
      continue;
    const double step = std::numeric_limits<T>::epsilon() * std::fabs(static_cast<double>(one[i]));
    const double steps = std::fabs(static_cast<double>(one[i]) - static_cast<double>(other[i])) /
                         std::max(step, static_cast<double>(std::numeric_limits<T>::denorm_min()));
    if (!(steps <= greatest))  // so that NaN comes in, and stays
      greatest = std::isnan(steps) ? std::numeric_limits<double>::infinity() : steps;
  }
  return greatest;
}

TEST(Distance, OfANumberToWhatIsNoneIsInfiniteWhateverFollows) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isinf(distance<float>({none, none, none, 1}, {1, 1, 1, 1})));
  EXPECT_TRUE(std::isinf(distance<float>({1, 1}, {none, 1})));
  EXPECT_EQ(distance<float>({none, 1}, {none, 1}), 0);
}

class Gpus : public testing::Test {
protected:
  void SetUp() override {
    real_ = real_gpu();
    if (!real_)
      GTEST_SKIP() << "no GPU: libcuda.so.1 is not there, or knows none";
    soft_ = stand_in();
    std::printf("comparing with %s\n", real_->name().c_str());
  }

  // `run` on both, in units of the last place of the GPU's results.
  template <typename T, typename Run>
  double compare(const Run& run) const {
    real_->enter();
    const std::vector<T> wanted = run(*real_);
    soft_->enter();
    return distance(wanted, run(*soft_));
  }

  std::optional<Gpu> real_;
  std::optional<Gpu> soft_;
};

template <typename T>
std::vector<T> functions_of(const Gpu& gpu, const char* kernel, const std::vector<T>& arguments) {
  auto* const function = gpu.load(ptx_of("ptx_functions.ptx"), kernel);
  lyk_cu_deviceptr in = gpu.upload(arguments);
  lyk_cu_deviceptr out = gpu.upload(std::vector<T>(16 * arguments.size()));
  int count = static_cast<int>(arguments.size());
  std::array<void*, 3> parameters{&out, &in, &count};
  gpu.launch(function, (static_cast<unsigned>(count) + 127) / 128, 128, parameters.data());
  return gpu.download<T>(out, 16 * arguments.size());
}

TEST_F(Gpus, MathematicalFunctionsDifferInTheLastPlacesOnly) {
  const auto singles = random_numbers<float>(4096, -40, 40, 1);
  const auto doubles = random_numbers<double>(4096, -40, 40, 2);
  // Two approximate instructions that are each within two units may be four apart.
  EXPECT_LE(compare<float>(
                [&](const Gpu& gpu) { return functions_of(gpu, "single_precision", singles); }),
            4);
  EXPECT_LE(compare<double>(
                [&](const Gpu& gpu) { return functions_of(gpu, "double_precision", doubles); }),
            4);
}

TEST_F(Gpus, WideDivisionsAreTheSame) {
  const auto divide = [](const Gpu& gpu) {
    auto* const function = gpu.load(ptx_of("ptx_functions.ptx"), "divide_128");
    lyk_cu_deviceptr in = gpu.upload(std::vector<std::uint64_t>{100, 77, 7, 3});
    lyk_cu_deviceptr out = gpu.upload(std::vector<std::uint64_t>(4));
    std::array<void*, 2> parameters{&out, &in};
    gpu.launch(function, 1, 1, parameters.data());
    return gpu.download<std::uint64_t>(out, 4);
  };
  real_->enter();
  const auto wanted = divide(*real_);
  soft_->enter();
  EXPECT_EQ(divide(*soft_), wanted);
}

// ---- deformable attention: one image, two levels, two heads ----

struct Deform {
  static constexpr int batch = 1, heads = 2, channels = 16, queries = 33, points = 3, levels = 2;
  static constexpr int cells = 7 * 9 + 4 * 5;
  static constexpr std::size_t outputs = std::size_t{queries} * heads * channels;
  static constexpr std::size_t samples = std::size_t{queries} * heads * levels * points;

  explicit Deform(const Gpu& gpu)
      : shapes(gpu.upload(std::vector<std::int64_t>{7, 9, 4, 5})),
        starts(gpu.upload(std::vector<std::int64_t>{0, 63})),
        value(gpu.upload(random_numbers<float>(std::size_t{cells} * heads * channels, -1, 1, 3))),
        locations(gpu.upload(random_numbers<float>(2 * samples, -0.2, 1.2, 4))),
        weights(gpu.upload(random_numbers<float>(samples, 0, 1, 5))),
        gradient(gpu.upload(random_numbers<float>(outputs, -1, 1, 6))) {}

  lyk_cu_deviceptr shapes, starts, value, locations, weights, gradient;
  std::array<int, 8> sizes{
      static_cast<int>(outputs), batch, cells, heads, channels, levels, queries, points};
};

std::vector<float> forward(const Gpu& gpu) {
  auto* const function =
      gpu.load(ptx_of("ms_deform_attn.sm_75.ptx"),
               "_Z31ms_deformable_im2col_gpu_kernelIfEviPKT_PKlS4_S2_S2_iiiiiiiPS0_");
  Deform in{gpu};
  lyk_cu_deviceptr out = gpu.upload(std::vector<float>(Deform::outputs));
  auto& n = in.sizes;
  std::array<void*, 14> parameters{n.data(),    &in.value, &in.shapes, &in.starts, &in.locations,
                                   &in.weights, &n[1],     &n[2],      &n[3],      &n[4],
                                   &n[5],       &n[6],     &n[7],      &out};
  gpu.launch(function, static_cast<unsigned>(Deform::outputs + 255) / 256, 256, parameters.data());
  return gpu.download<float>(out, Deform::outputs);
}

// The gradients of locations and weights, which no atomic addition takes part in.
std::vector<float> backward(const Gpu& gpu) {
  auto* const function =
      gpu.load(ptx_of("ms_deform_attn.sm_75.ptx"),
               "_Z61ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v1IfLj16EEviPKT_S2_"
               "PKlS4_S2_S2_iiiiiiiPS0_S5_S5_");
  Deform in{gpu};
  lyk_cu_deviceptr value =
      gpu.upload(std::vector<float>(std::size_t{Deform::cells} * Deform::heads * Deform::channels));
  lyk_cu_deviceptr locations = gpu.upload(std::vector<float>(2 * Deform::samples));
  lyk_cu_deviceptr weights = gpu.upload(std::vector<float>(Deform::samples));
  auto& n = in.sizes;
  std::array<void*, 17> parameters{n.data(),      &in.gradient, &in.value, &in.shapes, &in.starts,
                                   &in.locations, &in.weights,  &n[1],     &n[2],      &n[3],
                                   &n[4],         &n[5],        &n[6],     &n[7],      &value,
                                   &locations,    &weights};
  gpu.launch(function, static_cast<unsigned>(Deform::outputs) / Deform::channels, Deform::channels,
             parameters.data());
  std::vector<float> out = gpu.download<float>(locations, 2 * Deform::samples);
  const std::vector<float> more = gpu.download<float>(weights, Deform::samples);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

TEST_F(Gpus, TheForwardKernelComputesTheSameBits) {
  EXPECT_EQ(compare<float>(forward), 0);
}

// ptxas contracts a product and a sum here that PTX keeps apart (facts of the compiled kernel).
TEST_F(Gpus, TheBackwardKernelDiffersByContractionOnly) {
  real_->enter();
  const std::vector<float> wanted = backward(*real_);
  soft_->enter();
  const std::vector<float> found = backward(*soft_);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-5 * std::max(1.0F, std::fabs(wanted[i])));
}

}  // namespace
}  // namespace softcuda
