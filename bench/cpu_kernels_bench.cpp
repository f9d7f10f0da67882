// Times the kernels of kernels/cpu, one case per line of standard input: prints the seconds of one
// call, by the clock on the wall and in processor time, as a mean of some 50 ms.
// bench/cpu_kernels.py asks it and bench/torch_kernels.py, which knows the same cases, in turns.
//   --write FOLDER   instead writes the inputs of the cases that both know, and what comes of them,
//                    for the other one to read: plain numbers, a file for each tensor
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/scenes.hpp"
#include "kernels/cpu/fake_quant_fp4.hpp"
#include "kernels/cpu/fake_quant_fp8.hpp"
#include "kernels/cpu/fake_quant_int8_affine.hpp"
#include "kernels/cpu/fake_quant_int8_per_channel.hpp"
#include "kernels/cpu/fake_quant_int_grouped.hpp"
#include "kernels/cpu/granted_threads.hpp"
#include "kernels/cpu/ms_deform_attn.hpp"
#include "kernels/cpu/tasks.hpp"
#include "kernels/cpu/unpack.hpp"

namespace {

using namespace lyk;
using Floats = std::vector<float>;

struct Case {
  std::function<void()> call;
  std::vector<const Floats*> results;
};
using Cases = std::map<std::string, Case>;

// ---- the quantization slots

constexpr std::size_t side = 1024;
// 1 Mi elements.
constexpr std::size_t all_rows = side;
// As few as stay in a thread's second-level cache, in and out, but so many that the time is not
// that of the call.
constexpr std::size_t cached_rows = 32;

Floats normal_floats(std::size_t count, float deviation = 1) {
  std::mt19937 generator{1};  // NOLINT(cert-msc32-c,cert-msc51-cpp): replayed
  std::normal_distribution<float> distribution{0, deviation};
  Floats made(count);
  for (float& value : made)
    value = distribution(generator);
  return made;
}

Floats uniform_floats(std::size_t count) {
  std::mt19937 generator{2};  // NOLINT(cert-msc32-c,cert-msc51-cpp): replayed
  std::uniform_real_distribution<float> distribution{0, 1};
  Floats made(count);
  for (float& value : made)
    value = distribution(generator);
  return made;
}

std::vector<std::uint8_t> bytes(std::size_t count) {
  std::mt19937 generator{3};  // NOLINT(cert-msc32-c,cert-msc51-cpp): replayed
  std::vector<std::uint8_t> made(count);
  for (std::uint8_t& value : made)
    value = static_cast<std::uint8_t>(generator());
  return made;
}

struct Tensors {
  std::size_t rows;
  std::size_t elements = rows * side;
  Floats x = normal_floats(elements);
  Floats output = Floats(elements);
  Floats row_scales = Floats(rows, 0.01F);
  Floats group_scales = Floats(elements / 64, 0.1F);
  Floats one_scale = Floats(1, 0.01F);
  std::vector<std::uint8_t> payload = bytes(elements / 2);
  // Not above 0x70: no NaN, which no packing makes.
  std::vector<std::uint8_t> block_scales = std::vector<std::uint8_t>(elements / 16, 0x38);
};

// Group sizes as LibreYOLO's recipes have them.
struct Recipe {
  unsigned bits;
  std::size_t group_size;
};
constexpr std::array recipes{Recipe{4, 128}, Recipe{2, 64}};

void add_quantization(Cases& cases, Tensors& t, const cpu::Execution& on) {
  const slots::ChannelAxis rows{.channels = t.rows, .inner = side};
  const slots::ChannelAxis whole{.inner = t.elements};
  const auto add = [&](const std::string& name, std::function<void()> call) {
    cases[name] = {std::move(call), {&t.output}};
  };
  add("fake_quant_int8_affine",
      [&t, on] { fake_quant_int8_affine({.x = t.x, .lo = -2.5F, .hi = 3.25F}, t.output, on); });
  add("fake_quant_int8_per_channel",
      [&t, on, rows] { fake_quant_int8_per_channel({.weight = t.x, .axis = rows}, t.output, on); });
  add("fake_quant_fp8 per tensor", [&t, on, whole] {
    fake_quant_fp8({.x = t.x, .axis = whole, .scale = t.one_scale}, t.output, on);
  });
  add("fake_quant_fp8 per channel", [&t, on, rows] {
    fake_quant_fp8({.x = t.x, .axis = rows, .scale = t.row_scales}, t.output, on);
  });
  for (const Recipe& recipe : recipes)
    add("fake_quant_int_grouped " + std::to_string(recipe.bits) + " bits", [&t, on, recipe] {
      fake_quant_int_grouped({.weight = t.x,
                              .rows = t.rows,
                              .columns = side,
                              .bits = recipe.bits,
                              .group_size = recipe.group_size},
                             t.output, on);
    });
  add("fake_quant_nvfp4_weight", [&t, on] {
    fake_quant_nvfp4_weight({.weight = t.x, .rows = t.rows, .columns = side, .tensor_amax = 4},
                            t.output, on);
  });
  add("fake_quant_nvfp4_dynamic", [&t, on] {
    fake_quant_nvfp4_dynamic({.x = t.x, .rows = t.rows, .columns = side}, t.output, on);
  });
  add("fake_quant_mxfp4",
      [&t, on] { fake_quant_mxfp4({.x = t.x, .rows = t.rows, .columns = side}, t.output, on); });
  for (const Recipe& recipe : recipes)
    add("unpack_int_grouped " + std::to_string(recipe.bits) + " bits", [&t, on, recipe] {
      const std::size_t row_bytes = side * recipe.bits / 8;
      const std::size_t groups = side / recipe.group_size;
      unpack_int_grouped({.payload = std::span{t.payload}.first(t.rows * row_bytes),
                          .rows = t.rows,
                          .row_bytes = row_bytes,
                          .columns = side,
                          .bits = recipe.bits,
                          .group_size = recipe.group_size,
                          .scale = {.data = t.group_scales.data(),
                                    .row_stride = static_cast<std::ptrdiff_t>(groups),
                                    .group_stride = 1}},
                         t.output, on);
    });
  add("unpack_nvfp4", [&t, on] {
    unpack_nvfp4({.payload = t.payload,
                  .rows = t.rows,
                  .blocks = side / 16,
                  .columns = side,
                  .block_scale_e4m3 = t.block_scales,
                  .tensor_amax = 4},
                 t.output, on);
  });
}

// The same on tensors that stay in the caches of the threads, each of which has its own: again and
// again, until as many elements are done.
class Cached {
public:
  explicit Cached(cpu::Workers& workers)
      : workers_(workers), tensors_(workers.threads(), Tensors{.rows = cached_rows}) {
    for (Tensors& tensors : tensors_)
      add_quantization(of_threads_.emplace_back(), tensors, {.workers = alone_});
  }

