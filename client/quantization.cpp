#include "client/quantization.hpp"

#include <algorithm>
#include <array>

#include "client/c_interface.hpp"
#include "client/quantization_layout.hpp"
#include "kernels/cuda/launch.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

// ---- tensors

constexpr TensorRule row(std::string_view name) {
  return {.name = name, .shape = any_row_shape};
}
constexpr TensorRule any(std::string_view name) {
  return {.name = name, .shape = any_shape};
}
constexpr TensorRule optional(std::string_view name) {
  return {.name = name, .shape = any_shape, .presence = Presence::optional};
}
constexpr TensorRule written(std::string_view name) {
  return {.name = name, .shape = any_shape, .access = Access::writes};
}
constexpr TensorRule payload{.name = "payload", .shape = "RY", .elements = Elements::uint8};
constexpr TensorRule unpacked{.name = "output", .shape = "RC", .access = Access::writes};

constexpr std::array int8_per_channel_forward{row("weight"), optional("scale"), written("output")};
constexpr std::array int8_per_channel_backward{row("weight"), optional("scale"), any("grad_output"),
                                               written("grad_weight")};
constexpr std::array int8_affine_forward{any("x"), any("lo"), any("hi"), written("output")};
constexpr std::array int8_affine_backward{any("x"), any("lo"), any("hi"), any("grad_output"),
                                          written("grad_x")};
constexpr std::array fp8_forward{any("x"), any("scale"), written("output")};
constexpr std::array fp8_backward{any("x"), any("scale"), any("grad_output"), written("grad_x")};
constexpr TensorRule weight_matrix{.name = "weight", .shape = "RC"};
constexpr std::array int_grouped_forward{weight_matrix, optional("scale"), written("output")};
constexpr std::array int_grouped_backward{weight_matrix, optional("scale"), any("grad_output"),
                                          written("grad_weight")};
constexpr std::array nvfp4_weight_forward{row("weight"), any("tensor_amax"), written("output")};
constexpr std::array nvfp4_weight_backward{row("weight"), any("tensor_amax"), any("grad_output"),
                                           written("grad_weight")};
// nvfp4_dynamic and both of mxfp4.
constexpr std::array blocks_forward{row("x"), written("output")};
constexpr std::array blocks_backward{row("x"), any("grad_output"), written("grad_x")};
constexpr std::array unpack_int_grouped_forward{payload, any("scale"), unpacked};
constexpr std::array unpack_nvfp4_forward{payload, TensorRule{.name = "block_scale", .shape = "RB"},
                                          any("tensor_amax"), unpacked};

// ---- parameters

Result<lyk_fake_quant_int8_per_channel_parameters> read_channel_parameters(
    const lyk_arguments& arguments) {
  using Parameters = lyk_fake_quant_int8_per_channel_parameters;
  Parameters storage{};
  LYK_TRY_ASSIGN(
      const Parameters* parameters,
      view_struct(static_cast<const Parameters*>(arguments.parameters), "parameters", storage));
  if (parameters->reserved != 0)
    return bad_argument("parameters", str("reserved is ", parameters->reserved, ", not zero"));
  const int rank = arguments.tensors[0]->ndim;
  if (parameters->channel_axis < 0 || parameters->channel_axis >= rank)
    return bad_argument("parameters",
                        str("channel_axis ", parameters->channel_axis, " is not 0 to ", rank - 1));
  return *parameters;
}

Result<lyk_int_grouped_parameters> read_grouping(const lyk_arguments& arguments) {
  lyk_int_grouped_parameters storage{};
  LYK_TRY_ASSIGN(const auto* parameters,
                 view_struct(static_cast<const lyk_int_grouped_parameters*>(arguments.parameters),
                             "parameters", storage));
  if (parameters->group_size < 1)
    return bad_argument("parameters", str("group_size is ", parameters->group_size));
  return *parameters;
}

Result<void> check_no_parameters(const lyk_arguments& arguments) {
  if (arguments.parameters != nullptr)
    return bad_argument("parameters", "this slot has none: not NULL");
  return {};
}

// ---- what slots ask for

Result<void> check_not_empty(const lyk_tensor& tensor, std::string_view name) {
  if (element_count(tensor) == 0)
    return bad_argument(name, "it has no elements");
  return {};
}

Result<void> check_has_rows(const lyk_tensor& matrix, std::string_view name) {
  if (matrix.shape[0] == 0)
    return bad_argument(name, "it has no rows");
  return {};
}

