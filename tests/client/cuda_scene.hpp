// A process with a GPU and a registry whose implementation `cuda` has its kernels from a fatbin of
// the test's; and calls of the quantization slots whose tensors lie on that GPU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/quantization.hpp"
#include "client/registry.hpp"
#include "proto/text.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/launch_scene.hpp"
#include "tests/client/quantization_call.hpp"
#include "tests/client/soft_gpu.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {

// One H100, which compiles PTX.
inline Variables cuda_variables(Variables more = {}) {
  more.insert(more.begin(), {"SOFTCUDA_DEVICES", "sm_90"});
  return more;
}

// Why the thread sanitizer skips what is about results alone.
inline constexpr const char* no_more_threads = "other tests have the same threads";

struct CudaOptions {
  std::string fatbin = LYK_IMAGES "/quantization.fatbin";
  std::vector<std::string_view> names{"cuda", "cpu", "reference"};
  std::vector<std::string> variables{};
};

class CudaScene {
public:
  explicit CudaScene(CudaOptions options = {})
      : registry_({.environment = {std::move(options.variables)},
                   .built_in = {.driver = LYK_SOFTCUDA,
                                .fatbin = std::move(options.fatbin),
                                .names = std::move(options.names)}}) {
    registry_.set_message_callback(collect, this);
  }

  client::Registry& registry() { return registry_; }
  const SoftGpu& gpu() const { return gpu_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Moves the tensors of a call to the GPU, and gives it exactly the workspace that it is told to
  // bring.
  void upload(QuantizationCall& call) {
    for (std::size_t i = 0; i < call.size(); ++i) {
      if (!call.has(i))
        continue;
      OwnTensor& tensor = call.tensor(i);
      tensor.tensor.data = pretend_address(gpu_.upload(tensor.bytes));
      tensor.tensor.device = {LYK_DEVICE_CUDA, 0};
    }
    const auto needed = client::quantization_workspace_bytes(
        *client::find_quantization_slot(call.slot), call.arguments());
    call.workspace_bytes = needed ? *needed : 0;
    call.workspace =
        call.workspace_bytes == 0 ? nullptr : pretend_address(gpu_.allocate(call.workspace_bytes));
  }

  // Empty if the call was done; else its code and text.
  std::string call(QuantizationCall& call) {
    const auto done = registry_.call(call.slot, call.arguments());
    return done ? std::string{} : str(info(done.error().code).name, ": ", done.error().message);
  }

  Floats result(QuantizationCall& call) const {
    return gpu_.download(reinterpret_cast<std::uintptr_t>(call.last().tensor.data),
                         call.last().bytes.size() / sizeof(float));
  }

  // What is wrong with the result; empty: nothing.
  std::string check(QuantizationCall& call) const {
    const Floats actual = result(call);
    const Floats expected = of_oracle(call, OracleOf::cuda);
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!is_same(actual[i], expected[i]))
        return str(call.slot, ": element ", i, " is ", std::to_string(actual[i]), ", not ",
                   std::to_string(expected[i]), "; ");
    return {};
  }

  // What is wrong with the call or its result; empty: nothing.
  std::string run(QuantizationCall& call) {
    const std::string said = this->call(call);
    return said.empty() ? check(call) : said;
  }

private:
  static void collect(void* user, const char* text) {
    static_cast<CudaScene*>(user)->warnings_.emplace_back(text);
  }

  const SoftGpu gpu_;
  std::vector<std::string> warnings_;
  client::Registry registry_;
};

}  // namespace lyk::test
