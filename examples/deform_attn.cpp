// Multi-scale deformable attention through the slot ms_deform_attn: forward and backward on the
// GPU, next to a plain loop in double precision, which is also what runs where the slot takes
// nothing.
//
//   deform_attn [CALLS]      how often forward and backward are called; 2 if absent
//
// Ends with 0 if all of them ran on the GPU, with right numbers; with 3 if some were not eligible
// and nothing else went wrong; else with 1.
//
// Build it with: c++ -std=c++17 deform_attn.cpp $(pkg-config --cflags --libs libreyolo-kernels)
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include <lyk.hpp>

#include "cuda_driver.h"
#include "greatest_error.hpp"

namespace {

constexpr std::int64_t batch = 2, queries = 30, heads = 8, channels = 32, points = 4;
constexpr std::array<std::int64_t, 6> level_sizes{20, 20, 10, 10, 5, 5};  // height, width of each
constexpr std::int64_t levels = level_sizes.size() / 2;
constexpr std::int64_t cells = 20 * 20 + 10 * 10 + 5 * 5;

constexpr int exit_not_eligible = 3;  // as libreyolo-kernels ends with for that

struct Inputs {
  std::vector<float> value, locations, weights, grad_output;
};

struct Results {
  std::vector<double> output, grad_value, grad_locations, grad_weights;
};

std::vector<float> random_floats(std::size_t count, float from, float to, unsigned seed) {
  std::mt19937 generator{seed};
  std::uniform_real_distribution<float> distribution{from, to};
  std::vector<float> out(count);
  std::generate(out.begin(), out.end(), [&] { return distribution(generator); });
  return out;
}

Inputs make_inputs() {
  const std::size_t samples = batch * queries * heads * levels * points;
  return {random_floats(batch * cells * heads * channels, -1, 1, 1),
          random_floats(2 * samples, -0.1F, 1.1F, 2),  // some outside
          random_floats(samples, 0, 1, 3),
          random_floats(batch * queries * heads * channels, -1, 1, 4)};
}

// ---- the program's own way

// One sampled point of one (image, query, head): adds to output and to the gradients.
void add_sample(
    const Inputs& in, std::size_t sample, std::int64_t row, std::size_t level, Results& out) {
  std::int64_t first_cell = 0;
  for (std::size_t l = 0; l < level; ++l)
    first_cell += level_sizes[2 * l] * level_sizes[2 * l + 1];
  const auto height = static_cast<double>(level_sizes[2 * level]);
  const auto width = static_cast<double>(level_sizes[2 * level + 1]);
  const double y = in.locations[2 * sample + 1] * height - 0.5;
  const double x = in.locations[2 * sample] * width - 0.5;
  const std::int64_t image = row / (queries * heads);
  const std::int64_t head = row % heads;
  for (const double row_y : {std::floor(y), std::floor(y) + 1}) {
    for (const double row_x : {std::floor(x), std::floor(x) + 1}) {
      if (row_y < 0 || row_x < 0 || row_y >= height || row_x >= width)
        continue;
      const double weight_y = 1 - std::abs(y - row_y);
      const double weight_x = 1 - std::abs(x - row_x);
      const double slope_y = row_y > y ? weight_x : -weight_x;
      const double slope_x = row_x > x ? weight_y : -weight_y;
      const auto cell = first_cell + static_cast<std::int64_t>(row_y * width + row_x);
      const std::size_t first = ((image * cells + cell) * heads + head) * channels;
      for (std::size_t c = 0; c < channels; ++c) {
        const double value = in.value[first + c];
        const double weight = in.weights[sample];
        const double grad = in.grad_output[row * channels + c];
        out.output[row * channels + c] += weight * weight_y * weight_x * value;
        out.grad_value[first + c] += weight * weight_y * weight_x * grad;
        out.grad_weights[sample] += weight_y * weight_x * value * grad;
        out.grad_locations[2 * sample] += width * slope_x * value * grad * weight;
        out.grad_locations[2 * sample + 1] += height * slope_y * value * grad * weight;
      }
    }
  }
}

Results own_way(const Inputs& in) {
  Results out{std::vector<double>(in.grad_output.size()), std::vector<double>(in.value.size()),
              std::vector<double>(in.locations.size()), std::vector<double>(in.weights.size())};
  std::size_t sample = 0;
  for (std::int64_t row = 0; row < batch * queries * heads; ++row)
    for (std::size_t level = 0; level < levels; ++level)
      for (int point = 0; point < points; ++point)
        add_sample(in, sample++, row, level, out);
  return out;
}

// ---- the GPU

// A GPU as a program has one: a primary context, memory, a stream.
class Gpu {
public:
  Gpu() {
    if (cuda_find(&driver_) == 0)
      throw std::runtime_error("there is no CUDA driver (libcuda.so.1)");
    int device = 0;
    CUcontext context = nullptr;
    must(driver_.init(0), "start the driver");
    must(driver_.device_get(&device, 0), "find a GPU");
    must(driver_.primary_retain(&context, device), "make a context");
    must(driver_.set_current(context), "take the context");
    must(driver_.stream_create(&stream_, 0), "make a stream");
    std::array<char, 128> name{};
    must(driver_.device_name(name.data(), static_cast<int>(name.size()) - 1, device),
         "ask its name");
    name_ = name.data();
  }

