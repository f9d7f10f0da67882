#include "client/quantization_layout.hpp"

#include <algorithm>
#include <array>

#include "client/c_interface.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

bool is_16_bits(const lyk_tensor& tensor) {
  return (tensor.dtype.code == LYK_DTYPE_FLOAT || tensor.dtype.code == LYK_DTYPE_BFLOAT) &&
         tensor.dtype.bits == 16;
}

bool is_of_one_type(const lyk_tensor& a, const lyk_tensor& b) {
  return a.dtype.code == b.dtype.code && a.dtype.bits == b.dtype.bits;
}

bool is_e4m3(const lyk_tensor& tensor) {
  return tensor.dtype.code == LYK_DTYPE_FLOAT8_E4M3FN && tensor.dtype.bits == 8;
}

struct NamedTensor {
  std::string_view name;
  const lyk_tensor& tensor;
};

// The scales along one dimension: side by side, or all of them one.
Result<Channels> with_scale(const NamedTensor& tensor,
                            std::int64_t axis,
                            const lyk_tensor& scale,
                            std::int32_t scale_dimension) {
  const std::int64_t stride = stride_of(scale, scale_dimension);
  const bool is_one = stride == 0 || scale.shape[scale_dimension] == 1;
  if (!is_one && stride != 1)
    return not_taken("scale", " is not dense");
  LYK_TRY_ASSIGN(
      const slots::ChannelAxis channels,
      channel_axis(tensor.name, tensor.tensor, is_one ? std::nullopt : std::optional{axis}));
  return Channels{channels, data_of<const float>(scale)};
}

// The scale of (rows, groups), which has passed the check.
Result<slots::GroupScale> group_scale(const lyk_tensor& scale,
                                      std::size_t rows,
                                      std::size_t groups) {
  slots::GroupScale out{.data = data_of<const float>(scale)};
  if (scale.ndim > 2)
    return not_taken("scale", " has more than 2 dimensions");
  if (element_count(scale) == 0)
    return not_taken("scale", " has no elements");
  const auto stride = [&](std::int32_t back) {
    const std::int32_t d = scale.ndim - 1 - back;
    return d < 0 || scale.shape[d] == 1 ? 0 : stride_of(scale, d);
  };
  const auto size = [&](std::int32_t back) {
    const std::int32_t d = scale.ndim - 1 - back;
    return d < 0 ? std::size_t{1} : static_cast<std::size_t>(scale.shape[d]);
  };
  // One that is larger would make more of the weight than there is.
  if (size(0) > std::max<std::size_t>(groups, 1) || size(1) > std::max<std::size_t>(rows, 1))
    return not_taken("scale", " has more elements than there are groups");
  out.group_stride = stride(0);
  out.row_stride = stride(1);
  return out;
}

// `held`: the columns that are in groups, of which the output may have fewer.
Result<Grouping> grouping(const lyk_int_grouped_parameters& parameters,
                          const Rows& output,
                          std::size_t held,
                          const lyk_tensor* scale) {
  // Kernels count a group in 32 bits.
  constexpr std::int64_t group_size_max = std::int64_t{1} << 30;
  if (parameters.group_size > group_size_max)
    return not_taken("group_size is ", str(parameters.group_size));
  Grouping out{.rows = output.rows,
               .columns = output.columns,
               .bits = parameters.bits,
               .group_size = static_cast<std::size_t>(parameters.group_size)};
  if (scale != nullptr) {
    LYK_TRY_ASSIGN(out.scale,
                   group_scale(*scale, out.rows, slots::groups_in(held, out.group_size)));
  }
  return out;
}

}  // namespace

std::optional<slots::ChannelAxis> find_channels(const lyk_tensor& tensor,
                                                std::optional<std::int64_t> axis) {
  // From the innermost dimension outwards, the next is the one whose stride is what lies inside.
  slots::ChannelAxis out{.outer = 1, .channels = 1, .inner = 1};
  std::array<bool, tensor_dimensions_max> is_seen{};
  bool is_outside = false;
  std::int64_t inside = 1;
  for (std::int32_t left = 0; left < tensor.ndim; ++left) {
    std::int32_t next = 0;
    while (next < tensor.ndim && (is_seen[static_cast<std::size_t>(next)] ||
                                  (tensor.shape[next] != 1 && stride_of(tensor, next) != inside)))
      ++next;
    if (next == tensor.ndim)
      return std::nullopt;
    is_seen[static_cast<std::size_t>(next)] = true;
    inside *= tensor.shape[next];
    const auto size = static_cast<std::size_t>(tensor.shape[next]);
    if (next == axis) {
      out.channels = size;
      is_outside = true;
    } else {
      (is_outside ? out.outer : out.inner) *= size;
    }
  }
  return slots::joined(out);
}

Result<slots::ChannelAxis> channel_axis(std::string_view name,
                                        const lyk_tensor& tensor,
                                        std::optional<std::int64_t> axis) {
  const std::optional<slots::ChannelAxis> channels = find_channels(tensor, axis);
  if (!channels)
    return not_taken(name, " has gaps");
  return *channels;
}

