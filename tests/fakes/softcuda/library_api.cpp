// Libraries: images that belong to no context and are loaded into each at first use.
#include "proto/text.hpp"
#include "tests/fakes/softcuda/edge.hpp"
#include "tests/fakes/softcuda/jit_log.hpp"

namespace softcuda {

namespace {

// A kernel is looked for in the whole file: which image of it runs is known only in a context.
bool defines(const Library& library, std::string_view kernel) {
  const auto images = lyk::image::read_images(library.file);
  if (!images)
    return false;
  for (const auto& image : *images)
    for (const auto& defined : image.kernels)
      if (defined.symbol == kernel)
        return true;
  return false;
}

Status load(Process& state, LibraryHandle* out, const void* code) {
  if (out == nullptr)
    return Status::invalid_value;
  if (state.captures.are_any())
    SOFTCUDA_TRY(state.captures.refuse_unsafe());
  std::span<const std::byte> file;
  SOFTCUDA_TRY(image_bytes_at(code, file));
  const auto images = lyk::image::read_images(file);
  if (!images || images->empty())
    return refuse(Status::invalid_image, images ? "no image" : images.error().message);
  auto library = std::make_shared<Library>();
  library->file.assign(file.begin(), file.end());
  *out = state.libraries.add(library);
  return Status::success;
}

Status find_library(Process& state, LibraryHandle handle, std::shared_ptr<Library>& out) {
  out = state.libraries.find(handle);
  return out != nullptr ? Status::success : refuse(Status::invalid_handle, "not a live library");
}

Status unload(Process& state, LibraryHandle handle) {
  if (state.captures.are_any())
    SOFTCUDA_TRY(state.captures.refuse_unsafe());
  const auto library = state.libraries.take(handle);
  if (library == nullptr)
    return refuse(Status::invalid_handle, "not a live library");
  (void)state.kernels.take_if(
      [&](const LibraryKernel& kernel) { return kernel.library == library; });
  const std::scoped_lock lock{library->mutex};
  for (const auto& [context, module] : library->modules)
    if (const auto loaded = state.modules.find(module))
      unload_module(loaded);
  return Status::success;
}

}  // namespace

// NOLINTBEGIN(readability-function-size,readability-non-const-parameter): the driver's signature
SOFTCUDA_API Status cuLibraryLoadData(LibraryHandle* out,
                                      const void* code,
                                      int* jit_options,
                                      void** jit_values,
                                      unsigned jit_count,
                                      int* /*options*/,
                                      void** /*values*/,
                                      unsigned /*count*/) {
  // NOLINTEND(readability-function-size,readability-non-const-parameter)
  return call(Function::cuLibraryLoadData, {{"code", code}, result("out", out)},
              [&](Process& state) {
                if (jit_count != 0 && (jit_options == nullptr || jit_values == nullptr))
                  return Status::invalid_value;
                const Status status = load(state, out, code);
                write_jit_logs({.options = jit_options, .values = jit_values, .count = jit_count},
                               refusal());
                return status;
              });
}

SOFTCUDA_API Status cuLibraryUnload(LibraryHandle library) {
  return call(Function::cuLibraryUnload, {{"library", library}},
              [&](Process& state) { return unload(state, library); });
}

SOFTCUDA_API Status cuLibraryGetKernel(KernelHandle* out, LibraryHandle handle, const char* name) {
  return call(Function::cuLibraryGetKernel,
              {{"library", handle}, {"name", name}, result("out", out)}, [&](Process& state) {
                std::shared_ptr<Library> library;
                SOFTCUDA_TRY(find_library(state, handle, library));
                if (out == nullptr || name == nullptr)
                  return Status::invalid_value;
                if (!defines(*library, name))
                  return refuse(Status::not_found, "the library has no such kernel");
                auto kernel = std::make_shared<LibraryKernel>();
                kernel->library = library;
                kernel->name = name;
                *out = state.kernels.add(kernel);
                return Status::success;
              });
}

SOFTCUDA_API Status cuLibraryGetModule(ModuleHandle* out, LibraryHandle handle) {
  return call(Function::cuLibraryGetModule, {{"library", handle}, result("out", out)},
              [&](Context& context) {
                std::shared_ptr<Library> library;
                SOFTCUDA_TRY(find_library(process(), handle, library));
                if (out == nullptr)
                  return Status::invalid_value;
                std::shared_ptr<Module> module;
                SOFTCUDA_TRY(library_module(context, *library, module));
                *out = module->handle;
                return Status::success;
              });
}

SOFTCUDA_API Status cuKernelGetFunction(FunctionHandle* out, KernelHandle kernel) {
  return call(
      Function::cuKernelGetFunction, {{"kernel", kernel}, result("out", out)},
      [&](Context& context) {
        if (out == nullptr)
          return Status::invalid_value;
        std::shared_ptr<KernelFunction> function;
        SOFTCUDA_TRY(function_in(context, reinterpret_cast<FunctionHandle>(kernel), function));
        SOFTCUDA_TRY(load_function(*function));
        *out = function->handle;
        return Status::success;
      });
}

}  // namespace softcuda