  const std::string& name() const { return name_; }
  CUstream stream() const { return stream_; }

  void* allocate(std::size_t bytes) const {
    CUdeviceptr address = 0;
    must(driver_.alloc(&address, bytes), "allocate memory");
    // NOLINTNEXTLINE(performance-no-int-to-ptr): what a tensor calls its data
    return reinterpret_cast<void*>(address);
  }
  template <typename T>
  void* upload(const T* values, std::size_t count) const {
    void* address = allocate(count * sizeof(T));
    must(driver_.to_device(reinterpret_cast<CUdeviceptr>(address), values, count * sizeof(T)),
         "copy to the GPU");
    return address;
  }
  std::vector<float> download(const void* address, std::size_t count) const {
    std::vector<float> out(count);
    must(driver_.stream_wait(stream_), "wait for the GPU");
    must(driver_.to_host(out.data(), reinterpret_cast<CUdeviceptr>(address), count * sizeof(float)),
         "copy from the GPU");
    return out;
  }

private:
  void must(int result, const char* what) const { cuda_must(&driver_, result, what); }

  CudaDriver driver_{};
  CUstream stream_ = nullptr;
  std::string name_;
};

// The tensors of a call, in the memory of a GPU.
struct Tensors {
  lyk::Tensor value, shapes, starts, locations, weights;
  lyk::Tensor output, grad_output, grad_value, grad_locations, grad_weights;
};

Tensors make_tensors(const Gpu& gpu, const Inputs& in) {
  const lyk_tensor_device device = lyk::cuda(0);
  const std::array<std::int64_t, levels> starts{0, 400, 500};
  const auto floats = [&](const std::vector<float>& values) {
    return gpu.upload(values.data(), values.size());
  };
  const auto room = [&](std::size_t count) { return gpu.allocate(count * sizeof(float)); };
  using lyk::float32;
  return {{floats(in.value), float32, device, {batch, cells, heads, channels}},
          {gpu.upload(level_sizes.data(), level_sizes.size()), lyk::int64, device, {levels, 2}},
          {gpu.upload(starts.data(), starts.size()), lyk::int64, device, {levels}},
          {floats(in.locations), float32, device, {batch, queries, heads, levels, points, 2}},
          {floats(in.weights), float32, device, {batch, queries, heads, levels, points}},
          {room(in.grad_output.size()), float32, device, {batch, queries, heads * channels}},
          {floats(in.grad_output), float32, device, {batch, queries, heads * channels}},
          {room(in.value.size()), float32, device, {batch, cells, heads, channels}},
          {room(in.locations.size()), float32, device, {batch, queries, heads, levels, points, 2}},
          {room(in.weights.size()), float32, device, {batch, queries, heads, levels, points}}};
}

lyk_ms_deform_attn_call make_call(Tensors& tensors, const Gpu& gpu) {
  auto call = lyk::zeroed<lyk_ms_deform_attn_call>();
  call.flags = LYK_NEEDS_GRADIENT;
  call.value = tensors.value.get();
  call.spatial_shapes = tensors.shapes.get();
  call.level_start_index = tensors.starts.get();
  call.sampling_locations = tensors.locations.get();
  call.attention_weights = tensors.weights.get();
  call.host_spatial_shapes = level_sizes.data();
  call.output = tensors.output.get();
  call.grad_output = tensors.grad_output.get();
  call.grad_value = tensors.grad_value.get();
  call.grad_sampling_locations = tensors.grad_locations.get();
  call.grad_attention_weights = tensors.grad_weights.get();
  call.stream = gpu.stream();
  return call;
}

// ---- the comparison

bool compare(const char* what,
             const std::vector<float>& actual,
             const std::vector<double>& expected,
             double allowed) {
  const double error = greatest_error(actual, expected);
  const bool good = error <= allowed;
  std::printf("  %-28s greatest error %.1e of %.1e allowed: %s\n", what, error, allowed,
              good ? "good" : "WRONG");
  return good;
}

bool compare_all(const Gpu& gpu, Tensors& tensors, const Results& expected) {
  const auto check = [&](const char* what, lyk::Tensor& tensor, const std::vector<double>& wanted,
                         double allowed) {
    return compare(what, gpu.download(tensor.get()->data, wanted.size()), wanted, allowed);
  };
  bool good = check("output", tensors.output, expected.output, 1e-5);
  good &= check("gradient of value", tensors.grad_value, expected.grad_value, 1e-4);
  good &= check("gradient of locations", tensors.grad_locations, expected.grad_locations, 1e-4);
  good &= check("gradient of weights", tensors.grad_weights, expected.grad_weights, 1e-4);
  return good;
}

int run(long calls) {
  const Inputs inputs = make_inputs();
  const Results expected = own_way(inputs);
  const Gpu gpu;
  std::printf("GPU:   %s\n", gpu.name().c_str());
  Tensors tensors = make_tensors(gpu, inputs);
  const lyk_ms_deform_attn_call call = make_call(tensors, gpu);
  bool good = true;
  bool ran = true;
  for (long number = 1; number <= calls; ++number) {
    const bool taken = lyk::ms_deform_attn_forward(call) && lyk::ms_deform_attn_backward(call);
    if (!taken) {
      // Here a program computes in its own way; this one has done so already.
      std::printf("call %ld: not eligible, so the program's own loop serves it: %s\n", number,
                  lyk_error_message(nullptr));
      ran = false;
      continue;
    }
    std::printf("call %ld: forward and backward ran on the GPU\n", number);
    good &= compare_all(gpu, tensors, expected);
  }
  for (const lyk::State& state : lyk::active("ms_deform_attn"))
    std::printf("%-6s %s: %s\n", state.name.c_str(), state.is_active ? "active" : "off",
                state.reason.c_str());
  if (!good)
    return EXIT_FAILURE;
  return ran ? EXIT_SUCCESS : exit_not_eligible;
}

}  // namespace

int main(int argc, char** argv) {
  const long calls = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 2;
  if (argc > 2 || calls < 1) {
    (void)std::fprintf(stderr, "usage: deform_attn [CALLS]\n");
    return 2;
  }
  try {
    return run(calls);
  } catch (const std::exception& problem) {
    (void)std::fprintf(stderr, "deform_attn: %s\n", problem.what());
    return EXIT_FAILURE;
  }
}
