#include "client/hub_ms_deform_attn.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "client/c_interface.hpp"
#include "client/launching.hpp"
#include "client/ms_deform_attn.hpp"
#include "client/ms_deform_fill.hpp"
#include "client/ms_deform_im2col.hpp"
#include "client/tensor_checks.hpp"

namespace lyk::client {

namespace {

Result<void> check_takes(const lyk_arguments& arguments) {
  LYK_TRY(check_float32_does(arguments));
  const auto rules = ms_deform_attn_rules(arguments.operation);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const lyk_tensor* tensor = arguments.tensors[i];
    if (tensor == nullptr)
      continue;
    if (!is_on_gpu(*tensor))
      return not_taken(rules[i].name, " is not on a GPU");
    if (rules[i].elements == Elements::floating && !is_float32(*tensor))
      return not_taken(rules[i].name, " is not float32");
    if (!is_dense(*tensor))
      return not_taken(rules[i].name, " is not dense and row-major");
  }
  return {};
}

Result<void> fill_sums(const lyk_cu_functions& cu,
                       const lyk_arguments& arguments,
                       std::int64_t channels,
                       lyk_cu_stream stream) {
  if (arguments.operation == LYK_FORWARD)
    return {};
  if (adds_to_all_gradients(channels))
    return fill_outputs(cu, arguments, stream);
  return fill_tensor(cu, *arguments.tensors[LYK_MS_DEFORM_ATTN_GRAD_VALUE], "grad_value", stream);
}

DeformForward forward_tensors(const lyk_arguments& arguments) {
  const auto at = [&](std::size_t i) { return address(*arguments.tensors[i]); };
  return {.value = at(LYK_MS_DEFORM_ATTN_VALUE),
          .spatial_shapes = at(LYK_MS_DEFORM_ATTN_SPATIAL_SHAPES),
          .level_starts = level_starts_of(arguments),
          .locations = at(LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS),
          .weights = at(LYK_MS_DEFORM_ATTN_ATTENTION_WEIGHTS),
          .output = at(LYK_MS_DEFORM_ATTN_OUTPUT)};
}

DeformBackward backward_tensors(const lyk_arguments& arguments) {
  const auto at = [&](std::size_t i) { return address(*arguments.tensors[i]); };
  return {.inputs = forward_tensors(arguments),
          .grad_output = at(LYK_MS_DEFORM_ATTN_GRAD_OUTPUT),
          .grad_value = at(LYK_MS_DEFORM_ATTN_GRAD_VALUE),
          .grad_locations = at(LYK_MS_DEFORM_ATTN_GRAD_SAMPLING_LOCATIONS),
          .grad_weights = at(LYK_MS_DEFORM_ATTN_GRAD_ATTENTION_WEIGHTS)};
}

// An image is as deterministic as its pin says. A service of an earlier release does not pass that
// on: then no image is known to be.
Result<void> check_marked(const Module& module, const lyk_arguments& arguments) {
  if ((arguments.flags & LYK_DETERMINISTIC) == 0)
    return {};
  const bool is_forward = arguments.operation == LYK_FORWARD;
  if (is_forward && (module.deterministic & LYK_DETERMINISTIC_FORWARD) == 0)
    return not_taken("the pin does not mark its forward deterministic");
  const bool needs_backward = !is_forward || (arguments.flags & LYK_NEEDS_GRADIENT) != 0;
  if (needs_backward && (module.deterministic & LYK_DETERMINISTIC_BACKWARD) == 0)
    return not_taken("the pin does not mark its backward deterministic");
  return {};
}

Result<void> enqueue(const lyk_cu_functions& cu,
                     const Kernel& kernel,
                     const DeformSizes& sizes,
                     const lyk_arguments& arguments) {
  auto* stream = static_cast<lyk_cu_stream>(arguments.stream);
  LYK_TRY(fill_sums(cu, arguments, sizes.channels, stream));
  LYK_TRY(write_missing_level_starts(cu, arguments, stream));
  return arguments.operation == LYK_FORWARD
             ? launch_forward(cu, kernel, sizes, forward_tensors(arguments), stream)
             : launch_backward(cu, kernel, sizes, backward_tensors(arguments), stream);
}

}  // namespace

Result<void> run_hub_ms_deform_attn(DeviceCode& code, const lyk_arguments& arguments) {
  LYK_TRY(check_takes(arguments));
  const DeformSizes sizes = ms_deform_attn_sizes(arguments);
  const DeformKernel shape = arguments.operation == LYK_FORWARD
                                 ? deform_forward_kernel()
                                 : deform_backward_kernel(sizes.channels);
  const bool is_empty = has_nothing_to_compute(sizes);
  if (!is_empty && images_per_launch(sizes, shape.threads) == 0)
    return not_taken("one image is more than the kernel's 32-bit offsets reach");

  const auto rules = ms_deform_attn_rules(arguments.operation);
  LYK_TRY_ASSIGN(const ReadyGpu gpu, enter_gpu(code, arguments, rules[0].name));
  const lyk_cu_functions& cu = gpu.driver->cu;
  if (is_empty)
    return fill_outputs(cu, arguments, gpu.stream);

  LYK_TRY_ASSIGN(Module * module, code.module(*gpu.driver, gpu.number, gpu.stream));
  LYK_TRY(check_marked(*module, arguments));
  const std::array backward{&module->kernels[deform_backward_kernel(sizes.channels).index]};
  LYK_TRY(check_backward_follows(cu, backward, arguments));
  const std::array kernels{&module->kernels[shape.index]};
  return run_kernels(code, gpu, *module, kernels,
                     [&] { return enqueue(cu, *kernels[0], sizes, arguments); });
}

}  // namespace lyk::client
