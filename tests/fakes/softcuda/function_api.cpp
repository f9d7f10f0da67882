// Functions and kernels of libraries: attributes, parameters, loading.
#include <algorithm>

#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

namespace {

int max_dynamic(const KernelFunction& function) {
  return std::max(0,
                  function.context->model->shared_bytes_optin - function.facts.static_shared_bytes);
}

Status get_attribute(const KernelFunction& function, int attribute, int& out) {
  switch (static_cast<FunctionAttribute>(attribute)) {
    case FunctionAttribute::max_threads_per_block:
      out = function.facts.threads_max;
      return Status::success;
    case FunctionAttribute::shared_size_bytes:
      out = function.facts.static_shared_bytes;
      return Status::success;
    case FunctionAttribute::local_size_bytes:
      out = function.facts.local_bytes;
      return Status::success;
    case FunctionAttribute::num_regs:
      out = function.facts.registers;
      return Status::success;
    case FunctionAttribute::ptx_version:
      out = function.ptx_version;
      return Status::success;
    case FunctionAttribute::binary_version:
      out = function.binary_version;
      return Status::success;
    case FunctionAttribute::max_dynamic_shared_size_bytes:
      out = function.dynamic_shared_bytes_max.load();
      return Status::success;
    case FunctionAttribute::preferred_shared_memory_carveout:
      out = function.shared_carveout.load();
      return Status::success;
    case FunctionAttribute::const_size_bytes:
    case FunctionAttribute::cache_mode_ca:
      out = 0;
      return Status::success;
  }
  constexpr int first_of_clusters = 10;
  constexpr int last_of_clusters = 15;
  if (attribute >= first_of_clusters && attribute <= last_of_clusters)
    return refuse(Status::not_supported, "an attribute of clusters, which are not stood in for");
  return refuse(Status::invalid_value, "an unknown function attribute");
}

Status set_attribute(KernelFunction& function, int attribute, int value) {
  if (attribute == static_cast<int>(FunctionAttribute::max_dynamic_shared_size_bytes)) {
    if (value < 0 || value > max_dynamic(function))
      return refuse(Status::invalid_value, "more shared memory than the device has for a block");
    function.dynamic_shared_bytes_max.store(value);
    return Status::success;
  }
  if (attribute == static_cast<int>(FunctionAttribute::preferred_shared_memory_carveout)) {
    constexpr int percent_max = 100;
    if (value < -1 || value > percent_max)
      return refuse(Status::invalid_value, "not a percentage");
    function.shared_carveout.store(value);
    return Status::success;
  }
  return refuse(Status::invalid_value, "not an attribute that can be set");
}

Status parameter_info(const KernelFunction& function,
                      std::size_t index,
                      std::size_t* offset,
                      std::size_t* bytes) {
  if (offset == nullptr || index >= function.parameters.size())
    return refuse(Status::invalid_value, "no such parameter");
  *offset = function.parameters[index].offset;
  if (bytes != nullptr)
    *bytes = function.parameters[index].size;
  return Status::success;
}

}  // namespace

SOFTCUDA_API Status cuFuncGetAttribute(int* out, int attribute, FunctionHandle handle) {
  return call(Function::cuFuncGetAttribute,
              {{"attribute", attribute}, {"function", handle}, result("out", out)},
              [&](Context& context) {
                std::shared_ptr<KernelFunction> function;
                SOFTCUDA_TRY(function_in(context, handle, function));
                if (out == nullptr)
                  return Status::invalid_value;
                return get_attribute(*function, attribute, *out);
              });
}

SOFTCUDA_API Status cuFuncSetAttribute(FunctionHandle handle, int attribute, int value) {
  return call(Function::cuFuncSetAttribute,
              {{"function", handle}, {"attribute", attribute}, {"value", value}},
              [&](Context& context) {
                std::shared_ptr<KernelFunction> function;
                SOFTCUDA_TRY(function_in(context, handle, function));
                return set_attribute(*function, attribute, value);
              });
}

SOFTCUDA_API Status cuFuncGetModule(ModuleHandle* out, FunctionHandle handle) {
  return call(Function::cuFuncGetModule, {{"function", handle}, result("out", out)},
              [&](Context& context) {
                std::shared_ptr<KernelFunction> function;
                SOFTCUDA_TRY(function_in(context, handle, function));
                if (out == nullptr)
                  return Status::invalid_value;
                *out = function->module;
                return Status::success;
              });
}

SOFTCUDA_API Status cuFuncGetName(const char** out, FunctionHandle handle) {
  return call(Function::cuFuncGetName, {{"function", handle}}, [&](Context& context) {
    std::shared_ptr<KernelFunction> function;
    SOFTCUDA_TRY(function_in(context, handle, function));
    if (out == nullptr)
      return Status::invalid_value;
    *out = function->name.c_str();  // lives as long as the function
    return Status::success;
  });
}

SOFTCUDA_API Status cuFuncGetParamInfo(FunctionHandle handle,
                                       std::size_t index,
                                       std::size_t* offset,
                                       std::size_t* bytes) {
  return call(Function::cuFuncGetParamInfo,
              {{"function", handle}, {"index", index}, result("offset", offset)},
              [&](Context& context) {
                std::shared_ptr<KernelFunction> function;
                SOFTCUDA_TRY(function_in(context, handle, function));
                return parameter_info(*function, index, offset, bytes);
              });
}

SOFTCUDA_API Status cuKernelGetParamInfo(KernelHandle handle,
                                         std::size_t index,
                                         std::size_t* offset,
                                         std::size_t* bytes) {
  return call(
      Function::cuKernelGetParamInfo,
      {{"kernel", handle}, {"index", index}, result("offset", offset)}, [&](Context& context) {
        std::shared_ptr<KernelFunction> function;
        SOFTCUDA_TRY(function_in(context, reinterpret_cast<FunctionHandle>(handle), function));
        return parameter_info(*function, index, offset, bytes);
      });
}

SOFTCUDA_API Status cuFuncLoad(FunctionHandle handle) {
  return call(Function::cuFuncLoad, {{"function", handle}}, [&](Context& context) {
    std::shared_ptr<KernelFunction> function;
    SOFTCUDA_TRY(function_in(context, handle, function));
    return load_function(*function);
  });
}

SOFTCUDA_API Status cuFuncIsLoaded(int* state, FunctionHandle handle) {
  return call(Function::cuFuncIsLoaded, {{"function", handle}, result("state", state)},
              [&](Context& context) {
                std::shared_ptr<KernelFunction> function;
                SOFTCUDA_TRY(function_in(context, handle, function));
                if (state == nullptr)
                  return Status::invalid_value;
                *state = function->is_loaded.load() ? 1 : 0;
                return Status::success;
              });
}

}  // namespace softcuda
