// What nvcc makes of CUDA sources: the kernels that stand for the Hub's, against plain loops in
// double precision, and the mathematical functions, against the host's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "proto/text.hpp"
#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

std::string file(const std::string& name) {
  std::ifstream stream{lyk::str(SOFTCUDA_PTX_FILES, "/", name)};
  EXPECT_TRUE(stream.good()) << name;
  return {std::istreambuf_iterator<char>{stream}, {}};
}

// ---- deformable attention ----

struct Level {
  std::int64_t height, width;
};

struct Sizes {
  int batch, heads, channels, queries, points;
  std::vector<Level> levels;

  [[nodiscard]] int cells() const {
    std::int64_t sum = 0;
    for (const Level& level : levels)
      sum += level.height * level.width;
    return static_cast<int>(sum);
  }
  [[nodiscard]] int level_count() const { return static_cast<int>(levels.size()); }
  [[nodiscard]] int outputs() const { return batch * queries * heads * channels; }
  [[nodiscard]] int samples() const { return batch * queries * heads * level_count() * points; }
};

template <typename T>
struct Inputs {
  std::vector<T> value, locations, weights, gradient;
};

template <typename T>
std::vector<T> random_numbers(std::mt19937& random, int count, double low, double high) {
  std::vector<T> out(static_cast<std::size_t>(count));
  for (T& number : out)
    number = static_cast<T>(low + (high - low) * (static_cast<double>(random()) / 4294967296.0));
  return out;
}

template <typename T>
Inputs<T> random_inputs(const Sizes& sizes) {
  std::mt19937 random{20};
  Inputs<T> in;
  in.value =
      random_numbers<T>(random, sizes.batch * sizes.cells() * sizes.heads * sizes.channels, -1, 1);
  // Some beyond the edges.
  in.locations = random_numbers<T>(random, 2 * sizes.samples(), -0.2, 1.2);
  in.weights = random_numbers<T>(random, sizes.samples(), 0, 1);
  in.gradient = random_numbers<T>(random, sizes.outputs(), -1, 1);
  return in;
}

// Calls `tap(cell, weight, weight's slopes along y and x)` for the four cells around a position.
template <typename Tap>
void for_each_tap(const Level& level, double y, double x, Tap tap) {
  const double top = std::floor(y);
  const double left = std::floor(x);
  for (int corner = 0; corner < 4; ++corner) {
    const int below = corner / 2;
    const double row = top + below;
    const double column = left + corner % 2;
    if (row < 0 || column < 0 || row >= static_cast<double>(level.height) ||
        column >= static_cast<double>(level.width))
      continue;
    const double along_y = corner / 2 == 0 ? top + 1 - y : y - top;
    const double along_x = corner % 2 == 0 ? left + 1 - x : x - left;
    tap(static_cast<std::int64_t>(row) * level.width + static_cast<std::int64_t>(column),
        along_y * along_x, (corner / 2 == 0 ? -1 : 1) * along_x,
        (corner % 2 == 0 ? -1 : 1) * along_y);
  }
}

struct Results {
  std::vector<double> output, value, locations, weights;
};

