// Modules.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/fakes/softcuda/edge.hpp"
#include "tests/fakes/softcuda/jit_log.hpp"

namespace softcuda {

namespace {

Status find_module(Context& context, ModuleHandle handle, std::shared_ptr<Module>& out) {
  out = process().modules.find(handle);
  return out != nullptr && out->context == &context
             ? Status::success
             : refuse(Status::invalid_handle, "not a live module of the context");
}

Status check_unsafe() {
  return process().captures.are_any() ? process().captures.refuse_unsafe() : Status::success;
}

Status load(Context& context, ModuleHandle* out, std::span<const std::byte> file) {
  std::shared_ptr<Module> module;
  SOFTCUDA_TRY(load_module(context, file, module));
  *out = module->handle;
  return Status::success;
}

Status load_pointer(Context& context, ModuleHandle* out, const void* image) {
  if (out == nullptr)
    return Status::invalid_value;
  SOFTCUDA_TRY(check_unsafe());
  std::span<const std::byte> file;
  SOFTCUDA_TRY(image_bytes_at(image, file));
  return load(context, out, file);
}

Status load_file(Context& context, ModuleHandle* out, const char* path) {
  if (out == nullptr || path == nullptr)
    return Status::invalid_value;
  SOFTCUDA_TRY(check_unsafe());
  std::ifstream stream{path, std::ios::binary};
  if (!stream)
    return refuse(Status::file_not_found, "cannot be opened");
  const std::vector<char> bytes{std::istreambuf_iterator<char>{stream}, {}};
  return load(context, out, std::as_bytes(std::span{bytes}));
}

}  // namespace

SOFTCUDA_API Status cuModuleLoad(ModuleHandle* out, const char* path) {
  return call(Function::cuModuleLoad, {{"path", path}, result("out", out)},
              [&](Context& context) { return load_file(context, out, path); });
}

SOFTCUDA_API Status cuModuleLoadData(ModuleHandle* out, const void* image) {
  return call(Function::cuModuleLoadData, {{"image", image}, result("out", out)},
              [&](Context& context) { return load_pointer(context, out, image); });
}

SOFTCUDA_API Status
cuModuleLoadDataEx(ModuleHandle* out,
                   const void* image,
                   unsigned count,
                   // NOLINTNEXTLINE(readability-non-const-parameter): as the driver declares it
                   int* options,
                   void** values) {
  return call(Function::cuModuleLoadDataEx, {{"image", image}, result("out", out)},
              [&](Context& context) {
                if (count != 0 && (options == nullptr || values == nullptr))
                  return Status::invalid_value;
                const Status status = load_pointer(context, out, image);
                write_jit_logs({.options = options, .values = values, .count = count}, refusal());
                return status;
              });
}

SOFTCUDA_API Status cuModuleLoadFatBinary(ModuleHandle* out, const void* image) {
  return call(Function::cuModuleLoadFatBinary, {{"image", image}, result("out", out)},
              [&](Context& context) { return load_pointer(context, out, image); });
}

SOFTCUDA_API Status cuModuleUnload(ModuleHandle handle) {
  return call(Function::cuModuleUnload, {{"module", handle}}, [&](Context& context) {
    std::shared_ptr<Module> module;
    SOFTCUDA_TRY(find_module(context, handle, module));
    SOFTCUDA_TRY(check_unsafe());
    SOFTCUDA_TRY(synchronise(context));
    unload_module(module);
    return Status::success;
  });
}

SOFTCUDA_API Status cuModuleGetFunction(FunctionHandle* out,
                                        ModuleHandle handle,
                                        const char* name) {
  return call(Function::cuModuleGetFunction,
              {{"module", handle}, {"name", name}, result("out", out)}, [&](Context& context) {
                std::shared_ptr<Module> module;
                SOFTCUDA_TRY(find_module(context, handle, module));
                if (out == nullptr || name == nullptr)
                  return Status::invalid_value;
                const auto function = find_function(*module, name);
                if (function == nullptr)
                  return refuse(Status::not_found, "the module has no such kernel");
                SOFTCUDA_TRY(load_function(*function));
                *out = function->handle;
                return Status::success;
              });
}

SOFTCUDA_API Status cuModuleGetGlobal_v2(DevicePointer* address,
                                         std::size_t* bytes,
                                         ModuleHandle handle,
                                         const char* name) {
  return call(Function::cuModuleGetGlobal_v2,
              {{"module", handle}, {"name", name}, result("address", address)},
              [&](Context& context) {
                std::shared_ptr<Module> module;
                SOFTCUDA_TRY(find_module(context, handle, module));
                if (name == nullptr)
                  return Status::invalid_value;
                if (module->code == nullptr)
                  return refuse(Status::not_supported, "nothing is executed, so nothing is placed");
                const auto range = module->code->loaded->variable(name);
                if (!range)
                  return refuse(Status::not_found, "the module has no such variable");
                if (address != nullptr)
                  *address = range->base;
                if (bytes != nullptr)
                  *bytes = range->bytes;
                return Status::success;
              });
}

SOFTCUDA_API Status cuModuleGetLoadingMode(int* mode) {
  return call(Function::cuModuleGetLoadingMode, {result("mode", mode)}, [&](Process&) {
    if (mode == nullptr)
      return Status::invalid_value;
    *mode = static_cast<int>(loading_mode());
    return Status::success;
  });
}

SOFTCUDA_API Status cuModuleGetFunctionCount(unsigned* count, ModuleHandle handle) {
  return call(Function::cuModuleGetFunctionCount, {{"module", handle}, result("count", count)},
              [&](Context& context) {
                std::shared_ptr<Module> module;
                SOFTCUDA_TRY(find_module(context, handle, module));
                if (count == nullptr)
                  return Status::invalid_value;
                *count = static_cast<unsigned>(module->functions.size());
                return Status::success;
              });
}

SOFTCUDA_API Status cuModuleEnumerateFunctions(FunctionHandle* out,
                                               unsigned count,
                                               ModuleHandle handle) {
  return call(Function::cuModuleEnumerateFunctions, {{"module", handle}, {"count", count}},
              [&](Context& context) {
                std::shared_ptr<Module> module;
                SOFTCUDA_TRY(find_module(context, handle, module));
                if (out == nullptr || count == 0)
                  return Status::invalid_value;
                const std::size_t given = std::min<std::size_t>(count, module->functions.size());
                for (std::size_t i = 0; i < given; ++i)
                  out[i] = module->functions[i]->handle;
                return Status::success;
              });
}

}  // namespace softcuda
