#include "client/ms_deform_attn.hpp"

#include <array>
#include <limits>
#include <utility>

#include "client/c_interface.hpp"
#include "client/cuda_ms_deform_attn.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

// B images, S cells, H heads, C channels, Q queries, L levels, P points; K is H * C.
constexpr TensorRule value{.name = "value", .shape = "BSHC"};
constexpr TensorRule spatial_shapes{
    .name = "spatial_shapes", .shape = "L2", .elements = Elements::int64};
constexpr TensorRule level_start_index{.name = "level_start_index",
                                       .shape = "L",
                                       .elements = Elements::int64,
                                       .presence = Presence::optional};
constexpr TensorRule sampling_locations{.name = "sampling_locations", .shape = "BQHLP2"};
constexpr TensorRule attention_weights{.name = "attention_weights", .shape = "BQHLP"};
constexpr TensorRule grad_value{.name = "grad_value", .shape = "BSHC", .access = Access::writes};

constexpr std::array<TensorRule, 6> forward_rules{{
    value,
    spatial_shapes,
    level_start_index,
    sampling_locations,
    attention_weights,
    {.name = "output", .shape = "BQK", .access = Access::writes},
}};
constexpr std::array<TensorRule, 9> backward_rules{{
    value,
    spatial_shapes,
    level_start_index,
    sampling_locations,
    attention_weights,
    {.name = "grad_output", .shape = "BQK"},
    grad_value,
    {.name = "grad_sampling_locations", .shape = "BQHLP2", .access = Access::writes},
    {.name = "grad_attention_weights", .shape = "BQHLP", .access = Access::writes},
}};

// More is no mistake of the caller's, who keeps his own way.
Result<void> check_level_count(std::int64_t levels) {
  if (levels > limits::levels_max)
    return Error{Code::not_eligible, str(spatial_shapes.name, ": ", levels, " levels, and ",
                                         limits::levels_max, " are the most")};
  return {};
}

Result<void> check_host_shapes(const std::int64_t* shapes, const Sizes& sizes) {
  constexpr std::string_view argument = "host_spatial_shapes";
  constexpr std::int64_t size_max = std::numeric_limits<std::int32_t>::max();
  LYK_TRY(check_level_count(sizes['L']));
  if (shapes == nullptr && sizes['L'] != 0)
    return bad_argument(argument, "NULL");
  std::int64_t cells = 0;
  for (std::int64_t level = 0; level < sizes['L']; ++level) {
    const std::int64_t height = shapes[2 * level];
    const std::int64_t width = shapes[2 * level + 1];
    if (height < 0 || width < 0 || height > size_max || width > size_max)
      return bad_argument(argument, str("level ", level, " of ", height, " x ", width));
    // Past the number of cells it can only be wrong, and goes no further.
    if (cells <= sizes['S'])
      cells += height * width;
  }
  if (cells != sizes['S'])
    return bad_argument(argument, str("areas of ", cells, " cells, and value has ", sizes['S']));
  return {};
}

Result<const lyk_ms_deform_attn_parameters*> read_parameters(
    const lyk_arguments& arguments, lyk_ms_deform_attn_parameters& storage) {
  LYK_TRY_ASSIGN(
      const auto* parameters,
      view_struct(static_cast<const lyk_ms_deform_attn_parameters*>(arguments.parameters),
                  "parameters", storage));
  if (parameters->reserved != 0)
    return bad_argument("parameters", str("reserved is ", parameters->reserved, ", not zero"));
  return parameters;
}

}  // namespace

std::span<const TensorRule> ms_deform_attn_rules(std::uint32_t operation) {
  if (operation == LYK_BACKWARD)
    return backward_rules;
  return forward_rules;
}

Result<void> check_ms_deform_attn(const lyk_arguments& arguments) {
  LYK_TRY(check_operation(arguments));
  const auto rules = ms_deform_attn_rules(arguments.operation);
  LYK_TRY(check_count(arguments, rules));
  lyk_ms_deform_attn_parameters storage{};
  LYK_TRY_ASSIGN(const auto* parameters, read_parameters(arguments, storage));
  Sizes sizes;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const lyk_tensor* tensor = arguments.tensors[i];
    LYK_TRY(check_tensor(rules[i], tensor));
    if (tensor != nullptr)
      LYK_TRY(sizes.match(rules[i], *tensor));
    if (i == LYK_MS_DEFORM_ATTN_VALUE)
      sizes.set('K', sizes['H'] * sizes['C'], "heads * channels of value");
  }
  LYK_TRY(check_one_device(rules, arguments.tensors));
  LYK_TRY(check_outputs_apart(rules, arguments.tensors));
  LYK_TRY(check_host_shapes(parameters->host_spatial_shapes, sizes));
  return check_workspace(
      arguments, rules,
      level_starts_bytes(sizes['L'], arguments.tensors[LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX]));
}