// The definition, forward and backward, as loops.
template <typename T>
Results reference(const Sizes& sizes, const Inputs<T>& in) {
  Results out{std::vector<double>(static_cast<std::size_t>(sizes.outputs())),
              std::vector<double>(in.value.size()), std::vector<double>(in.locations.size()),
              std::vector<double>(in.weights.size())};
  for (std::size_t index = 0; index < out.output.size(); ++index) {
    const auto channels = static_cast<std::size_t>(sizes.channels);
    const auto heads = static_cast<std::size_t>(sizes.heads);
    const std::size_t head_channel = index % (heads * channels);
    const std::size_t batch = index / (heads * channels * static_cast<std::size_t>(sizes.queries));
    std::size_t sample =
        index / channels * sizes.levels.size() * static_cast<std::size_t>(sizes.points);
    std::size_t start = batch * static_cast<std::size_t>(sizes.cells());
    for (const Level& level : sizes.levels) {
      for (int point = 0; point < sizes.points; ++point, ++sample) {
        const auto height = static_cast<double>(level.height);
        const auto width = static_cast<double>(level.width);
        const double x = static_cast<double>(in.locations[2 * sample]) * width - 0.5;
        const double y = static_cast<double>(in.locations[2 * sample + 1]) * height - 0.5;
        const auto weight = static_cast<double>(in.weights[sample]);
        const auto gradient = static_cast<double>(in.gradient[index]);
        for_each_tap(level, y, x, [&](std::int64_t cell, double share, double by_y, double by_x) {
          const std::size_t at =
              (start + static_cast<std::size_t>(cell)) * heads * channels + head_channel;
          const auto value = static_cast<double>(in.value[at]);
          out.output[index] += weight * share * value;
          out.value[at] += gradient * weight * share;
          out.weights[sample] += gradient * share * value;
          out.locations[2 * sample] += gradient * weight * by_x * value * width;
          out.locations[2 * sample + 1] += gradient * weight * by_y * value * height;
        });
      }
      start += static_cast<std::size_t>(level.height * level.width);
    }
  }
  return out;
}

template <typename T>
void expect_near(const std::vector<T>& found, const std::vector<double>& wanted, double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = std::fabs(static_cast<double>(found[i]) - wanted[i]);
    worst = std::isfinite(error) ? std::max(worst, error / std::max(1.0, std::fabs(wanted[i]))) : 1;
  }
  EXPECT_LE(worst, tolerance);
}

std::vector<std::int64_t> start_cells(const std::vector<Level>& levels) {
  std::vector<std::int64_t> starts;
  std::int64_t start = 0;
  for (const Level& level : levels) {
    starts.push_back(start);
    start += level.height * level.width;
  }
  return starts;
}

// The tensors of one problem in the memory of a device.
template <typename T>
struct Problem {
  Problem(const std::string& file_name, const Sizes& own)
      : sizes(own),
        in(random_inputs<T>(own)),
        device(file(file_name)),
        shapes(device.put(sizes.levels)),
        starts(device.put(start_cells(sizes.levels))),
        value(device.put(in.value)),
        locations(device.put(in.locations)),
        weights(device.put(in.weights)) {}

  Sizes sizes;
  Inputs<T> in;
  Device device;
  Address shapes, starts, value, locations, weights;
};

constexpr std::uint32_t threads_max = 1024;

Launch launch_of(int count, std::uint32_t threads) {
  Launch launch;
  launch.block.x = threads;
  launch.grid.x = (static_cast<std::uint32_t>(count) + threads - 1) / threads;
  launch.checks.uninitialised = true;
  launch.seed = 11;
  return launch;
}

template <typename T>
constexpr double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-13;
template <typename T>
constexpr char letter = sizeof(T) == 4 ? 'f' : 'd';

template <typename T>
void expect_forward(const std::string& file_name, const Sizes& sizes) {
  Problem<T> problem{file_name, sizes};
  const Address out =
      problem.device.template allocate<T>(static_cast<std::size_t>(sizes.outputs()));
  problem.device.run_well(
      lyk::str("_Z31ms_deformable_im2col_gpu_kernelI", letter<T>, "EviPKT_PKlS4_S2_S2_iiiiiiiPS0_"),
      launch_of(sizes.outputs(), threads_max),
      Arguments{sizes.outputs(), problem.value, problem.shapes, problem.starts, problem.locations,
                problem.weights, sizes.batch, sizes.cells(), sizes.heads, sizes.channels,
                sizes.level_count(), sizes.queries, sizes.points, out});
  expect_near(problem.device.template get<T>(out, static_cast<std::size_t>(sizes.outputs())),
              reference(sizes, problem.in).output, tolerance<T>);
}

// `kernel` up to its template arguments' end, without the type.
struct Backward {
  std::string before_type, after_type;
  std::uint32_t dynamic_shared_values;  // of each thread
};

