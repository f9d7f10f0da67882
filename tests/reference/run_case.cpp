#include "tests/reference/run_case.hpp"

#include <array>
#include <string_view>

#include "kernels/reference/fake_quant_fp8.hpp"
#include "kernels/reference/fake_quant_int8_affine.hpp"
#include "kernels/reference/fake_quant_int8_per_channel.hpp"
#include "kernels/reference/fake_quant_int_grouped.hpp"
#include "kernels/reference/fake_quant_mxfp4.hpp"
#include "kernels/reference/fake_quant_nvfp4_dynamic.hpp"
#include "kernels/reference/fake_quant_nvfp4_weight.hpp"
#include "kernels/reference/ms_deform_attn.hpp"
#include "kernels/reference/unpack_int_grouped.hpp"
#include "kernels/reference/unpack_nvfp4.hpp"
#include "proto/check.hpp"

namespace lyk::test {
namespace {

using Floats = std::vector<float>;

std::size_t size_at(const Case& given, std::size_t index) {
  return static_cast<std::size_t>(given.numbers.at(index));
}

slots::ScalarDivision division_at(const Case& given, std::size_t index) {
  return static_cast<slots::ScalarDivision>(given.numbers.at(index));
}

Floats floats_at(const Case& given, std::size_t index) {
  return elements_of<float>(given.arrays.at(index));
}

// outer, channels, inner
slots::ChannelAxis axis_of(const Case& given) {
  return {.outer = size_at(given, 0), .channels = size_at(given, 1), .inner = size_at(given, 2)};
}

slots::GroupScale group_scale(const Floats& scale,
                              std::int64_t row_stride,
                              std::int64_t group_stride) {
  return {.data = scale.empty() ? nullptr : scale.data(),
          .row_stride = row_stride,
          .group_stride = group_stride};
}

// outer, channels, inner, scalar division, overflow; weight, scale or nothing, grad_output
std::vector<Bytes> int8_per_channel(const Case& given) {
  const Floats weight = floats_at(given, 0);
  const Floats scale = floats_at(given, 1);
  const slots::FakeQuantInt8PerChannel call{
      .weight = weight,
      .axis = axis_of(given),
      .scale = scale,
      .scalar_division = division_at(given, 3),
      .overflow = static_cast<slots::CodeOverflow>(given.numbers.at(4))};
  Floats output(weight.size());
  Floats gradient(weight.size());
  reference::fake_quant_int8_per_channel(call, output);
  reference::fake_quant_int8_per_channel_backward(call, floats_at(given, 2), gradient);
  return {bytes_of(output), bytes_of(gradient)};
}

// scalar division, NaN as an integer; x, (lo, hi), grad_output
std::vector<Bytes> int8_affine(const Case& given) {
  const Floats x = floats_at(given, 0);
  const Floats range = floats_at(given, 1);
  const slots::FakeQuantInt8Affine call{
      .x = x,
      .lo = range.at(0),
      .hi = range.at(1),
      .scalar_division = division_at(given, 0),
      .nan_as_integer = static_cast<slots::NanAsInteger>(given.numbers.at(1))};
  Floats output(x.size());
  Floats gradient(x.size());
  reference::fake_quant_int8_affine(call, output);
  reference::fake_quant_int8_affine_backward(call, floats_at(given, 2), gradient);
  return {bytes_of(output), bytes_of(gradient)};
}

// outer, channels, inner; x, scale, grad_output
std::vector<Bytes> fp8(const Case& given) {
  const Floats x = floats_at(given, 0);
  const Floats scale = floats_at(given, 1);
  const slots::FakeQuantFp8 call{.x = x, .axis = axis_of(given), .scale = scale};
  Floats output(x.size());
  Floats gradient(x.size());
  reference::fake_quant_fp8(call, output);
  reference::fake_quant_fp8_backward(call, floats_at(given, 2), gradient);
  return {bytes_of(output), bytes_of(gradient)};
}

// rows, columns, bits, group size, two strides of the scale, scalar division; weight, scale or
// nothing, grad_output
std::vector<Bytes> int_grouped(const Case& given) {
  const Floats weight = floats_at(given, 0);
  const Floats scale = floats_at(given, 1);
  const slots::FakeQuantIntGrouped call{
      .weight = weight,
      .rows = size_at(given, 0),
      .columns = size_at(given, 1),
      .bits = static_cast<unsigned>(given.numbers.at(2)),
      .group_size = size_at(given, 3),
      .scale = group_scale(scale, given.numbers.at(4), given.numbers.at(5)),
      .scalar_division = division_at(given, 6)};
  Floats output(weight.size());
  Floats gradient(weight.size());
  reference::fake_quant_int_grouped(call, output);
  reference::fake_quant_int_grouped_backward(call, floats_at(given, 2), gradient);
  return {bytes_of(output), bytes_of(gradient)};
}

// rows, columns, scalar division; weight, tensor_amax, grad_output
std::vector<Bytes> nvfp4_weight(const Case& given) {
  const Floats weight = floats_at(given, 0);
  const slots::FakeQuantNvfp4Weight call{.weight = weight,
                                         .rows = size_at(given, 0),
                                         .columns = size_at(given, 1),
                                         .tensor_amax = floats_at(given, 1).at(0),
                                         .scalar_division = division_at(given, 2)};
  Floats output(weight.size());
  Floats gradient(weight.size());
  reference::fake_quant_nvfp4_weight(call, output);
  reference::fake_quant_nvfp4_weight_backward(call, floats_at(given, 2), gradient);
  return {bytes_of(output), bytes_of(gradient)};
}

// rows, columns, scalar division; x, grad_output
std::vector<Bytes> nvfp4_dynamic(const Case& given) {
  const Floats x = floats_at(given, 0);
  const slots::FakeQuantNvfp4Dynamic call{.x = x,
                                          .rows = size_at(given, 0),
                                          .columns = size_at(given, 1),
                                          .scalar_division = division_at(given, 2)};
  Floats output(x.size());
  Floats gradient(x.size());
  reference::fake_quant_nvfp4_dynamic(call, output);
  reference::fake_quant_nvfp4_dynamic_backward(call, floats_at(given, 1), gradient);
  return {bytes_of(output), bytes_of(gradient)};
}

// rows, columns, rule of the logarithm; x, grad_output
std::vector<Bytes> mxfp4(const Case& given) {
  const Floats x = floats_at(given, 0);
  const slots::FakeQuantMxfp4 call{.x = x,
                                   .rows = size_at(given, 0),
                                   .columns = size_at(given, 1),
                                   .log2 = static_cast<slots::Log2Rule>(given.numbers.at(2))};
  Floats output(x.size());
  Floats gradient(x.size());
  reference::fake_quant_mxfp4(call, output);
  reference::fake_quant_mxfp4_backward(call, floats_at(given, 1), gradient);
  return {bytes_of(output), bytes_of(gradient)};
}

// rows, bytes of a row, columns, bits, group size, two strides of the scale; payload, scale
std::vector<Bytes> unpack_grouped(const Case& given) {
  const auto payload = elements_of<std::uint8_t>(given.arrays.at(0));
  const Floats scale = floats_at(given, 1);
  const slots::UnpackIntGrouped call{
      .payload = payload,
      .rows = size_at(given, 0),
      .row_bytes = size_at(given, 1),
      .columns = size_at(given, 2),
      .bits = static_cast<unsigned>(given.numbers.at(3)),
      .group_size = size_at(given, 4),
      .scale = group_scale(scale, given.numbers.at(5), given.numbers.at(6))};
  Floats output(call.rows * call.columns);
  reference::unpack_int_grouped(call, output);
  return {bytes_of(output)};
}

// rows, blocks, columns, scalar division, whether block scales are fp32; payload, scales,
// tensor_amax
std::vector<Bytes> unpack_blocks(const Case& given) {
  const auto payload = elements_of<std::uint8_t>(given.arrays.at(0));
  const bool is_fp32 = given.numbers.at(4) != 0;
  const auto codes =
      is_fp32 ? std::vector<std::uint8_t>{} : elements_of<std::uint8_t>(given.arrays.at(1));
  const Floats scales = is_fp32 ? floats_at(given, 1) : Floats{};
  const slots::UnpackNvfp4 call{.payload = payload,
                                .rows = size_at(given, 0),
                                .blocks = size_at(given, 1),
                                .columns = size_at(given, 2),
                                .block_scale_e4m3 = codes,
                                .block_scale = scales,
                                .tensor_amax = floats_at(given, 2).at(0),
                                .scalar_division = division_at(given, 3)};
  Floats output(call.rows * call.columns);
  reference::unpack_nvfp4(call, output);
  return {bytes_of(output)};
}

// is double, batch, cells, heads, channels, queries, levels, points, four strides of value, then
// height and width of each level; value, locations, weights, grad_output. grad_value has value's
// strides.
template <typename Scalar>
std::vector<Bytes> attention(const Case& given) {
  const auto value = elements_of<Scalar>(given.arrays.at(0));
  const auto locations = elements_of<Scalar>(given.arrays.at(1));
  const auto weights = elements_of<Scalar>(given.arrays.at(2));
  const auto grad_output = elements_of<Scalar>(given.arrays.at(3));
  constexpr std::ptrdiff_t first_shape = 12;
  const std::vector<std::int64_t> shapes{given.numbers.begin() + first_shape, given.numbers.end()};
  const slots::MsDeformAttn<Scalar> call{.sizes = {.batch = size_at(given, 1),
                                                   .cells = size_at(given, 2),
                                                   .heads = size_at(given, 3),
                                                   .channels = size_at(given, 4),
                                                   .queries = size_at(given, 5),
                                                   .levels = size_at(given, 6),
                                                   .points = size_at(given, 7)},
                                         .value = value.data(),
                                         .value_strides = {.batch = given.numbers.at(8),
                                                           .cell = given.numbers.at(9),
                                                           .head = given.numbers.at(10),
                                                           .channel = given.numbers.at(11)},
                                         .spatial_shapes = shapes,
                                         .locations = locations,
                                         .weights = weights};
  std::vector<Scalar> output(grad_output.size());
  std::vector<Scalar> grad_value(value.size());
  std::vector<Scalar> grad_locations(locations.size());
  std::vector<Scalar> grad_weights(weights.size());
  reference::ms_deform_attn(call, std::span{output});
  reference::ms_deform_attn_backward(call, std::span{grad_output},
                                     {.value = grad_value.data(),
                                      .value_strides = call.value_strides,
                                      .locations = grad_locations,
                                      .weights = grad_weights});
  return {bytes_of(output), bytes_of(grad_value), bytes_of(grad_locations), bytes_of(grad_weights)};
}

std::vector<Bytes> ms_deform_attn(const Case& given) {
  return given.numbers.at(0) != 0 ? attention<double>(given) : attention<float>(given);
}

struct Slot {
  std::string_view name;
  std::vector<Bytes> (*run)(const Case& given);
};

constexpr std::array slots_of_cases{Slot{"fake_quant_int8_per_channel", int8_per_channel},
                                    Slot{"fake_quant_int8_affine", int8_affine},
                                    Slot{"fake_quant_fp8", fp8},
                                    Slot{"fake_quant_int_grouped", int_grouped},
                                    Slot{"fake_quant_nvfp4_weight", nvfp4_weight},
                                    Slot{"fake_quant_nvfp4_dynamic", nvfp4_dynamic},
                                    Slot{"fake_quant_mxfp4_weight", mxfp4},
                                    Slot{"fake_quant_mxfp4_dynamic", mxfp4},
                                    Slot{"unpack_int_grouped", unpack_grouped},
                                    Slot{"unpack_nvfp4", unpack_blocks},
                                    Slot{"ms_deform_attn", ms_deform_attn}};

}  // namespace

std::vector<Bytes> run_case(const Case& given) {
  for (const Slot& slot : slots_of_cases)
    if (slot.name == given.slot)
      return slot.run(given);
  check_failed("the slot of the case is known", __FILE__, __LINE__);
}

}  // namespace lyk::test
