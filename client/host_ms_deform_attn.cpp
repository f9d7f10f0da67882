#include "client/host_ms_deform_attn.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "client/c_interface.hpp"
#include "client/ms_deform_attn.hpp"
#include "client/tensor_checks.hpp"
#include "kernels/cpu/execution.hpp"
#include "kernels/cpu/ms_deform_attn.hpp"
#include "kernels/slots/ms_deform_attn.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

Result<void> check_takes(const lyk_arguments& arguments) {
  const auto rules = ms_deform_attn_rules(arguments.operation);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const lyk_tensor* tensor = arguments.tensors[i];
    if (tensor == nullptr)
      continue;
    if (!is_on_host(*tensor))
      return not_taken("the tensors are not in host memory");
    if (rules[i].elements == Elements::floating && !is_float32(*tensor))
      return not_taken(rules[i].name, " is not float32");
    if (!may_be_strided(rules[i]) && !is_dense(*tensor))
      return not_taken(rules[i].name, " is not dense and row-major");
  }
  if (ms_deform_attn_sizes(arguments).cells > std::numeric_limits<std::int32_t>::max())
    return not_taken("value has more cells than 31 bits count");
  return {};
}

// What a GPU reads, and processors need not.
Result<void> check_levels_agree(const lyk_arguments& arguments) {
  const std::span<const std::int64_t> levels = host_spatial_shapes_of(arguments);
  const auto* sizes =
      data_of<const std::int64_t>(*arguments.tensors[LYK_MS_DEFORM_ATTN_SPATIAL_SHAPES]);
  const lyk_tensor* given_starts = arguments.tensors[LYK_MS_DEFORM_ATTN_LEVEL_START_INDEX];
  const auto* starts =
      given_starts == nullptr ? nullptr : data_of<const std::int64_t>(*given_starts);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < levels.size(); i += 2) {
    if (sizes[i] != levels[i] || sizes[i + 1] != levels[i + 1])
      return bad_argument("spatial_shapes",
                          str("level ", i / 2, " of ", sizes[i], " x ", sizes[i + 1],
                              ", and host_spatial_shapes has ", levels[i], " x ", levels[i + 1]));
    if (starts != nullptr && starts[i / 2] != start)
      return bad_argument("level_start_index", str("level ", i / 2, " begins at ", starts[i / 2],
                                                   ", and the areas before it sum up to ", start));
    start += levels[i] * levels[i + 1];
  }
  return {};
}

template <typename Element>
std::span<Element> elements_at(const lyk_arguments& arguments, std::size_t place) {
  return elements_of<Element>(*arguments.tensors[place]);
}

slots::ValueStrides strides_of(const lyk_tensor& value) {
  const CellStrides strides = cell_strides(value);
  return {.batch = strides.batch,
          .cell = strides.cell,
          .head = strides.head,
          .channel = strides.channel};
}

slots::MsDeformAttn<float> slot_call(const lyk_arguments& arguments) {
  const DeformSizes sizes = ms_deform_attn_sizes(arguments);
  const auto count = [](std::int64_t size) { return static_cast<std::size_t>(size); };
  const lyk_tensor& value = *arguments.tensors[LYK_MS_DEFORM_ATTN_VALUE];
  return {.sizes = {.batch = count(sizes.batch),
                    .cells = count(sizes.cells),
                    .heads = count(sizes.heads),
                    .channels = count(sizes.channels),
                    .queries = count(sizes.queries),
                    .levels = count(sizes.levels),
                    .points = count(sizes.points)},
          .value = data_of<const float>(value),
          .value_strides = strides_of(value),
          .spatial_shapes = host_spatial_shapes_of(arguments),
          .locations = elements_at<const float>(arguments, LYK_MS_DEFORM_ATTN_SAMPLING_LOCATIONS),
          .weights = elements_at<const float>(arguments, LYK_MS_DEFORM_ATTN_ATTENTION_WEIGHTS)};
}

// Where there is nothing to compute. grad_value is written in whatever order it lies.
void fill_outputs(const lyk_arguments& arguments) {
  const auto rules = ms_deform_attn_rules(arguments.operation);
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].access == Access::writes && !may_be_strided(rules[i]))
      std::ranges::fill(elements_at<float>(arguments, i), 0.0F);
  if (arguments.operation == LYK_FORWARD)
    return;
  const lyk_tensor& tensor = *arguments.tensors[LYK_MS_DEFORM_ATTN_GRAD_VALUE];
  const CellStrides strides = cell_strides(tensor);
  for (std::int64_t b = 0; b < tensor.shape[0]; ++b)
    for (std::int64_t s = 0; s < tensor.shape[1]; ++s)
      for (std::int64_t h = 0; h < tensor.shape[2]; ++h)
        for (std::int64_t c = 0; c < tensor.shape[3]; ++c)
          data_of<float>(tensor)[b * strides.batch + s * strides.cell + h * strides.head +
                                 c * strides.channel] = 0;
}

}  // namespace

Result<void> run_host_ms_deform_attn(HostThreads& threads, const lyk_arguments& arguments) {
  LYK_TRY(check_takes(arguments));
  if (has_nothing_to_compute(ms_deform_attn_sizes(arguments))) {
    fill_outputs(arguments);
    return {};
  }
  LYK_TRY(check_levels_agree(arguments));
  const cpu::Execution execution{.workers = threads.get()};
  const auto accumulation =
      (arguments.flags & LYK_FP64_SUMS) != 0 ? cpu::Accumulation::fp64 : cpu::Accumulation::fp32;
  const slots::MsDeformAttn<float> call = slot_call(arguments);
  if (arguments.operation == LYK_FORWARD) {
    cpu::ms_deform_attn(call, elements_at<float>(arguments, LYK_MS_DEFORM_ATTN_OUTPUT), execution,
                        accumulation);
    return {};
  }
  const lyk_tensor& grad_value = *arguments.tensors[LYK_MS_DEFORM_ATTN_GRAD_VALUE];
  cpu::ms_deform_attn_backward(
      call, elements_at<const float>(arguments, LYK_MS_DEFORM_ATTN_GRAD_OUTPUT),
      {.value = data_of<float>(grad_value),
       .value_strides = strides_of(grad_value),
       .locations = elements_at<float>(arguments, LYK_MS_DEFORM_ATTN_GRAD_SAMPLING_LOCATIONS),
       .weights = elements_at<float>(arguments, LYK_MS_DEFORM_ATTN_GRAD_ATTENTION_WEIGHTS)},
      execution, accumulation);
  return {};
}

}  // namespace lyk::client