template <typename T>
void expect_backward(const Sizes& sizes, const Backward& kernel) {
  Problem<T> problem{"ms_deform_attn.sm_75.ptx", sizes};
  Device& device = problem.device;
  const Address gradient = device.put(problem.in.gradient);
  const Address value = device.put(std::vector<T>(problem.in.value.size()));
  const Address locations = device.put(std::vector<T>(problem.in.locations.size()));
  const Address weights = device.put(std::vector<T>(problem.in.weights.size()));
  const auto threads = std::min(static_cast<std::uint32_t>(sizes.channels), threads_max);
  Launch launch = launch_of(sizes.outputs(), threads);
  launch.dynamic_shared_bytes =
      kernel.dynamic_shared_values * static_cast<std::uint32_t>(sizeof(T)) * threads;
  launch.checks.race = true;
  device.run_well(lyk::str(kernel.before_type, letter<T>, kernel.after_type,
                           "EviPKT_S2_PKlS4_S2_S2_iiiiiiiPS0_S5_S5_"),
                  launch,
                  Arguments{sizes.outputs(), gradient, problem.value, problem.shapes,
                            problem.starts, problem.locations, problem.weights, sizes.batch,
                            sizes.cells(), sizes.heads, sizes.channels, sizes.level_count(),
                            sizes.queries, sizes.points, value, locations, weights});
  const Results wanted = reference(sizes, problem.in);
  expect_near(device.get<T>(value, problem.in.value.size()), wanted.value, 10 * tolerance<T>);
  expect_near(device.get<T>(locations, problem.in.locations.size()), wanted.locations,
              10 * tolerance<T>);
  expect_near(device.get<T>(weights, problem.in.weights.size()), wanted.weights, 10 * tolerance<T>);
}

const Sizes small{
    .batch = 2, .heads = 2, .channels = 5, .queries = 7, .points = 3, .levels = {{6, 4}, {3, 2}}};

Sizes with_channels(int channels) {
  return {.batch = 1,
          .heads = 1,
          .channels = channels,
          .queries = 2,
          .points = 2,
          .levels = {{4, 3}, {2, 2}}};
}

TEST(PtxCompiled, TheForwardKernelEqualsThePlainLoop) {
  for (const std::string file_name : {"ms_deform_attn.sm_75.ptx", "ms_deform_attn.sm_90.ptx"}) {
    expect_forward<float>(file_name, small);
    expect_forward<double>(file_name, small);
  }
}

TEST(PtxCompiled, TheBackwardKernelsEqualThePlainLoop) {
  const Backward serial{"_Z61ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v1I",
                        "Lj16E", 0};
  const Backward tree{"_Z61ms_deformable_col2im_gpu_kernel_shm_blocksize_aware_reduce_v2I", "Lj64E",
                      0};
  const Backward dynamic_tree{"_Z45ms_deformable_col2im_gpu_kernel_shm_reduce_v2I", "", 3};
  const Backward global{"_Z34ms_deformable_col2im_gpu_kernel_gmI", "", 0};
  expect_backward<float>(with_channels(16), serial);
  expect_backward<float>(with_channels(64), tree);
  expect_backward<double>(with_channels(64), tree);
  expect_backward<float>(with_channels(71), dynamic_tree);
  expect_backward<double>(with_channels(1025), global);
}

// ---- mathematical functions ----

template <typename T>
std::vector<T> host_results(T x) {
  const T magnitude = std::fabs(x);
  return {std::exp(x),
          std::log(magnitude),
          std::sin(x),
          std::cos(x),
          std::pow(magnitude, static_cast<T>(1.3)),
          std::tanh(x),
          std::erf(x),
          1 / std::sqrt(magnitude),
          std::cbrt(x),
          std::atan2(x, T{2}),
          std::fmod(x, static_cast<T>(0.3)),
          std::expm1(x),
          std::log1p(magnitude),
          std::hypot(x, T{2}),
          x / T{3},
          std::round(x)};
}

