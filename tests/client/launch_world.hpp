// Everything that a launch needs, in one process: a service that hands out the compiled kernels of
// tests/fakes/hub_kernel, a registry that asks it, a GPU, and calls whose tensors lie on it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "client/registry.hpp"
#include "proto/hash.hpp"
#include "proto/text.hpp"
#include "tests/client/deform_call.hpp"
#include "tests/client/deform_reference.hpp"
#include "tests/client/fake_service.hpp"
#include "tests/client/soft_gpu.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::test {

inline std::string read_file(const char* path) {
  std::ifstream file{path, std::ios::binary | std::ios::ate};
  std::string out(static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0)), '\0');
  file.seekg(0).read(out.data(), static_cast<std::streamsize>(out.size()));
  return out;
}

// The compiled kernels, and what a service says of them.
struct HubImage {
  wire::ResolveReply reply = resolve_reply();
  UniqueFd fd;

  static HubImage cubin() { return of(read_file(LYK_HUB_CUBIN), wire::ImageKind::cubin, "sm_90"); }
  static HubImage ptx() { return of(read_file(LYK_HUB_PTX), wire::ImageKind::ptx, "sm_75"); }
  static HubImage of(const std::string& bytes, wire::ImageKind kind, const char* arch) {
    HubImage out;
    out.reply.image.kind = kind;
    out.reply.image.arch = arch;
    out.reply.image.bytes = bytes.size();
    out.reply.deterministic = {"forward"};
    out.fd = memfd_of(kind == wire::ImageKind::ptx ? bytes + '\0' : bytes);
    return out;
  }
};

// The variables of a child that has one H100 and finds the cubin's PTX.
inline std::vector<std::pair<std::string, std::string>> softcuda_variables(
    std::vector<std::pair<std::string, std::string>> more = {}) {
  more.insert(more.begin(), {{"SOFTCUDA_DEVICES", "sm_90"}, {"SOFTCUDA_PTX_PATH", LYK_HUB_PTX}});
  return more;
}

struct LaunchOptions {
  std::vector<std::string> variables;  // of the registry, beside where its service is
  std::string driver = LYK_SOFTCUDA;
  FakeService::Serve serve = nullptr;          // null: answers with the cubin
  std::vector<std::string_view> names{"hub"};  // of what is built in
  std::string fatbin = "/none";
};

class LaunchWorld {
public:
  explicit LaunchWorld(LaunchOptions options = {})
      : image_(options.serve ? HubImage{} : HubImage::cubin()),
        service_(
            folder_ / "socket",
            options.serve
                ? std::move(options.serve)
                : [this](
                      UniqueFd connection,
                      int) { answer_resolves(std::move(connection), image_.reply, image_.fd.get()); }),
        registry_({.environment = environment(std::move(options.variables)),
                   .built_in = {.driver = std::move(options.driver),
                                .fatbin = std::move(options.fatbin),
                                .names = std::move(options.names)}}) {
    registry_.set_message_callback(collect, this);
  }

  client::Registry& registry() { return registry_; }
  int connections() const { return service_.connections(); }
  std::vector<std::string> warnings() {
    const std::lock_guard lock{mutex_};
    return warnings_;
  }

  // Empty if the call was done; else its code and text.
  std::string call(const lyk_arguments& arguments) {
    const auto done = registry_.call_ms_deform_attn(arguments);
    return done ? std::string{} : str(info(done.error().code).name, ": ", done.error().message);
  }

  // In which the service of this world is found.
  client::Environment environment(std::vector<std::string> variables) {
    variables.push_back(str("LIBREYOLO_KERNELS_SOCKET=", folder_ / "socket"));
    variables.emplace_back("LIBREYOLO_KERNELS_EXEC=0");
    return {std::move(variables)};
  }

private:
  static void collect(void* user, const char* text) {
    auto& world = *static_cast<LaunchWorld*>(user);
    const std::lock_guard lock{world.mutex_};
    world.warnings_.emplace_back(text);
  }

  TempDir folder_;
  HubImage image_;
  FakeService service_;
  std::mutex mutex_;
  std::vector<std::string> warnings_;
  client::Registry registry_;
};