DeformSizes ms_deform_attn_sizes(const lyk_tensor& value_tensor,
                                 const lyk_tensor& locations_tensor) {
  const std::int64_t* v = value_tensor.shape;
  const std::int64_t* at = locations_tensor.shape;
  return {.batch = v[0],
          .cells = v[1],
          .heads = v[2],
          .channels = v[3],
          .levels = at[3],
          .queries = at[1],
          .points = at[4]};
}

DeformSizes ms_deform_attn_sizes(const lyk_arguments& arguments) {
  return ms_deform_attn_sizes(*arguments.tensors[LYK_MS_DEFORM_ATTN_VALUE],
                              *arguments.tensors[LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS]);
}

bool has_nothing_to_compute(const DeformSizes& s) {
  return s.batch == 0 || s.cells == 0 || s.heads == 0 || s.channels == 0 || s.levels == 0 ||
         s.queries == 0 || s.points == 0;
}

bool may_be_strided(const TensorRule& rule) {
  return rule.shape == value.shape;
}

CellStrides cell_strides(const lyk_tensor& tensor) {
  const auto stride = [&](std::int32_t d) {
    return tensor.shape[d] == 1 ? 0 : stride_of(tensor, d);
  };
  return {.batch = stride(0),
          .cell = stride(1),
          .head = stride(2),
          .channel = tensor.shape[3] == 1 ? 1 : stride(3)};
}

std::span<const std::int64_t> host_spatial_shapes_of(const lyk_arguments& arguments) {
  lyk_ms_deform_attn_parameters storage{};
  const auto parameters = read_parameters(arguments, storage);
  const std::int64_t levels = arguments.tensors[LYK_MS_DEFORM_ATTN_SPATIAL_SHAPES]->shape[0];
  return {(*parameters)->host_spatial_shapes, 2 * static_cast<std::size_t>(levels)};
}

Result<std::int64_t> ms_deform_attn_levels(const lyk_tensor* shapes) {
  if (shapes == nullptr)
    return bad_argument(spatial_shapes.name, "NULL");
  if (shapes->ndim != 2)
    return bad_argument(spatial_shapes.name, str(shapes->ndim, " dimensions, not 2"));
  if (shapes->shape == nullptr)
    return bad_argument(spatial_shapes.name, "its shape is NULL");
  if (shapes->shape[1] != 2)
    return bad_argument(spatial_shapes.name,
                        str("size ", shapes->shape[1], " of dimension 1, not 2"));
  const std::int64_t levels = shapes->shape[0];
  if (levels < 0)
    return bad_argument(spatial_shapes.name, str(levels, " levels"));
  LYK_TRY(check_level_count(levels));
  return levels;
}

std::uint64_t level_starts_bytes(std::int64_t levels, const lyk_tensor* level_starts) {
  return level_starts != nullptr ? 0 : sizeof(std::int64_t) * static_cast<std::uint64_t>(levels);
}

Result<std::uint64_t> ms_deform_attn_workspace_bytes(const lyk_ms_deform_attn_call& call,
                                                     std::uint32_t flags) {
  LYK_TRY_ASSIGN(const std::int64_t levels, ms_deform_attn_levels(call.spatial_shapes));
  const std::uint64_t starts = level_starts_bytes(levels, call.level_start_index);
  if (call.grad_value == nullptr || call.value == nullptr || call.sampling_locations == nullptr)
    return starts;
  constexpr std::array rules{value, sampling_locations, grad_value};
  const std::array three{call.value, call.sampling_locations, call.grad_value};
  Sizes sizes;
  sizes.set('L', levels, spatial_shapes.name);
  for (std::size_t i = 0; i < three.size(); ++i) {
    // Not its address: where on its device the data will be is not known yet.
    LYK_TRY(check_shape(rules[i], three[i]));
    LYK_TRY(sizes.match(rules[i], *three[i]));
  }
  LYK_TRY(check_one_device(rules, three.data()));
  return cuda_ms_deform_attn_room(starts, *call.value, *call.sampling_locations, flags).bytes;
}

}  // namespace lyk::client
