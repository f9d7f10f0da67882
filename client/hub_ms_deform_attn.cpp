#include "client/hub_ms_deform_attn.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "client/c_interface.hpp"
#include "client/context.hpp"
#include "client/ms_deform_attn.hpp"
#include "client/ms_deform_im2col.hpp"
#include "client/tensor_checks.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

constexpr std::int64_t float_bytes = 4;

Result<void> check_takes(const lyk_arguments& arguments) {
  const auto rules = ms_deform_attn_rules(arguments.operation);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const lyk_tensor* tensor = arguments.tensors[i];
    if (tensor == nullptr)
      continue;
    if (!is_on_gpu(*tensor))
      return Error{Code::not_eligible, str(rules[i].name, " is not on a GPU")};
    if (rules[i].elements == Elements::floating && !is_float32(*tensor))
      return Error{Code::not_eligible, str(rules[i].name, " is not float32")};
    if (!is_dense(*tensor))
      return Error{Code::not_eligible, str(rules[i].name, " is not dense and row-major")};
  }
  return {};
}

// A stream belongs to one context, unless it is one of the driver's own, which belong to whatever
// context is current.
Result<void> check_stream(const lyk_cu_functions& cu, lyk_cu_stream stream, const Gpu& gpu) {
  if (reinterpret_cast<std::uintptr_t>(stream) <= LYK_CU_STREAM_PER_THREAD)
    return {};
  lyk_cu_context context = nullptr;
  const lyk_cu_result result = cu.stream_get_ctx(stream, &context);
  if (result == LYK_CU_INVALID_HANDLE || result == LYK_CU_INVALID_CONTEXT)
    return bad_argument("stream", cuda_error(cu, result, "ask for its context").message);
  if (result != LYK_CU_SUCCESS)
    return cuda_error(cu, result, "ask for the stream's context");
  if (context != gpu.context)
    return bad_argument("stream", "it does not belong to the primary context of value's device");
  return {};
}

// Work on the legacy default stream would end a capture on any stream that waits for it; a look
// does not, and says so.
Result<void> check_no_capture_elsewhere(const lyk_cu_functions& cu, lyk_cu_stream stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) > LYK_CU_STREAM_LEGACY)
    return {};
  int status = LYK_CU_CAPTURE_STATUS_NONE;
  const lyk_cu_result result = cu.stream_is_capturing(stream, &status);
  if (result == LYK_CU_STREAM_CAPTURE_IMPLICIT)
    return Error{Code::not_eligible,
                 "another stream captures, and the default stream would end that"};
  if (result != LYK_CU_SUCCESS)
    return cuda_error(cu, result, "ask whether another stream captures");
  return {};
}

// What came of a fill, the first look that the driver has at a caller's pointer.
Result<void> check_fill(const lyk_cu_functions& cu,
                        lyk_cu_result result,
                        std::string_view argument) {
  if (result == LYK_CU_SUCCESS)
    return {};
  Error error = cuda_error(cu, result, "fill it");
  if (result == LYK_CU_INVALID_VALUE)
    return bad_argument(argument, error.message);
  return annotate(std::move(error), argument);
}

Result<void> fill_zero(const lyk_cu_functions& cu,
                       const lyk_tensor& tensor,
                       std::string_view name,
                       lyk_cu_stream stream) {
  const auto bytes = static_cast<std::size_t>(element_count(tensor) * float_bytes);
  if (bytes == 0)
    return {};
  return check_fill(cu, cu.memset_d8_async(address(tensor), 0, bytes, stream), name);
}

// What the kernels add to, or everything that is written where there is nothing to compute.
Result<void> fill_outputs(const lyk_cu_functions& cu,
                          const lyk_arguments& arguments,
                          lyk_cu_stream stream) {
  const auto rules = ms_deform_attn_rules(arguments.operation);
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].access == Access::writes)
      LYK_TRY(fill_zero(cu, *arguments.tensors[i], rules[i].name, stream));
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
  return fill_zero(cu, *arguments.tensors[LYK_MS_DEFORM_ATTN_GRAD_VALUE], "grad_value", stream);
}

// The starts of the levels in the workspace, by fills alone: a copy from host memory would make a
// capture remember an address that is gone when it is replayed.
Result<void> write_level_starts(const lyk_cu_functions& cu,
                                const lyk_arguments& arguments,
                                std::int64_t levels,
                                lyk_cu_stream stream) {
  const auto* parameters = static_cast<const lyk_ms_deform_attn_parameters*>(arguments.parameters);
  const std::span shapes{parameters->host_spatial_shapes, static_cast<std::size_t>(2 * levels)};
  const auto workspace = reinterpret_cast<std::uintptr_t>(arguments.workspace);
  constexpr std::size_t start_bytes = sizeof(std::int64_t);
  const std::size_t bytes = start_bytes * static_cast<std::size_t>(levels);
  LYK_TRY(check_fill(cu, cu.memset_d8_async(workspace, 0, bytes, stream), "workspace"));
  std::int64_t start = 0;
  for (std::size_t level = 1; level < static_cast<std::size_t>(levels); ++level) {
    start += shapes[2 * level - 2] * shapes[2 * level - 1];
    // Little-endian, and below 2^31, as images_per_launch has made sure: the low word is all.
    LYK_TRY(check_fill(cu,
                       cu.memset_d32_async(workspace + level * start_bytes,
                                           static_cast<unsigned>(start), 1, stream),
                       "workspace"));
  }
  return {};
}