Result<void> check_one_element(const lyk_tensor& tensor, std::string_view name) {
  if (element_count(tensor) != 1)
    return bad_argument(name, str(element_count(tensor), " elements, not 1"));
  return {};
}

// Whether `scale` broadcasts to (rows, groups), or they to it; what it means where it does is no
// business of this.
Result<void> check_group_scale(const lyk_tensor& scale, std::int64_t rows, std::int64_t groups) {
  const std::array<std::int64_t, 2> wanted{groups, rows};
  for (std::int32_t back = 0; back < std::min(scale.ndim, 2); ++back) {
    const std::int64_t size = scale.shape[scale.ndim - 1 - back];
    const std::int64_t target = wanted[static_cast<std::size_t>(back)];
    if (size != 1 && size != target && target != 1)
      return bad_argument("scale", str("size ", size, " of dimension ", scale.ndim - 1 - back,
                                       " does not broadcast to ", rows, " x ", groups));
  }
  return {};
}

Result<void> check_int8_per_channel(const lyk_arguments& arguments) {
  LYK_TRY_ASSIGN(const auto parameters, read_channel_parameters(arguments));
  const lyk_tensor& weight = *arguments.tensors[LYK_FAKE_QUANT_INT8_PER_CHANNEL_WEIGHT];
  const lyk_tensor* scale = arguments.tensors[LYK_FAKE_QUANT_INT8_PER_CHANNEL_SCALE];
  if (scale == nullptr)
    return check_not_empty(weight, "weight");
  const std::int64_t channels = weight.shape[parameters.channel_axis];
  if (channels == 0)
    return bad_argument("weight", "it has no channels");
  if (scale->ndim != 1)
    return bad_argument("scale", str(scale->ndim, " dimensions, not 1"));
  if (scale->shape[0] != channels)
    return bad_argument("scale",
                        str(scale->shape[0], " elements, and weight has ", channels, " channels"));
  return {};
}

Result<void> check_int8_affine(const lyk_arguments& arguments) {
  LYK_TRY(check_no_parameters(arguments));
  LYK_TRY(check_one_element(*arguments.tensors[LYK_FAKE_QUANT_INT8_AFFINE_LO], "lo"));
  return check_one_element(*arguments.tensors[LYK_FAKE_QUANT_INT8_AFFINE_HI], "hi");
}

Result<void> check_fp8(const lyk_arguments& arguments) {
  LYK_TRY(check_no_parameters(arguments));
  const auto axis = scale_axis(*arguments.tensors[LYK_FAKE_QUANT_FP8_X],
                               *arguments.tensors[LYK_FAKE_QUANT_FP8_SCALE]);
  // What broadcasts in a way of its own is for whoever takes it.
  if (!axis && axis.error().code == Code::invalid_argument)
    return axis.error();
  return {};
}

Result<void> check_int_grouped(const lyk_arguments& arguments) {
  LYK_TRY_ASSIGN(const auto grouping, read_grouping(arguments));
  const lyk_tensor& weight = *arguments.tensors[LYK_FAKE_QUANT_INT_GROUPED_WEIGHT];
  const std::int64_t rows = weight.shape[0];
  const std::int64_t columns = weight.shape[1];
  LYK_TRY(check_has_rows(weight, "weight"));
  const lyk_tensor* scale = arguments.tensors[LYK_FAKE_QUANT_INT_GROUPED_SCALE];
  if (scale == nullptr)
    return {};
  const std::size_t groups = slots::groups_in(static_cast<std::size_t>(columns),
                                              static_cast<std::size_t>(grouping.group_size));
  LYK_TRY(check_group_scale(*scale, rows, static_cast<std::int64_t>(groups)));
  return columns == 0 ? Result<void>{} : check_not_empty(*scale, "scale");
}

Result<void> check_nvfp4_weight(const lyk_arguments& arguments) {
  LYK_TRY(check_no_parameters(arguments));
  return check_one_element(*arguments.tensors[LYK_FAKE_QUANT_NVFP4_WEIGHT_TENSOR_AMAX],
                           "tensor_amax");
}

Result<void> check_nvfp4_dynamic(const lyk_arguments& arguments) {
  LYK_TRY(check_no_parameters(arguments));
  return check_not_empty(*arguments.tensors[LYK_FAKE_QUANT_NVFP4_DYNAMIC_X], "x");
}

