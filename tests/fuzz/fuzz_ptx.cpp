// PTX modules. Whatever the text is: an Error of one line that names a line, or a module whose
// kernels run, within limits, to an end or to a fault of one line.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/check.hpp"
#include "tests/fakes/softcuda/ptx/run.hpp"

namespace {

using namespace softcuda::ptx;

void run_bounded(const LoadedModule& loaded, const Kernel& kernel, Memory& memory) {
  // Every eight bytes of the parameters point to a little memory, so that addresses are often good.
  constexpr std::uint64_t buffer_bytes = 256;
  const Address buffer = memory.allocate(buffer_bytes).value();
  std::vector<std::byte> parameters(kernel.parameter_bytes);
  for (std::size_t at = 0; at + sizeof buffer <= parameters.size(); at += sizeof buffer)
    std::memcpy(parameters.data() + at, &buffer, sizeof buffer);
  Launch launch;
  launch.grid.x = 2;
  launch.block.x = 4;
  launch.dynamic_shared_bytes = 64;
  launch.parameters = parameters;
  launch.seed = 1;
  launch.checks = {.race = true, .uninitialised = false};
  launch.instructions_max = 4000;
  const std::optional<Fault> fault = run(loaded, kernel, launch, memory);
  if (fault) {
    LYK_CHECK(fault->text.starts_with(name_of(fault->kind)));
    LYK_CHECK(fault->text.find('\n') == std::string::npos);
  }
  LYK_CHECK(memory.free(buffer));
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{data, data + size};
  auto module = parse(text);
  if (!module) {
    const std::string& message = module.error().message;
    LYK_CHECK(module.error().code == lyk::Code::invalid_argument);
    LYK_CHECK(message.starts_with("ptx line ") && message.find('\n') == std::string::npos);
    return 0;
  }
  constexpr std::uint64_t device_bytes = 16 << 20;
  constexpr std::size_t kernels_max = 2;
  Memory memory{device_bytes};
  const auto shared = std::make_shared<const Module>(*std::move(module));
  const auto loaded = LoadedModule::load(shared, memory);
  if (!loaded)
    return 0;
  for (std::size_t i = 0; i < shared->kernels.size() && i < kernels_max; ++i)
    run_bounded(*loaded, shared->kernels[i], memory);
  return 0;
}
