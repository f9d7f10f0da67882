#include "tests/fakes/softcuda/code.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/allocations.hpp"
#include "tests/fakes/softcuda/edge.hpp"
#include "tests/fakes/softcuda/twins.hpp"

namespace softcuda {

namespace {

using lyk::quoted;
using lyk::str;
using lyk::image::Image;

Status parse_own(const ChosenImage& chosen, std::shared_ptr<const ptx::Module>& out) {
  std::string text(chosen.bytes.size(), '\0');
  std::ranges::transform(chosen.bytes, text.begin(),
                         [](std::byte b) { return static_cast<char>(b); });
  auto module = ptx::parse(text);
  if (!module)
    return refuse(Status::invalid_ptx, module.error().message);
  out = std::make_shared<const ptx::Module>(std::move(*module));
  return Status::success;
}

// Two readers of the same text, or of a cubin and its twin, must agree on where parameters lie.
Status compare_parameters(const Image& image, const ptx::Module& module) {
  for (const auto& kernel : image.kernels) {
    const ptx::Kernel* const other = module.kernel(kernel.symbol);
    const bool same =
        other != nullptr &&
        std::ranges::equal(kernel.parameters, other->parameters,
                           [](const lyk::KernelParameter& a, const ptx::Parameter& b) {
                             return a.offset == b.offset && a.size == b.bytes;
                           });
    if (!same)
      return refuse(Status::invalid_image,
                    str("kernel ", quoted(kernel.symbol), ": parameters lie elsewhere in the PTX"));
  }
  return Status::success;
}

}  // namespace

Status make_code(const ChosenImage& chosen,
                 Twins& twins,
                 Allocations& allocations,
                 std::shared_ptr<const Code>& out) {
  auto code = std::make_shared<Code>();
  if (chosen.image.kind == lyk::image::Kind::ptx)
    SOFTCUDA_TRY(parse_own(chosen, code->module));
  else
    SOFTCUDA_TRY(twins.find(chosen.image, code->module));
  SOFTCUDA_TRY(compare_parameters(chosen.image, *code->module));
  auto loaded = ptx::LoadedModule::load(code->module, allocations.memory());
  if (!loaded)
    return refuse(Status::out_of_memory, loaded.error().message);
  code->loaded.emplace(std::move(*loaded));
  out = std::move(code);
  return Status::success;
}

FunctionFacts facts_of(const Code& code, std::string_view kernel) {
  const ptx::Kernel* const found = code.module->kernel(kernel);
  if (found == nullptr)
    return {};
  std::uint64_t threads = found->threads_max.value_or(block_threads_max);
  if (found->threads_required)
    threads = found->threads_required->count();
  return {.kernel = found,
          .threads_max = static_cast<int>(std::min<std::uint64_t>(threads, block_threads_max)),
          .static_shared_bytes = static_cast<int>(found->static_shared_bytes),
          .local_bytes = static_cast<int>(found->local_bytes),
          .registers = static_cast<int>(std::clamp<std::uint32_t>(found->registers, 16, 255))};
}

}  // namespace softcuda