Result<void> check_unpack_int_grouped(const lyk_arguments& arguments) {
  LYK_TRY_ASSIGN(const auto grouping, read_grouping(arguments));
  if (grouping.bits != 2 && grouping.bits != 4)
    return bad_argument("parameters", str("bits is ", grouping.bits, ", not 2 or 4"));
  const lyk_tensor& packed = *arguments.tensors[LYK_UNPACK_INT_GROUPED_PAYLOAD];
  LYK_TRY(check_has_rows(packed, "payload"));
  const std::int64_t held = packed.shape[1] * (8 / grouping.bits);
  if (held % grouping.group_size != 0)
    return bad_argument("payload", str("a row holds ", held, " codes, which is no multiple of ",
                                       grouping.group_size, ", the group_size"));
  const std::int64_t columns = arguments.tensors[LYK_UNPACK_INT_GROUPED_OUTPUT]->shape[1];
  if (columns > held)
    return bad_argument("output", str(columns, " columns, and a row of payload holds ", held));
  return check_group_scale(*arguments.tensors[LYK_UNPACK_INT_GROUPED_SCALE], packed.shape[0],
                           held / grouping.group_size);
}

Result<void> check_unpack_nvfp4(const lyk_arguments& arguments) {
  LYK_TRY(check_no_parameters(arguments));
  const lyk_tensor& packed = *arguments.tensors[LYK_UNPACK_NVFP4_PAYLOAD];
  LYK_TRY(check_has_rows(packed, "payload"));
  const std::int64_t row_bytes = packed.shape[1];
  constexpr auto block = static_cast<std::int64_t>(slots::nvfp4_block);
  constexpr std::int64_t block_bytes = block / 2;
  if (row_bytes % block_bytes != 0)
    return bad_argument(
        "payload", str("rows of ", row_bytes, " bytes, which is no multiple of ", block_bytes));
  const std::int64_t blocks = row_bytes / block_bytes;
  const std::int64_t scales = arguments.tensors[LYK_UNPACK_NVFP4_BLOCK_SCALE]->shape[1];
  if (scales != blocks)
    return bad_argument("block_scale",
                        str(scales, " columns, and a row of payload has ", blocks, " blocks"));
  const std::int64_t columns = arguments.tensors[LYK_UNPACK_NVFP4_OUTPUT]->shape[1];
  if (columns > blocks * block)
    return bad_argument("output",
                        str(columns, " columns, and a row of payload holds ", blocks * block));
  return check_one_element(*arguments.tensors[LYK_UNPACK_NVFP4_TENSOR_AMAX], "tensor_amax");
}

// ---- workspaces: one word for each scale that has to be found out before anything can be rounded

constexpr std::uint64_t scale_bytes = 4;

std::uint64_t bytes_of_int8_per_channel(const lyk_arguments& arguments) {
  if (arguments.tensors[LYK_FAKE_QUANT_INT8_PER_CHANNEL_SCALE] != nullptr)
    return 0;
  const auto axis = find_channels(*arguments.tensors[0], channel_axis_of(arguments));
  // What has gaps is taken by nobody.
  if (!axis || cuda::channel_scales(nullptr, axis->outer) != cuda::ChannelScales::scattered)
    return 0;
  return scale_bytes * axis->channels;
}

std::uint64_t bytes_of_nvfp4_dynamic(const lyk_arguments& /*arguments*/) {
  return scale_bytes;
}

// ---- the table

constexpr std::array<QuantizationSlot, 10> all_slots{{
    {"fake_quant_int8_per_channel", int8_per_channel_forward, int8_per_channel_backward, 2,
     check_int8_per_channel, bytes_of_int8_per_channel},
    {"fake_quant_int8_affine", int8_affine_forward, int8_affine_backward, 3, check_int8_affine},
    {"fake_quant_fp8", fp8_forward, fp8_backward, 2, check_fp8},
    {"fake_quant_int_grouped", int_grouped_forward, int_grouped_backward, 2, check_int_grouped},
    {"fake_quant_nvfp4_weight", nvfp4_weight_forward, nvfp4_weight_backward, 2, check_nvfp4_weight},
    {"fake_quant_nvfp4_dynamic", blocks_forward, blocks_backward, 1, check_nvfp4_dynamic,
     bytes_of_nvfp4_dynamic},
    {"fake_quant_mxfp4_weight", blocks_forward, blocks_backward, 1, check_no_parameters},
    {"fake_quant_mxfp4_dynamic", blocks_forward, blocks_backward, 1, check_no_parameters},
    {"unpack_int_grouped", unpack_int_grouped_forward, {}, 2, check_unpack_int_grouped},
    {"unpack_nvfp4", unpack_nvfp4_forward, {}, 3, check_unpack_nvfp4},
}};

// ---- the whole call

