#include "client/cuda_ms_deform_attn.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "client/c_interface.hpp"
#include "client/launching.hpp"
#include "client/ms_deform_attn.hpp"
#include "client/ms_deform_fill.hpp"
#include "client/own_kernels.hpp"
#include "client/tensor_checks.hpp"
#include "kernels/cuda/deform_launch.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

using cuda::ElementCode;

// Three of each, in the order of ElementCode, where a kernel depends on the type of value.
constexpr std::array<std::string_view, 16> symbols{"lyk_ms_deform_attn_forward_f32",
                                                   "lyk_ms_deform_attn_forward_f16",
                                                   "lyk_ms_deform_attn_forward_bf16",
                                                   "lyk_ms_deform_attn_backward_atomic_f32",
                                                   "lyk_ms_deform_attn_backward_atomic_f16",
                                                   "lyk_ms_deform_attn_backward_atomic_bf16",
                                                   "lyk_ms_deform_attn_backward_count_f32",
                                                   "lyk_ms_deform_attn_backward_count_f16",
                                                   "lyk_ms_deform_attn_backward_count_bf16",
                                                   "lyk_ms_deform_attn_backward_gather_f32",
                                                   "lyk_ms_deform_attn_backward_gather_f16",
                                                   "lyk_ms_deform_attn_backward_gather_bf16",
                                                   "lyk_ms_deform_attn_cast_f16",
                                                   "lyk_ms_deform_attn_cast_bf16",
                                                   "lyk_ms_deform_attn_backward_scan",
                                                   "lyk_ms_deform_attn_backward_list"};
constexpr std::size_t forward_place = 0;
constexpr std::size_t atomic_place = 3;
constexpr std::size_t count_place = 6;
constexpr std::size_t gather_place = 9;
constexpr std::size_t cast_place = 12;
constexpr std::size_t scan_place = 14;
constexpr std::size_t list_place = 15;

cuda::DeformSizes cuda_sizes(const DeformSizes& sizes) {
  const auto count = [](std::int64_t size) { return static_cast<std::uint64_t>(size); };
  return {.batch = count(sizes.batch),
          .cells = count(sizes.cells),
          .heads = count(sizes.heads),
          .channels = count(sizes.channels),
          .queries = count(sizes.queries),
          .levels = count(sizes.levels),
          .points = count(sizes.points)};
}

// ---- what it takes

// The tensor whose type each one shares: an output or a gradient is as what it belongs to.
std::size_t kin_of(std::size_t place, std::uint32_t operation) {
  if (operation == LYK_BACKWARD && place == LYK_MS_DEFORM_ATTN_GRAD_SAMPLING_LOCATIONS)
    return LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS;
  if (operation == LYK_BACKWARD && place == LYK_MS_DEFORM_ATTN_GRAD_ATTENTION_WEIGHTS)
    return LYK_MS_DEFORM_ATTN_ATTENTION_WEIGHTS;
  const bool is_input = place < LYK_MS_DEFORM_ATTN_OUTPUT;
  return is_input ? place : std::size_t{LYK_MS_DEFORM_ATTN_VALUE};
}

// Kernels step from cell to cell and from channel to channel in 32 bits.
bool is_in_reach(const lyk_tensor& value) {
  constexpr std::int64_t stride_max = std::numeric_limits<std::int32_t>::max();
  const CellStrides strides = cell_strides(value);
  return strides.cell <= stride_max && strides.channel <= stride_max;
}