  // Which live as long as this.
  void add_to(Cases& cases) const {
    for (const auto& [name, first] : of_threads_.front())
      cases[name + ", in the cache"].call = [this, name = name] {
        workers_.run(all_rows / cached_rows,
                     [&](std::size_t, std::size_t worker) { of_threads_[worker].at(name).call(); });
      };
  }

private:
  cpu::Workers& workers_;
  cpu::Workers alone_{1};
  std::vector<Tensors> tensors_;
  std::vector<Cases> of_threads_;
};

// What a kernel can do at best that reads and writes so many bytes per element: one copy, on as
// many threads.
void add_copies(Cases& cases, Tensors& t, const cpu::Execution& on) {
  struct Copy {
    const char* name;
    std::size_t floats;
  };
  for (const Copy& copy :
       {Copy{"copy 8 bytes", t.elements}, Copy{"copy 4.5 bytes", t.elements * 9 / 16},
        Copy{"copy 4.25 bytes", t.elements * 17 / 32}})
    cases[copy.name].call = [&t, on, floats = copy.floats] {
      cpu::for_each_range({.count = floats}, on.workers, [&](std::size_t first, std::size_t last) {
        std::memcpy(t.output.data() + first, t.x.data() + first, (last - first) * sizeof(float));
      });
    };
}

// ---- ms_deform_attn

struct Attention {
  slots::MsDeformAttnSizes sizes;
  std::vector<std::int64_t> shapes;
  Floats value, locations, weights, output, grad_output, grad_value, grad_locations, grad_weights;