bool has_nothing_to_compute(const DeformSizes& s) {
  return s.batch == 0 || s.cells == 0 || s.heads == 0 || s.channels == 0 || s.levels == 0 ||
         s.queries == 0 || s.points == 0;
}

DeformForward forward_tensors(const lyk_arguments& arguments) {
  const auto at = [&](std::size_t i) { return address(*arguments.tensors[i]); };
  const bool has_starts = arguments.tensors[LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX] != nullptr;
  return {.value = at(LYK_MS_DEFORM_ATTN_VALUE),
          .spatial_shapes = at(LYK_MS_DEFORM_ATTN_SPATIAL_SHAPES),
          .level_starts = has_starts ? at(LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX)
                                     : reinterpret_cast<std::uintptr_t>(arguments.workspace),
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
    return Error{Code::not_eligible, "the pin does not mark its forward deterministic"};
  const bool needs_backward = !is_forward || (arguments.flags & LYK_NEEDS_GRADIENT) != 0;
  if (needs_backward && (module.deterministic & LYK_DETERMINISTIC_BACKWARD) == 0)
    return Error{Code::not_eligible, "the pin does not mark its backward deterministic"};
  return {};
}

// A forward that needs gradients is of no use in a capture that its backward cannot join.
Result<void> check_backward_follows(const lyk_cu_functions& cu,
                                    const Module& module,
                                    const lyk_arguments& arguments,
                                    std::int64_t channels) {
  if (arguments.operation != LYK_FORWARD || (arguments.flags & LYK_NEEDS_GRADIENT) == 0)
    return {};
  const Kernel& backward = module.kernels[deform_backward_kernel(channels).index];
  if (backward.has_run.load(std::memory_order_acquire))
    return {};
  return check_not_capturing(cu, static_cast<lyk_cu_stream>(arguments.stream));
}

Result<void> enqueue(const lyk_cu_functions& cu,
                     const Kernel& kernel,
                     const DeformSizes& sizes,
                     const lyk_arguments& arguments) {
  auto* stream = static_cast<lyk_cu_stream>(arguments.stream);
  LYK_TRY(fill_sums(cu, arguments, sizes.channels, stream));
  if (arguments.tensors[LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX] == nullptr)
    LYK_TRY(write_level_starts(cu, arguments, sizes.levels, stream));
  return arguments.operation == LYK_FORWARD
             ? launch_forward(cu, kernel, sizes, forward_tensors(arguments), stream)
             : launch_backward(cu, kernel, sizes, backward_tensors(arguments), stream);
}

}  // namespace

Result<void> run_hub_ms_deform_attn(Hub& hub, const lyk_arguments& arguments) {
  LYK_TRY(check_takes(arguments));
  const DeformSizes sizes = ms_deform_attn_sizes(arguments);
  const DeformKernel shape = arguments.operation == LYK_FORWARD
                                 ? deform_forward_kernel()
                                 : deform_backward_kernel(sizes.channels);
  const bool is_empty = has_nothing_to_compute(sizes);
  if (!is_empty)
    LYK_TRY(images_per_launch(sizes, shape.threads));

  LYK_TRY_ASSIGN(const Driver* driver, hub.driver());
  const lyk_cu_functions& cu = driver->cu;
  const std::int32_t number = arguments.tensors[LYK_MS_DEFORM_ATTN_VALUE]->device.device_id;
  auto* stream = static_cast<lyk_cu_stream>(arguments.stream);
  LYK_TRY_ASSIGN(const EnteredGpu entered, hub.enter(*driver, number, stream));
  LYK_TRY(check_stream(cu, stream, entered.gpu));
  LYK_TRY(check_no_capture_elsewhere(cu, stream));
  if (is_empty)
    return fill_outputs(cu, arguments, stream);

  LYK_TRY_ASSIGN(Module * module, hub.module(*driver, number, stream));
  LYK_TRY(check_marked(*module, arguments));
  LYK_TRY(check_backward_follows(cu, *module, arguments, sizes.channels));
  Kernel& kernel = module->kernels[shape.index];
  LYK_TRY_ASSIGN(FirstRun first, FirstRun::begin(cu, kernel, stream));
  auto enqueued = enqueue(cu, kernel, sizes, arguments);
  if (enqueued)
    enqueued = first.finish();
  // The stream was clean before; but an error that a context does not survive is the context's, and
  // what runs beside us on another stream may be to blame.
  if (!enqueued && first.is_first())
    return hub.lost(number, *module, std::move(enqueued).error());
  return enqueued;
}

Result<void> check_context_not_lost(Hub& hub, const lyk_arguments& arguments) {
  const lyk_tensor& value = *arguments.tensors[LYK_MS_DEFORM_ATTN_VALUE];
  if (!is_on_gpu(value))
    return {};
  const auto driver = hub.driver();
  if (!driver)
    return {};  // a child of fork, in which there is no context
  return hub.check_not_lost(**driver, value.device.device_id);
}

}  // namespace lyk::client