// Both sides are within a few units in the last place of the true value.
template <typename T>
void expect_functions(const std::string& kernel) {
  std::vector<T> arguments{T(0.5), T(-1.75), T(3.0), T(-20.0), T(1e-5), T(40.5), T(123456.75)};
  Device device{file("ptx_functions.ptx")};
  const Address in = device.put(arguments);
  const Address out = device.allocate<T>(16 * arguments.size());
  Launch launch;
  launch.block.x = 32;
  launch.checks = {.race = true, .uninitialised = true};
  device.run_well(kernel, launch, Arguments{out, in, static_cast<int>(arguments.size())});
  const std::vector<T> found = device.get<T>(out, 16 * arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::vector<T> wanted = host_results(arguments[i]);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const T own = found[16 * i + k];
      if (std::isinf(wanted[k]))
        EXPECT_EQ(own, wanted[k]) << kernel << " function " << k << " of " << arguments[i];
      else
        EXPECT_NEAR(own, wanted[k], 16 * std::numeric_limits<T>::epsilon() * std::fabs(wanted[k]))
            << kernel << " function " << k << " of " << arguments[i];
    }
  }
}

TEST(PtxCompiled, MathematicalFunctionsEqualTheHosts) {
  expect_functions<float>("single_precision");
  expect_functions<double>("double_precision");
}

// ---- wide integers ----

__extension__ using Wide = unsigned __int128;

Wide wide(std::uint64_t high, std::uint64_t low) {
  return Wide{high} << 64 | low;
}

void expect_division(Device& device, Wide a, Wide b) {
  const auto halves = [](Wide x, Wide y) {
    return std::vector{static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(x >> 64),
                       static_cast<std::uint64_t>(y), static_cast<std::uint64_t>(y >> 64)};
  };
  const Address in = device.put(halves(a, b));
  const Address out = device.allocate<std::uint64_t>(4);
  device.run_well("divide_128", {}, Arguments{out, in});
  EXPECT_EQ(device.get<std::uint64_t>(out, 4), halves(a / b, a % b));
}

std::vector<std::uint32_t> narrowed(const std::string& file_name, std::uint32_t low) {
  constexpr std::uint32_t patterns = 1 << 16;
  Device device{file(file_name)};
  const Address out = device.allocate<std::uint32_t>(8 * patterns);
  Launch launch;
  launch.grid.x = patterns / 256;
  launch.block.x = 256;
  device.run_well("narrow", launch, Arguments{out, low});
  return device.get<std::uint32_t>(out, 8 * patterns);
}

std::vector<std::uint32_t> widened(const std::string& file_name) {
  constexpr std::uint32_t patterns = 256;
  Device device{file(file_name)};
  const Address out = device.allocate<std::uint32_t>(6 * patterns);
  Launch launch;
  launch.block.x = patterns;
  device.run_well("widen", launch, Arguments{out});
  return device.get<std::uint32_t>(out, 6 * patterns);
}

// The instructions of sm_100a against the toolkit's own code for sm_75, which has none.
TEST(PtxCompiled, NarrowFloatsAreThoseOfTheToolkit) {
  for (const std::uint32_t low : {0U, 0xffffU})
    EXPECT_EQ(narrowed("ptx_quantise.sm_75.ptx", low), narrowed("ptx_quantise.sm_100a.ptx", low));
  EXPECT_EQ(widened("ptx_quantise.sm_75.ptx"), widened("ptx_quantise.sm_100a.ptx"));
}

TEST(PtxCompiled, DivisionOfWideIntegersEqualsTheHosts) {
  constexpr std::uint64_t all = ~std::uint64_t{0};
  Device device{file("ptx_functions.ptx")};
  expect_division(device, 100, 7);
  expect_division(device, wide(all, all), 3);
  expect_division(device, wide(all, all), wide(1, all));
  expect_division(device, wide(0x123456789abcdef0, 0xfedcba9876543210), wide(0, 0x1000000001));
  expect_division(device, wide(1, 0), wide(1, 0));
  expect_division(device, 7, wide(1, 0));
}

}  // namespace
}  // namespace softcuda::ptx::testing