Result<void> check_tensor_taken(const lyk_arguments& arguments,
                                std::size_t place,
                                const TensorRule& rule) {
  const lyk_tensor& tensor = *arguments.tensors[place];
  if (!is_on_gpu(tensor))
    return not_taken(rule.name, " is not on a GPU");
  if (rule.elements == Elements::floating) {
    const auto code = element_code(tensor);
    if (!code)
      return not_taken(rule.name, " is neither float32 nor float16 nor bfloat16");
    const std::size_t kin = kin_of(place, arguments.operation);
    if (code != element_code(*arguments.tensors[kin]))
      return not_taken(rule.name, " is not of the type of ",
                       ms_deform_attn_rules(arguments.operation)[kin].name);
  }
  if (!may_be_strided(rule) && !is_dense(tensor))
    return not_taken(rule.name, " is not dense and row-major");
  if (may_be_strided(rule) && !is_in_reach(tensor))
    return not_taken(rule.name, " has strides beyond 31 bits");
  // It is filled with zeros before anything is added to it.
  if (may_be_strided(rule) && rule.access == Access::writes && !has_no_gaps(tensor))
    return not_taken(rule.name, " has gaps");
  return {};
}

Result<void> check_takes(const lyk_arguments& arguments) {
  LYK_TRY(check_float32_does(arguments));
  const auto rules = ms_deform_attn_rules(arguments.operation);
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (arguments.tensors[i] != nullptr)
      LYK_TRY(check_tensor_taken(arguments, i, rules[i]));
  if (!cuda::are_deform_sizes_in_reach(cuda_sizes(ms_deform_attn_sizes(arguments))))
    return not_taken("S + L is beyond 2^30, or H * C, L * P or Q * P beyond 31 bits");
  return {};
}

// ---- the workspace

DeformRoom room_of(const lyk_arguments& arguments) {
  const std::int64_t levels = arguments.tensors[LYK_MS_DEFORM_ATTN_SPATIAL_SHAPES]->shape[0];
  return cuda_ms_deform_attn_room(
      level_starts_bytes(levels, arguments.tensors[LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX]),
      *arguments.tensors[LYK_MS_DEFORM_ATTN_VALUE],
      *arguments.tensors[LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS], arguments.flags);
}

// A caller that asked for less, for `hub`, is no mistaken one.
Result<void> check_room(const lyk_arguments& arguments) {
  if (arguments.operation == LYK_FORWARD)
    return {};
  const std::uint64_t needed = room_of(arguments).bytes;
  if (arguments.workspace_bytes < needed)
    return not_taken("workspace of ", str(arguments.workspace_bytes), " bytes, and ", str(needed),
                     " are needed");
  return check_apart({"workspace", arguments.workspace, needed},
                     ms_deform_attn_rules(arguments.operation), arguments.tensors);
}

// ---- a call

struct DeformLaunch {
  const lyk_arguments& arguments;
  OwnKernels own;
  cuda::DeformSizes sizes;
  ElementCode type;  // of value

  void* data(std::size_t place) const { return data_of<void>(*arguments.tensors[place]); }
  std::uint32_t residents(std::size_t place) const {
    return own.module.kernels[place].resident_blocks;
  }
  // Behind the starts of the levels.
  std::uintptr_t workspace() const {
    return reinterpret_cast<std::uintptr_t>(arguments.workspace) + room_of(arguments).behind;
  }
};

cuda::DeformStrides strides_of(const lyk_tensor& value) {
  const CellStrides strides = cell_strides(value);
  return {.batch = strides.batch,
          .head = strides.head,
          .cell = static_cast<std::int32_t>(strides.cell),
          .channel = static_cast<std::int32_t>(strides.channel)};
}

// A pointer of a number that the driver gave.
template <typename Element>
Element* pointer(std::uintptr_t number) {
  return reinterpret_cast<Element*>(number);  // NOLINT(performance-no-int-to-ptr)
}

cuda::MsDeformAttn inputs_of(const DeformLaunch& call) {
  const lyk_arguments& arguments = call.arguments;
  const auto tensor = [&](std::size_t place) -> const lyk_tensor& {
    return *arguments.tensors[place];
  };
  cuda::MsDeformAttn out{
      .value = call.data(LYK_MS_DEFORM_ATTN_VALUE),
      .spatial_shapes = data_of<const std::int64_t>(tensor(LYK_MS_DEFORM_ATTN_SPATIAL_SHAPES)),
      .level_start_index = pointer<const std::int64_t>(level_starts_of(arguments)),
      .locations = call.data(LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS),
      .weights = call.data(LYK_MS_DEFORM_ATTN_ATTENTION_WEIGHTS),
      .value_strides = strides_of(tensor(LYK_MS_DEFORM_ATTN_VALUE)),
      .locations_type = *element_code(tensor(LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS)),
      .weights_type = *element_code(tensor(LYK_MS_DEFORM_ATTN_ATTENTION_WEIGHTS))};
  cuda::set_sizes(out, call.sizes, call.type);
  return out;
}