  explicit Attention(const bench::Scene& scene)
      : sizes{.batch = 1,
              .heads = scene.heads,
              .channels = scene.channels,
              .queries = scene.queries,
              .levels = scene.sides.size(),
              .points = scene.points} {
    for (const std::int64_t length : scene.sides) {
      shapes.insert(shapes.end(), {length, length});
      sizes.cells += static_cast<std::size_t>(length * length);
    }
    const std::size_t outputs = sizes.batch * sizes.queries * sizes.heads * sizes.channels;
    value = normal_floats(sizes.batch * sizes.cells * sizes.heads * sizes.channels);
    locations = uniform_floats(2 * sizes.samples());
    weights = uniform_floats(sizes.samples());
    output.resize(outputs);
    grad_output = normal_floats(outputs);
    grad_value.resize(value.size());
    grad_locations.resize(locations.size());
    grad_weights.resize(weights.size());
  }
  slots::MsDeformAttn<float> call() const {
    return {.sizes = sizes,
            .value = value.data(),
            .value_strides = slots::dense_value_strides(sizes),
            .spatial_shapes = shapes,
            .locations = locations,
            .weights = weights};
  }
  void forward(const cpu::Execution& on) { ms_deform_attn(call(), output, on); }
  void backward(const cpu::Execution& on) {
    ms_deform_attn_backward(call(), grad_output,
                            {.value = grad_value.data(),
                             .value_strides = slots::dense_value_strides(sizes),
                             .locations = grad_locations,
                             .weights = grad_weights},
                            on);
  }
};

void add_attention(Cases& cases,
                   std::map<std::string, Attention>& scenes,
                   const cpu::Execution& on) {
  for (auto& [name, scene] : scenes) {
    cases["ms_deform_attn forward, " + name] = {[&scene = scene, on] { scene.forward(on); },
                                                {&scene.output}};
    cases["ms_deform_attn forward and backward, " + name] = {
        [&scene = scene, on] {
          scene.forward(on);
          scene.backward(on);
        },
        {&scene.output, &scene.grad_value, &scene.grad_locations, &scene.grad_weights}};
  }
}

// ---- what the other side reads

class Folder {
public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  template <typename Number>
  void write(const std::string& name, const std::vector<Number>& numbers) const {
    std::ofstream file;
    file.exceptions(std::ios::badbit | std::ios::failbit);  // which end the program
    file.open(path_ / name, std::ios::binary);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes of plain numbers
    file.write(reinterpret_cast<const char*>(numbers.data()),
               static_cast<std::streamsize>(numbers.size() * sizeof(Number)));
    file.close();
  }

private:
  std::filesystem::path path_;
};

void write_inputs(const Folder& folder,
                  const Tensors& tensors,
                  const std::map<std::string, Attention>& scenes) {
  folder.write("x", tensors.x);
  folder.write("row_scales", tensors.row_scales);
  folder.write("group_scales", tensors.group_scales);
  folder.write("one_scale", tensors.one_scale);
  folder.write("payload", tensors.payload);
  folder.write("block_scales", tensors.block_scales);
  for (const auto& [name, scene] : scenes) {
    folder.write(name + " value", scene.value);
    folder.write(name + " locations", scene.locations);
    folder.write(name + " weights", scene.weights);
    folder.write(name + " grad_output", scene.grad_output);
  }
}

// Each as "CASE 0", "CASE 1".
void write_results(const Folder& folder, const Cases& cases) {
  for (const auto& [name, each] : cases) {
    each.call();
    for (std::size_t i = 0; i < each.results.size(); ++i)
      folder.write(name + " " + std::to_string(i), *each.results[i]);
  }
}

// ---- time

struct Seconds {
  double wall = 0;
  double processor = 0;  // of all threads together: other load of the machine leaves it as it is
};

double now(clockid_t clock) {
  timespec time{};
  (void)::clock_gettime(clock, &time);  // both clocks exist
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Seconds seconds_of(const std::function<void()>& call) {
  constexpr double enough_s = 0.05;
  call();
  const Seconds begin{.wall = now(CLOCK_MONOTONIC), .processor = now(CLOCK_PROCESS_CPUTIME_ID)};
  for (int calls = 1;; ++calls) {
    call();
    const double wall = now(CLOCK_MONOTONIC) - begin.wall;
    if (wall >= enough_s)
      return {.wall = wall / calls,
              .processor = (now(CLOCK_PROCESS_CPUTIME_ID) - begin.processor) / calls};
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* wished = std::getenv("OMP_NUM_THREADS");
  cpu::Workers workers{
      cpu::granted_threads(cpu::parse_omp_num_threads(wished == nullptr ? "" : wished))};
  const cpu::Execution on{.workers = workers};
  Tensors tensors{.rows = all_rows};
  const Cached cached{workers};
  std::map<std::string, Attention> scenes;
  for (const bench::Scene& scene : bench::read_scenes())
    scenes.emplace(scene.name, Attention{scene});
  Cases cases;
  add_quantization(cases, tensors, on);
  add_attention(cases, scenes, on);
  if (argc == 3 && std::string_view{argv[1]} == "--write") {
    const Folder folder{argv[2]};
    write_inputs(folder, tensors, scenes);
    write_results(folder, cases);
    return 0;
  }
  cached.add_to(cases);
  add_copies(cases, tensors, on);
  for (std::string name; std::getline(std::cin, name);) {
    const auto found = cases.find(name);
    if (found == cases.end()) {
      (void)std::fprintf(stderr, "cpu_kernels_bench: no case '%s'\n", name.c_str());
      return 2;
    }
    const Seconds seconds = seconds_of(found->second.call);
    std::printf("%.9f %.9f\n", seconds.wall, seconds.processor);
    (void)std::fflush(stdout);
  }
  return 0;
}