// Reproducible inputs. Sampling points lie well inside of cells (gradients jump at their borders),
// and some of them outside of the level.
inline DeformInputs random_inputs(const DeformShape& shape, unsigned seed) {
  std::mt19937 random{seed};
  const auto uniform = [&](float from, float to) {
    return from + (to - from) * static_cast<float>(random() >> 8) / 16777216.0F;
  };
  const auto fill = [&](std::int64_t count, float from, float to) {
    std::vector<float> out(static_cast<std::size_t>(count));
    std::generate(out.begin(), out.end(), [&] { return uniform(from, to); });
    return out;
  };
  const std::int64_t samples =
      shape.batch * shape.queries * shape.heads * shape.level_count() * shape.points;
  DeformInputs out;
  out.value = fill(shape.batch * shape.cells() * shape.heads * shape.channels, -1, 1);
  out.weights = fill(samples, 0.1F, 1);
  out.grad_output = fill(shape.batch * shape.queries * shape.heads * shape.channels, -1, 1);
  for (std::int64_t i = 0; i < samples; ++i) {
    const auto level = static_cast<std::size_t>(i / shape.points % shape.level_count());
    for (const std::size_t axis : {1U, 0U}) {  // x, then y
      const auto size = static_cast<float>(shape.levels[2 * level + axis]);
      const float cell = std::floor(uniform(-1.5F, size + 0.5F));
      out.locations.push_back((cell + uniform(0.1F, 0.9F) + 0.5F) / size);
    }
  }
  return out;
}

// A call with its tensors on a GPU.
class GpuCall {
public:
  GpuCall(const SoftGpu& gpu, const DeformShape& shape, unsigned seed, int device = 0)
      : gpu_(gpu), shape_(shape), inputs_(random_inputs(shape, seed)), call_(shape) {
    upload();
    for (TestTensor* tensor : call_.all())
      tensor->tensor.device.device_id = device;
  }

  DeformCall& description() { return call_; }
  const lyk_arguments& forward() { return call_.arguments(LYK_FORWARD); }
  const lyk_arguments& backward() { return call_.arguments(LYK_BACKWARD); }

  // What is wrong with the results; empty: nothing.
  std::string check_forward() const {
    return compare("output", call_.output, DeformReference{shape_, inputs_}.forward(), 1e-5);
  }
  std::string check_backward() const {
    const DeformGradients expected = DeformReference{shape_, inputs_}.backward();
    return compare("grad_value", call_.grad_value, expected.value, 1e-4) +
           compare("grad_sampling_locations", call_.grad_sampling_locations, expected.locations,
                   1e-4) +
           compare("grad_attention_weights", call_.grad_attention_weights, expected.weights, 1e-4);
  }

  std::vector<float> download(const TestTensor& tensor) const {
    return gpu_.download(reinterpret_cast<std::uintptr_t>(tensor.tensor.data),
                         static_cast<std::size_t>(tensor.elements()));
  }
  // Overwrites what the last call left, so that the next one's results are its own.
  void spoil_outputs() {
    for (TestTensor* tensor : {&call_.output, &call_.grad_value, &call_.grad_sampling_locations,
                               &call_.grad_attention_weights}) {
      const std::vector<float> spoiled(static_cast<std::size_t>(tensor->elements()), -7.5F);
      SoftGpu::must(
          gpu_.host.memcpy_to_device(reinterpret_cast<std::uintptr_t>(tensor->tensor.data),
                                     spoiled.data(), spoiled.size() * sizeof(float)),
          "cuMemcpyHtoD");
    }
  }

private:
  void upload() {
    std::vector<std::int64_t> starts;
    std::int64_t start = 0;
    for (std::size_t i = 0; i + 1 < shape_.levels.size(); i += 2) {
      starts.push_back(start);
      start += shape_.levels[i] * shape_.levels[i + 1];
    }
    put(call_.value, inputs_.value);
    put(call_.spatial_shapes, shape_.levels);
    put(call_.level_start_index, starts);
    put(call_.sampling_locations, inputs_.locations);
    put(call_.attention_weights, inputs_.weights);
    put(call_.grad_output, inputs_.grad_output);
    for (TestTensor* tensor : {&call_.output, &call_.grad_value, &call_.grad_sampling_locations,
                               &call_.grad_attention_weights})
      put(*tensor, std::vector<float>(static_cast<std::size_t>(tensor->elements()), -7.5F));
  }
  template <typename T>
  void put(TestTensor& tensor, const std::vector<T>& values) {
    tensor.tensor.data = pretend_address(gpu_.upload(values));
  }

  // Relative to the greatest value: a sum of many has the error of its greatest parts.
  std::string compare(const char* name,
                      const TestTensor& tensor,
                      const std::vector<double>& expected,
                      double tolerance) const {
    const std::vector<float> actual = download(tensor);
    double greatest = 1e-30;
    for (const double value : expected)
      greatest = std::max(greatest, std::abs(value));
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!(std::abs(actual[i] - expected[i]) <= tolerance * greatest))
        return str(name, "[", i, "] is ", std::to_string(actual[i]), ", expected ",
                   std::to_string(expected[i]), "; ");
    return {};
  }

  const SoftGpu& gpu_;
  DeformShape shape_;
  DeformInputs inputs_;
  DeformCall call_;
};

}  // namespace lyk::test