Result<void> enqueue_forward(const DeformLaunch& call) {
  cuda::MsDeformAttn arguments = inputs_of(call);
  arguments.output = call.data(LYK_MS_DEFORM_ATTN_OUTPUT);
  const std::size_t place = forward_place + place_of(call.type);
  return launch(call.own, place,
                cuda::rows_of_lanes(arguments, arguments.chunks.value, call.residents(place)),
                arguments);
}

cuda::MsDeformAttn backward_arguments(const DeformLaunch& call) {
  cuda::MsDeformAttn out = inputs_of(call);
  out.grad_output = call.data(LYK_MS_DEFORM_ATTN_GRAD_OUTPUT);
  out.grad_value = call.data(LYK_MS_DEFORM_ATTN_GRAD_VALUE);
  out.grad_value_strides = strides_of(*call.arguments.tensors[LYK_MS_DEFORM_ATTN_GRAD_VALUE]);
  out.grad_locations = call.data(LYK_MS_DEFORM_ATTN_GRAD_SAMPLING_LOCATIONS);
  out.grad_weights = call.data(LYK_MS_DEFORM_ATTN_GRAD_ATTENTION_WEIGHTS);
  return out;
}

Result<void> enqueue_atomic(const DeformLaunch& call) {
  cuda::MsDeformAttn arguments = backward_arguments(call);
  const std::size_t place = atomic_place + place_of(call.type);
  const cuda::DeformStrides strides = arguments.grad_value_strides;
  void* const grad_value = arguments.grad_value;
  const bool is_narrow = call.type != ElementCode::f32;
  const std::uint64_t sum_bytes = call.sizes.elements() * sizeof(float);
  if (is_narrow) {  // the sums are made in the workspace
    arguments.grad_value = pointer<void>(call.workspace());
    arguments.grad_value_strides = cuda::dense_strides(call.sizes);
  }
  LYK_TRY(fill_zero(call.own.cu, reinterpret_cast<std::uintptr_t>(arguments.grad_value), sum_bytes,
                    is_narrow ? "workspace" : "grad_value", call.own.stream));
  LYK_TRY(
      launch(call.own, place, cuda::rows_of_lanes(arguments, 1, call.residents(place)), arguments));
  if (!is_narrow)
    return {};
  const cuda::DeformCast cast{.from = static_cast<const float*>(arguments.grad_value),
                              .to = grad_value,
                              .strides = strides,
                              .elements = call.sizes.elements(),
                              .cells = arguments.cells,
                              .heads = arguments.heads,
                              .channels = cuda::divisor_of(call.sizes.channels)};
  const std::size_t place_of_cast = cast_place + place_of(call.type) - 1;
  return launch(call.own, place_of_cast, cuda::cast_grid(call.sizes, call.residents(place_of_cast)),
                cast);
}

