#include "tests/client/scaled_call.hpp"

#include <cstring>
#include <span>

#include "kernels/reference/fake_quant_fp8.hpp"
#include "kernels/reference/fake_quant_int8_per_channel.hpp"
#include "kernels/reference/fake_quant_int_grouped.hpp"
#include "kernels/reference/unpack_int_grouped.hpp"
#include "proto/text.hpp"

namespace lyk::test {

namespace {

constexpr auto rows = static_cast<std::size_t>(scaled_sizes.rows);
constexpr auto columns = static_cast<std::size_t>(scaled_sizes.columns);

float scale_number(std::int64_t number) {
  return 0.011F + 0.0053F * static_cast<float>(number);
}

// In the order of memory.
Floats scales_of(const ScaleForm& form) {
  Floats out(static_cast<std::size_t>(form.rows * form.columns));
  for (std::int64_t row = 0; row < form.rows; ++row)
    for (std::int64_t column = 0; column < form.columns; ++column) {
      const std::int64_t number = row * form.columns + column;
      const std::int64_t place =
          form.strides.empty() ? number : row * form.strides[0] + column * form.strides[1];
      out[static_cast<std::size_t>(place)] = scale_number(number);
    }
  return out;
}

// In the order of elements.
Floats scales_of_elements(const ScaleForm& form) {
  Floats out;
  for (std::int64_t row = 0; row < scaled_sizes.rows; ++row)
    for (std::int64_t column = 0; column < scaled_sizes.columns; ++column)
      out.push_back(
          scale_number(row % form.rows * form.columns + column / form.group % form.columns));
  return out;
}

void add_forms_of_groups(std::vector<ScaleForm>& forms, const ScaleForm& of_slot) {
  const std::int64_t all = scaled_sizes.rows;
  const std::int64_t groups = scaled_sizes.columns / of_slot.group;
  ScaleForm form = of_slot;
  form.columns = groups;
  for (const Shape& shape : {Shape{groups}, Shape{1, groups}}) {
    form.shape = shape;
    forms.push_back(form);
  }
  form.shape = {all, groups};
  form.strides = {0, 1};
  forms.push_back(form);
  form.rows = all;
  for (const Shape& strides : {Shape{}, Shape{1, all}}) {
    form.strides = strides;
    forms.push_back(form);
  }
  form = {.slot = of_slot.slot, .shape = {all, 1}, .rows = all, .group = of_slot.group};
  forms.push_back(form);
}

Floats int8_per_channel(QuantizationCall& call, const Floats& scale, OracleOf device) {
  const Floats weight = call.tensor(0).floats();
  const slots::FakeQuantInt8PerChannel slot{.weight = weight,
                                            .axis = {1, weight.size(), 1},
                                            .scale = scale,
                                            .overflow = device == OracleOf::cuda
                                                            ? slots::CodeOverflow::saturate
                                                            : slots::CodeOverflow::lowest};
  Floats out(weight.size());
  if (call.operation == LYK_FORWARD)
    reference::fake_quant_int8_per_channel(slot, out);
  else
    reference::fake_quant_int8_per_channel_backward(slot, call.tensor(2).floats(), out);
  return out;
}

Floats unpack_int_grouped(QuantizationCall& call, const Floats& scale) {
  const OwnTensor& packed = call.tensor(0);
  std::vector<std::uint8_t> payload(packed.bytes.size());
  std::memcpy(payload.data(), packed.bytes.data(), payload.size());
  Floats out(rows * columns);
  reference::unpack_int_grouped({.payload = payload,
                                 .rows = rows,
                                 .row_bytes = payload.size() / rows,
                                 .columns = columns,
                                 .bits = call.grouping.bits,
                                 .group_size = 1,
                                 .scale = {scale.data(), static_cast<std::ptrdiff_t>(columns), 1}},
                                out);
  return out;
}

}  // namespace

std::string ScaleForm::name() const {
  std::string out = str(slot, ", groups of ", group, ", scale");
  for (const std::int64_t size : shape)
    out += str(" ", size);
  out += strides.empty() ? "" : " in strides";
  for (const std::int64_t stride : strides)
    out += str(" ", stride);
  return out;
}

std::vector<ScaleForm> scale_forms() {
  const auto& [all_rows, all_columns] = scaled_sizes;
  constexpr const char* int8 = "fake_quant_int8_per_channel";
  constexpr const char* fp8 = "fake_quant_fp8";
  std::vector<ScaleForm> out{
      {.slot = int8, .shape = {all_rows}, .rows = all_rows, .channel_axis = 0},
      {.slot = int8, .shape = {all_columns}, .columns = all_columns, .channel_axis = 1},
      {.slot = fp8, .shape = {all_rows, 1}, .rows = all_rows},
      {.slot = fp8, .shape = {1, all_columns}, .columns = all_columns},
      {.slot = fp8, .shape = {all_columns}, .columns = all_columns}};
  // A group that is a power of two, which has a kernel of its own, and one that is none.
  for (const std::int64_t group : {16, 20})
    for (const std::string_view slot : {"fake_quant_int_grouped", "unpack_int_grouped"})
      add_forms_of_groups(out, {.slot = slot, .group = group});
  return out;
}

std::vector<std::uint32_t> operations_of(const ScaleForm& form) {
  if (form.slot == "fake_quant_int8_per_channel")
    return {LYK_FORWARD, LYK_BACKWARD};
  return {LYK_FORWARD};
}

void fill_scaled(QuantizationCall& call, const ScaleForm& form, std::uint32_t operation) {
  call.grouping.group_size = form.group;
  call.channel.channel_axis = form.channel_axis;
  if (operation == LYK_FORWARD)
    fill(call, scaled_sizes);
  else
    fill_backward(call, scaled_sizes);
  call.put(1, form.shape, scales_of(form));
  call.tensor(1).strides = form.strides;
}

Floats of_oracle_by_element(QuantizationCall& call, const ScaleForm& form, OracleOf device) {
  const Floats scale = scales_of_elements(form);
  if (call.slot == "fake_quant_int8_per_channel")
    return int8_per_channel(call, scale, device);
  if (call.slot == "unpack_int_grouped")
    return unpack_int_grouped(call, scale);
  const Floats x = call.tensor(0).floats();
  Floats out(x.size());
  if (call.slot == "fake_quant_fp8")
    reference::fake_quant_fp8({.x = x, .axis = {1, x.size(), 1}, .scale = scale}, out);
  else
    reference::fake_quant_int_grouped(
        {.weight = x,
         .rows = rows,
         .columns = columns,
         .bits = call.grouping.bits,
         .group_size = 1,
         .scale = {scale.data(), static_cast<std::ptrdiff_t>(columns), 1}},
        out);
  return out;
}

}  // namespace lyk::test
