// Launches of kernels and of host functions.
#include "tests/fakes/softcuda/edge.hpp"
#include "tests/fakes/softcuda/launch.hpp"
#include "tests/fakes/softcuda/operations.hpp"

namespace softcuda {

namespace {

// Attributes that change what is run are refused unless they say what is done anyway; all others
// are hints.
Status check_attributes(const LaunchConfig& config) {
  if (config.attribute_count != 0 && config.attributes == nullptr)
    return Status::invalid_value;
  for (unsigned i = 0; i < config.attribute_count; ++i) {
    const LaunchAttribute& attribute = config.attributes[i];
    if (attribute.id == launch_attribute_cooperative && attribute.value[0] != 0)
      return refuse(Status::not_supported, "cooperative launches");
    const auto& value = attribute.value;
    if (attribute.id == launch_attribute_cluster_dimension &&
        (value[0] > 1 || value[1] > 1 || value[2] > 1))
      return refuse(Status::not_supported, "clusters");
  }
  return Status::success;
}

struct ExtendedLaunch {
  const LaunchConfig* config;
  FunctionHandle function;
  void** parameters;
  void** extra;
  DefaultStream zero;
};

Status launch_extended(Context& context, const ExtendedLaunch& wanted) {
  if (wanted.config == nullptr)
    return Status::invalid_value;
  const LaunchConfig& config = *wanted.config;
  SOFTCUDA_TRY(check_attributes(config));
  return launch(context, {.function = wanted.function,
                          .grid = config.grid,
                          .block = config.block,
                          .shared_bytes = config.shared_bytes,
                          .stream = config.stream,
                          .parameters = wanted.parameters,
                          .extra = wanted.extra,
                          .zero = wanted.zero});
}

Status launch_host(
    Context& context, StreamHandle handle, HostFunction function, void* user, DefaultStream zero) {
  std::shared_ptr<Stream> stream;
  SOFTCUDA_TRY(stream_in(context, handle, zero, stream));
  if (function == nullptr)
    return Status::invalid_value;
  return enqueue(*stream, NodeKind::host, [function, user] {
    in_host_function() = true;
    function(user);
    in_host_function() = false;
  });
}

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-macro-usage,readability-function-size): the driver's signatures
#define SOFTCUDA_LAUNCH_KERNEL(name, which)                                                       \
  SOFTCUDA_API Status name(FunctionHandle function, unsigned grid_x, unsigned grid_y,             \
                           unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, \
                           unsigned shared_bytes, StreamHandle stream, void** parameters,         \
                           void** extra) {                                                        \
    return call(Function::name,                                                                   \
                {{"function", function},                                                          \
                 {"grid_x", grid_x},                                                              \
                 {"grid_y", grid_y},                                                              \
                 {"grid_z", grid_z},                                                              \
                 {"block_x", block_x},                                                            \
                 {"block_y", block_y},                                                            \
                 {"block_z", block_z},                                                            \
                 {"shared", shared_bytes},                                                        \
                 {"stream", stream}},                                                             \
                [&](Context& context) {                                                           \
                  return launch(context, {.function = function,                                   \
                                          .grid = {grid_x, grid_y, grid_z},                       \
                                          .block = {block_x, block_y, block_z},                   \
                                          .shared_bytes = shared_bytes,                           \
                                          .stream = stream,                                       \
                                          .parameters = parameters,                               \
                                          .extra = extra,                                         \
                                          .zero = DefaultStream::which});                         \
                });                                                                               \
  }

#define SOFTCUDA_LAUNCH_KERNEL_EX(name, which)                                                     \
  SOFTCUDA_API Status name(const LaunchConfig* config, FunctionHandle function, void** parameters, \
                           void** extra) {                                                         \
    return call(Function::name, {{"function", function}}, [&](Context& context) {                  \
      return launch_extended(context,                                                              \
                             {config, function, parameters, extra, DefaultStream::which});         \
    });                                                                                            \
  }

#define SOFTCUDA_LAUNCH_HOST_FUNC(name, which)                                       \
  SOFTCUDA_API Status name(StreamHandle stream, HostFunction function, void* user) { \
    return call(Function::name, {{"stream", stream}}, [&](Context& context) {        \
      return launch_host(context, stream, function, user, DefaultStream::which);     \
    });                                                                              \
  }
// NOLINTEND(cppcoreguidelines-macro-usage,readability-function-size)

SOFTCUDA_LAUNCH_KERNEL(cuLaunchKernel, legacy)
SOFTCUDA_LAUNCH_KERNEL(cuLaunchKernel_ptsz, per_thread)
SOFTCUDA_LAUNCH_KERNEL_EX(cuLaunchKernelEx, legacy)
SOFTCUDA_LAUNCH_KERNEL_EX(cuLaunchKernelEx_ptsz, per_thread)
SOFTCUDA_LAUNCH_HOST_FUNC(cuLaunchHostFunc, legacy)
SOFTCUDA_LAUNCH_HOST_FUNC(cuLaunchHostFunc_ptsz, per_thread)

}  // namespace softcuda