Result<void> enqueue_deterministic(const DeformLaunch& call) {
  cuda::MsDeformAttn arguments = backward_arguments(call);
  const cuda::DeformWorkspace space = cuda::deform_workspace(call.sizes);
  const std::uintptr_t begin = call.workspace();
  arguments.bins = {.counts = pointer<std::uint32_t>(begin),
                    .bounds = pointer<std::uint32_t>(begin + space.bounds),
                    .entries = pointer<std::uint32_t>(begin + space.entries)};
  LYK_TRY(fill_zero(call.own.cu, begin, space.zeroed_bytes, "workspace", call.own.stream));
  const std::size_t count = count_place + place_of(call.type);
  LYK_TRY(
      launch(call.own, count, cuda::rows_of_lanes(arguments, 1, call.residents(count)), arguments));
  LYK_TRY(launch(call.own, scan_place, cuda::segments_grid(call.sizes, call.residents(scan_place)),
                 arguments));
  LYK_TRY(launch(call.own, list_place, cuda::samples_grid(call.sizes, call.residents(list_place)),
                 arguments));
  const std::size_t gather = gather_place + place_of(call.type);
  return launch(call.own, gather, cuda::cells_of_lanes(arguments, call.residents(gather)),
                arguments);
}

KernelSet kernels_of(ElementCode type, std::uint32_t operation, std::uint32_t flags) {
  const std::size_t place = place_of(type);
  if (operation == LYK_FORWARD)
    return {{forward_place + place}, 1};
  if ((flags & LYK_DETERMINISTIC) != 0)
    return {{count_place + place, scan_place, list_place, gather_place + place}, 4};
  if (type == ElementCode::f32)
    return {{atomic_place}, 1};
  return {{atomic_place + place, cast_place + place - 1}, 2};
}

Result<void> enqueue(const DeformLaunch& call) {
  LYK_TRY(write_missing_level_starts(call.own.cu, call.arguments, call.own.stream));
  if (call.arguments.operation == LYK_FORWARD)
    return enqueue_forward(call);
  return (call.arguments.flags & LYK_DETERMINISTIC) != 0 ? enqueue_deterministic(call)
                                                         : enqueue_atomic(call);
}

}  // namespace

std::span<const std::string_view> cuda_ms_deform_attn_symbols() {
  return symbols;
}

DeformRoom cuda_ms_deform_attn_room(std::uint64_t starts_bytes,
                                    const lyk_tensor& value,
                                    const lyk_tensor& sampling_locations,
                                    std::uint32_t flags) {
  const auto type = element_code(value);
  const auto sizes = cuda_sizes(ms_deform_attn_sizes(value, sampling_locations));
  if (!type || !is_on_gpu(value) || !cuda::are_deform_sizes_in_reach(sizes))
    return {.behind = starts_bytes, .bytes = starts_bytes};
  const std::uint64_t more = (flags & LYK_DETERMINISTIC) != 0
                                 ? cuda::deform_workspace(sizes).bytes
                                 : cuda::deform_sums_bytes(sizes, *type);
  const std::uint64_t behind = more == 0 ? starts_bytes : cuda::rounded_up(starts_bytes);
  return {.behind = behind, .bytes = behind + more};
}

Result<void> run_cuda_ms_deform_attn(DeviceCode& code, const lyk_arguments& arguments) {
  LYK_TRY(check_takes(arguments));
  LYK_TRY(check_room(arguments));
  const DeformSizes sizes = ms_deform_attn_sizes(arguments);
  const auto rules = ms_deform_attn_rules(arguments.operation);
  LYK_TRY_ASSIGN(const ReadyGpu gpu, enter_gpu(code, arguments, rules[0].name));
  const lyk_cu_functions& cu = gpu.driver->cu;
  if (has_nothing_to_compute(sizes))
    return fill_outputs(cu, arguments, gpu.stream);

  LYK_TRY_ASSIGN(Module * module, code.module(*gpu.driver, gpu.number, gpu.stream));
  const ElementCode type = *element_code(*arguments.tensors[LYK_MS_DEFORM_ATTN_VALUE]);
  const PickedKernels backward{*module, kernels_of(type, LYK_BACKWARD, arguments.flags)};
  LYK_TRY(check_backward_follows(cu, backward.all(), arguments));
  const PickedKernels picked{*module, kernels_of(type, arguments.operation, arguments.flags)};
  return run_kernels(code, gpu, *module, picked.all(), [&] {
    return enqueue({arguments, {cu, *module, symbols, gpu.stream}, cuda_sizes(sizes), type});
  });
}

}  // namespace lyk::client