bool lie_alike(const lyk_tensor& a, const lyk_tensor& b) {
  for (std::int32_t d = 0; d < a.ndim; ++d)
    if (a.shape[d] != 1 && stride_of(a, d) != stride_of(b, d))
      return false;
  return true;
}

Result<void> check_elements(const QuantizationSlot& slot,
                            const lyk_arguments& arguments,
                            ElementTypes types) {
  const auto rules = rules_of(slot, arguments.operation);
  const lyk_tensor& first = *arguments.tensors[0];
  const bool is_narrow = types == ElementTypes::any_16_bits && is_16_bits(first);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const lyk_tensor* tensor = arguments.tensors[i];
    if (tensor == nullptr || rules[i].elements == Elements::uint8)
      continue;
    if (rules[i].name == "block_scale" && is_e4m3(*tensor))
      continue;
    const bool is_value = i == 0 || i >= slot.inputs;  // and not a scale
    if (is_narrow && is_value) {
      if (!is_of_one_type(*tensor, first))
        return not_taken(rules[i].name, " is not of the type of ", rules[0].name);
    } else if (!is_float32(*tensor)) {
      return not_taken(rules[i].name, " is not float32");
    }
  }
  return {};
}

Result<void> check_lie_alike(const QuantizationSlot& slot, const lyk_arguments& arguments) {
  const auto rules = rules_of(slot, arguments.operation);
  for (std::size_t i = slot.inputs; i < rules.size(); ++i)
    if (!lie_alike(*arguments.tensors[i], *arguments.tensors[0]))
      return not_taken(rules[i].name, " does not lie as ", rules[0].name);
  return {};
}

Result<void> check_row_major(const QuantizationSlot& slot, const lyk_arguments& arguments) {
  const auto rules = rules_of(slot, arguments.operation);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const bool is_free = rules[i].name == "scale";
    if (!is_free && arguments.tensors[i] != nullptr && !is_dense(*arguments.tensors[i]))
      return not_taken(rules[i].name, " is not dense and row-major");
  }
  return {};
}

Result<Channels> int8_channels(const lyk_arguments& arguments) {
  const lyk_tensor& weight = *arguments.tensors[LYK_FAKE_QUANT_INT8_PER_CHANNEL_WEIGHT];
  const lyk_tensor* scale = arguments.tensors[LYK_FAKE_QUANT_INT8_PER_CHANNEL_SCALE];
  const std::int64_t axis = channel_axis_of(arguments);
  if (scale != nullptr)
    return with_scale({"weight", weight}, axis, *scale, 0);
  LYK_TRY_ASSIGN(const slots::ChannelAxis channels, channel_axis("weight", weight, axis));
  return Channels{channels, nullptr};
}

Result<Channels> fp8_channels(const lyk_arguments& arguments) {
  const lyk_tensor& x = *arguments.tensors[LYK_FAKE_QUANT_FP8_X];
  const lyk_tensor& scale = *arguments.tensors[LYK_FAKE_QUANT_FP8_SCALE];
  LYK_TRY_ASSIGN(const ScaleAxis axis, scale_axis(x, scale));
  if (!axis.is_number)
    return with_scale({"x", x}, axis.of_x, scale, axis.of_scale);
  LYK_TRY_ASSIGN(const slots::ChannelAxis channels, channel_axis("x", x, std::nullopt));
  return Channels{channels, data_of<const float>(scale)};
}

Rows rows_of(const lyk_tensor& tensor) {
  const auto columns = static_cast<std::size_t>(tensor.shape[tensor.ndim - 1]);
  const auto elements = static_cast<std::size_t>(element_count(tensor));
  return {.rows = columns == 0 ? 0 : elements / columns, .columns = columns};
}

Result<Grouping> fake_quant_grouping(const lyk_arguments& arguments) {
  const lyk_int_grouped_parameters parameters = grouping_of(arguments);
  constexpr std::uint32_t bits_min = 2;
  constexpr std::uint32_t bits_max = 8;
  if (parameters.bits < bits_min || parameters.bits > bits_max)
    return not_taken("bits is ", str(parameters.bits), ", not 2 to 8");
  const Rows rows = rows_of(*arguments.tensors[LYK_FAKE_QUANT_INT_GROUPED_WEIGHT]);
  return grouping(parameters, rows, rows.columns,
                  arguments.tensors[LYK_FAKE_QUANT_INT_GROUPED_SCALE]);
}

Result<Grouping> unpack_grouping(const lyk_arguments& arguments) {
  const lyk_int_grouped_parameters parameters = grouping_of(arguments);
  const lyk_tensor& payload = *arguments.tensors[LYK_UNPACK_INT_GROUPED_PAYLOAD];
  const auto held = static_cast<std::size_t>(payload.shape[1] * (8 / parameters.bits));
  return grouping(parameters, rows_of(*arguments.tensors[LYK_UNPACK_INT_GROUPED_OUTPUT]), held,
                  arguments.tensors[LYK_UNPACK_INT_GROUPED_SCALE]);
}

bool has_nothing_to_write(const QuantizationSlot& slot, const lyk_arguments& arguments) {
  const std::size_t written = rules_of(slot, arguments.operation).size() - 1;
  return element_count(*arguments.tensors[written]) == 0;
}

}  // namespace lyk::client