// Outputs and gradients of fake_quant_* are as the first tensor.
Result<void> check_shape_as_first(const TensorRule& rule,
                                  const lyk_tensor& tensor,
                                  const TensorRule& first_rule,
                                  const lyk_tensor& first) {
  if (tensor.ndim != first.ndim)
    return bad_argument(
        rule.name, str(tensor.ndim, " dimensions, and ", first_rule.name, " has ", first.ndim));
  for (std::int32_t d = 0; d < tensor.ndim; ++d)
    if (tensor.shape[d] != first.shape[d])
      return bad_argument(rule.name, str("size ", tensor.shape[d], " of dimension ", d, ", where ",
                                         first_rule.name, " has ", first.shape[d]));
  return {};
}

// All but the tensors' addresses.
Result<void> check_layouts(const QuantizationSlot& slot, const lyk_arguments& arguments) {
  LYK_TRY(check_operation(arguments));
  const auto rules = rules_of(slot, arguments.operation);
  if (rules.empty())
    return Error{Code::not_eligible, str(slot.name, " has no backward")};
  LYK_TRY(check_count(arguments, rules));
  const bool is_fake_quant = !slot.backward.empty();
  Sizes sizes;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const lyk_tensor* tensor = arguments.tensors[i];
    LYK_TRY(check_layout(rules[i], tensor));
    if (tensor == nullptr)
      continue;
    LYK_TRY(sizes.match(rules[i], *tensor));
    if (is_fake_quant && i >= slot.inputs)
      LYK_TRY(check_shape_as_first(rules[i], *tensor, rules[0], *arguments.tensors[0]));
  }
  LYK_TRY(check_one_device(rules, arguments.tensors));
  return slot.check(arguments);
}

std::uint64_t needed_bytes(const QuantizationSlot& slot, const lyk_arguments& arguments) {
  const bool needs_some = slot.workspace_bytes != nullptr && is_on_gpu(*arguments.tensors[0]);
  return needs_some ? slot.workspace_bytes(arguments) : 0;
}

}  // namespace

std::span<const QuantizationSlot> quantization_slots() {
  return all_slots;
}

const QuantizationSlot* find_quantization_slot(std::string_view name) {
  const auto* const found = std::find_if(all_slots.begin(), all_slots.end(),
                                         [&](const auto& slot) { return slot.name == name; });
  return found == all_slots.end() ? nullptr : found;
}

Result<void> check_quantization(const QuantizationSlot& slot, const lyk_arguments& arguments) {
  LYK_TRY(check_layouts(slot, arguments));
  const auto rules = rules_of(slot, arguments.operation);
  for (std::size_t i = 0; i < rules.size(); ++i)
    LYK_TRY(check_address(rules[i], arguments.tensors[i]));
  LYK_TRY(check_outputs_apart(rules, arguments.tensors));
  return check_workspace(arguments, rules, needed_bytes(slot, arguments));
}

Result<std::uint64_t> quantization_workspace_bytes(const QuantizationSlot& slot,
                                                   const lyk_arguments& arguments) {
  LYK_TRY(check_layouts(slot, arguments));
  return needed_bytes(slot, arguments);
}

std::span<const TensorRule> rules_of(const QuantizationSlot& slot, std::uint32_t operation) {
  return operation == LYK_BACKWARD ? slot.backward : slot.forward;
}

std::int64_t channel_axis_of(const lyk_arguments& arguments) {
  return read_channel_parameters(arguments)->channel_axis;
}

lyk_int_grouped_parameters grouping_of(const lyk_arguments& arguments) {
  return *read_grouping(arguments);
}

Result<ScaleAxis> scale_axis(const lyk_tensor& x, const lyk_tensor& scale) {
  ScaleAxis out;
  for (std::int32_t d = 0; d < scale.ndim; ++d) {
    const std::int64_t size = scale.shape[d];
    const std::int32_t of_x = d + x.ndim - scale.ndim;  // negative: x has no such dimension
    if (size == 1)
      continue;
    if (of_x >= 0 && x.shape[of_x] != 1 && x.shape[of_x] != size)
      return bad_argument("scale", str("size ", size, " of dimension ", d,
                                       " does not broadcast to x, which has ", x.shape[of_x]));
    if (of_x < 0 || x.shape[of_x] == 1)
      return Error{Code::not_eligible, "scale has more elements than x along one axis"};
    if (!out.is_number)
      return Error{Code::not_eligible, "scale has several axes"};
    out = {.is_number = false, .of_x = of_x, .of_scale = d};
  }
  return out;
}

}  // namespace lyk::client
