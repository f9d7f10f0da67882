#include "tests/fakes/softcuda/module.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

namespace {

std::shared_ptr<KernelFunction> make_function(const Module& module,
                                              const ChosenImage& chosen,
                                              const lyk::image::Kernel& kernel) {
  auto out = std::make_shared<KernelFunction>();
  out->context = module.context;
  out->name = kernel.symbol;
  out->parameters = kernel.parameters;
  for (const auto& parameter : kernel.parameters)
    out->parameter_bytes = std::max(out->parameter_bytes, parameter.offset + parameter.size);
  out->code = module.code;
  if (module.code != nullptr)
    out->facts = facts_of(*module.code, kernel.symbol);
  const lyk::Arch& arch = chosen.image.arch;
  const bool is_ptx = chosen.image.kind == lyk::image::Kind::ptx;
  out->ptx_version = arch.number();
  out->binary_version = is_ptx ? module.context->model->arch.number() : arch.number();
  out->dynamic_shared_bytes_max =
      std::max(0, shared_bytes_default - out->facts.static_shared_bytes);
  out->is_loaded = loading_mode() == LoadingMode::eager;
  return out;
}

}  // namespace

LoadingMode loading_mode() {
  const char* const wanted = std::getenv("CUDA_MODULE_LOADING");
  if (wanted != nullptr && std::string_view{wanted} == "EAGER")
    return LoadingMode::eager;
  if (wanted != nullptr && std::string_view{wanted} == "LAZY")
    return LoadingMode::lazy;
  // Lazy became the default on Linux with 12.2.
  return process().settings.driver < lyk::CudaVersion{12, 2} ? LoadingMode::eager
                                                             : LoadingMode::lazy;
}

Status load_module(Context& context,
                   std::span<const std::byte> file,
                   std::shared_ptr<Module>& out) {
  Process& state = process();
  ChosenImage chosen;
  SOFTCUDA_TRY(choose_image(file, *context.model, state.settings.driver, chosen));
  auto module = std::make_shared<Module>();
  module->context = &context;
  if (state.settings.execute)
    SOFTCUDA_TRY(make_code(chosen, state.twins, state.allocations, module->code));
  for (const auto& kernel : chosen.image.kernels)
    module->functions.push_back(make_function(*module, chosen, kernel));
  ModuleHandle handle = state.modules.add(module);
  for (const auto& function : module->functions) {
    function->module = handle;
    (void)state.functions.add(function);
  }
  out = std::move(module);
  return Status::success;
}

void unload_module(const std::shared_ptr<Module>& module) {
  for (const auto& function : module->functions)
    (void)process().functions.take(function->handle);
  (void)process().modules.take(module->handle);
}

std::shared_ptr<KernelFunction> find_function(const Module& module, std::string_view name) {
  const auto found = std::ranges::find(module.functions, name, &KernelFunction::name);
  return found == module.functions.end() ? nullptr : *found;
}

Status load_function(KernelFunction& function) {
  if (function.is_loaded.load(std::memory_order_acquire))
    return Status::success;
  if (process().captures.are_any())
    SOFTCUDA_TRY(process().captures.refuse_unsafe());
  function.is_loaded.store(true, std::memory_order_release);
  return Status::success;
}

Status library_module(Context& context, Library& library, std::shared_ptr<Module>& out) {
  const std::scoped_lock lock{library.mutex};
  if (const auto found = library.modules.find(&context); found != library.modules.end()) {
    out = process().modules.find(found->second);
    if (out != nullptr)
      return Status::success;
  }
  SOFTCUDA_TRY(load_module(context, library.file, out));
  library.modules[&context] = out->handle;
  return Status::success;
}

Status function_in(Context& context, FunctionHandle handle, std::shared_ptr<KernelFunction>& out) {
  out = process().functions.find(handle);
  if (out == nullptr) {
    // The same bits: handles of all kinds are of the same size.
    const auto kernel = process().kernels.find(reinterpret_cast<KernelHandle>(handle));
    if (kernel == nullptr)
      return refuse(Status::invalid_handle, "not a live function");
    std::shared_ptr<Module> module;
    SOFTCUDA_TRY(library_module(context, *kernel->library, module));
    out = find_function(*module, kernel->name);
    return out != nullptr ? Status::success
                          : refuse(Status::not_found, "the library's module lacks the kernel");
  }
  return out->context == &context ? Status::success
                                  : refuse(Status::invalid_handle, "a function of another context");
}

}  // namespace softcuda
