#include "tests/cuda/deform_case.hpp"

#include <array>
#include <random>
#include <span>

#include "kernels/reference/ms_deform_attn.hpp"
#include "tests/reference/bits.hpp"

namespace lyk::test {
namespace {

using slots::MsDeformAttnSizes;

std::vector<float> uniform_floats(std::size_t count, float low, float high, unsigned seed) {
  std::mt19937 generator{seed};
  std::uniform_real_distribution<float> distribution{low, high};
  std::vector<float> values(count);
  for (float& value : values)
    value = distribution(generator);
  return values;
}

cuda::ElementCode code_of(ElementType type) {
  switch (type) {
    case ElementType::f32:
      return cuda::ElementCode::f32;
    case ElementType::f16:
      return cuda::ElementCode::f16;
    case ElementType::bf16:
      return cuda::ElementCode::bf16;
  }
  return cuda::ElementCode::f32;
}

cuda::DeformStrides strides_of(ValueLayout layout, const MsDeformAttnSizes& sizes) {
  if (layout == ValueLayout::dense)
    return cuda::dense_strides(cuda_sizes(sizes));
  const auto cells = static_cast<std::int32_t>(sizes.cells);
  const auto channels = static_cast<std::int64_t>(sizes.channels);
  return {.batch = static_cast<std::int64_t>(sizes.heads) * channels * cells,
          .head = channels * cells,
          .cell = 1,
          .channel = cells};
}

// Calls `visit(place in dense order, place by strides)` for every element of value.
template <typename Visit>
void for_each_place(const MsDeformAttnSizes& sizes,
                    const cuda::DeformStrides& strides,
                    const Visit& visit) {
  std::size_t dense = 0;
  for (std::size_t batch = 0; batch < sizes.batch; ++batch)
    for (std::size_t cell = 0; cell < sizes.cells; ++cell)
      for (std::size_t head = 0; head < sizes.heads; ++head)
        for (std::size_t channel = 0; channel < sizes.channels; ++channel)
          visit(dense++, batch * static_cast<std::size_t>(strides.batch) +
                             cell * static_cast<std::size_t>(strides.cell) +
                             head * static_cast<std::size_t>(strides.head) +
                             channel * static_cast<std::size_t>(strides.channel));
}

template <typename Scalar>
slots::MsDeformAttn<Scalar> oracle_call(const DeformTensors& tensors,
                                        std::span<const Scalar> value,
                                        std::span<const Scalar> locations,
                                        std::span<const Scalar> weights) {
  return {.sizes = tensors.sizes,
          .value = value.data(),
          .value_strides = slots::dense_value_strides(tensors.sizes),
          .spatial_shapes = tensors.shapes,
          .locations = locations,
          .weights = weights};
}

// The inputs of a call on a device. What the call writes is added by its direction.
cuda::MsDeformAttn put_inputs(SoftDevice& device,
                              const DeformCase& given,
                              const DeformTensors& tensors) {
  std::vector<std::int64_t> starts;
  std::int64_t start = 0;
  for (std::size_t level = 0; level < tensors.sizes.levels; ++level) {
    starts.push_back(start);
    start += tensors.shapes[2 * level] * tensors.shapes[2 * level + 1];
  }
  const cuda::DeformStrides strides = strides_of(given.layout, tensors.sizes);
  std::vector<float> value(tensors.value.size());
  for_each_place(tensors.sizes, strides, [&](std::size_t dense, std::size_t place) {
    value[place] = tensors.value[dense];
  });
  cuda::MsDeformAttn call{
      .value = put_as(device, given.value_type, value, given.shift),
      .spatial_shapes = device.put(tensors.shapes),
      .level_start_index = device.put(starts),
      .locations = put_as(device, given.locations_type, tensors.locations),
      .weights = put_as(device, given.weights_type, tensors.weights),
      .grad_output = put_as(device, given.value_type, tensors.grad_output, given.shift),
      .value_strides = strides,
      .grad_value_strides = strides,
      .locations_type = code_of(given.locations_type),
      .weights_type = code_of(given.weights_type)};
  cuda::set_sizes(call, cuda_sizes(tensors.sizes), code_of(given.value_type));
  return call;
}

// What a kernel wants of a device that holds few blocks, but for what the test wants.
constexpr std::uint32_t resident_blocks = 2;
cuda::Grid grid_of(const Launching& how, cuda::Grid wanted) {
  if (how.blocks != 0)
    wanted.x = how.blocks;
  return wanted;
}

// Into `call.grad_value`, which is of the value's type in the end.
void run_atomic(SoftDevice& device,
                const DeformCase& given,
                const cuda::DeformSizes& sizes,
                cuda::MsDeformAttn call,
                const Launching& how) {
  const std::string type = suffix(given.value_type);
  void* const grad_value = call.grad_value;
  const std::vector<float> zeros(sizes.elements());
  if (given.value_type == ElementType::f32) {
    device.fill(grad_value, zeros);
  } else {
    call.grad_value = device.put(zeros);
    call.grad_value_strides = cuda::dense_strides(sizes);
  }
  device.run("lyk_ms_deform_attn_backward_atomic" + type,
             grid_of(how, cuda::rows_of_lanes(call, 1, resident_blocks)), call);
  if (given.value_type == ElementType::f32)
    return;
  const cuda::DeformCast cast{.from = static_cast<const float*>(call.grad_value),
                              .to = grad_value,
                              .strides = call.value_strides,
                              .elements = sizes.elements(),
                              .cells = call.cells,
                              .heads = call.heads,
                              .channels = cuda::divisor_of(sizes.channels)};
  device.run("lyk_ms_deform_attn_cast" + type,
             grid_of(how, cuda::cast_grid(sizes, resident_blocks)), cast);
}

void run_deterministic(SoftDevice& device,
                       const DeformCase& given,
                       const cuda::DeformSizes& sizes,
                       cuda::MsDeformAttn call,
                       const Launching& how) {
  const std::string name = "lyk_ms_deform_attn_backward_";
  const cuda::DeformWorkspace space = cuda::deform_workspace(sizes);
  auto* const workspace = device.allocate<std::byte>(space.bytes);
  device.fill(workspace, std::vector<std::byte>(space.zeroed_bytes));
  call.bins = {.counts = reinterpret_cast<std::uint32_t*>(workspace),
               .bounds = reinterpret_cast<std::uint32_t*>(workspace + space.bounds),
               .entries = reinterpret_cast<std::uint32_t*>(workspace + space.entries)};
  device.run(name + "count" + suffix(given.value_type),
             grid_of(how, cuda::rows_of_lanes(call, 1, resident_blocks)), call);
  device.run(name + "scan", grid_of(how, cuda::segments_grid(sizes, resident_blocks)), call);
  device.run(name + "list", grid_of(how, cuda::samples_grid(sizes, resident_blocks)), call);
  device.run(name + "gather" + suffix(given.value_type),
             grid_of(how, cuda::cells_of_lanes(call, resident_blocks)), call);
}

}  // namespace

cuda::DeformSizes cuda_sizes(const MsDeformAttnSizes& sizes) {
  return {.batch = sizes.batch,
          .cells = sizes.cells,
          .heads = sizes.heads,
          .channels = sizes.channels,
          .queries = sizes.queries,
          .levels = sizes.levels,
          .points = sizes.points};
}

DeformTensors tensors_of(const DeformCase& given, unsigned seed) {
  DeformTensors out;
  MsDeformAttnSizes& sizes = out.sizes;
  sizes = {.batch = given.batch,
           .heads = given.heads,
           .channels = given.channels,
           .queries = given.queries,
           .levels = given.shapes.size() / 2,
           .points = given.points};
  for (std::size_t level = 0; level < sizes.levels; ++level)
    sizes.cells += static_cast<std::size_t>(given.shapes[2 * level] * given.shapes[2 * level + 1]);
  out.shapes = given.shapes;
  const std::size_t row = sizes.heads * sizes.channels;
  out.value = rounded_to(given.value_type, normal_floats(sizes.batch * sizes.cells * row, seed));
  out.grad_output =
      rounded_to(given.value_type, normal_floats(sizes.batch * sizes.queries * row, seed + 1));
  out.weights = rounded_to(given.weights_type, uniform_floats(sizes.samples(), 0, 1, seed + 2));
  out.locations = uniform_floats(2 * sizes.samples(), -0.2F, 1.2F, seed + 3);
  constexpr std::array specials{0.0F, 1.0F, 0.5F, 0.125F, nan, infinity, -infinity, 1e30F};
  for (std::size_t i = seed % 7, k = seed; i < out.locations.size(); i += 7)
    out.locations[i] = specials[k++ % specials.size()];
  out.locations = rounded_to(given.locations_type, out.locations);
  return out;
}

std::vector<float> forward_of_oracle(const DeformTensors& tensors) {
  std::vector<float> output(tensors.grad_output.size());
  reference::ms_deform_attn(
      oracle_call<float>(tensors, tensors.value, tensors.locations, tensors.weights), output);
  return output;
}

DeformGradients backward_of_oracle(const DeformTensors& tensors) {
  const auto wide = [](const std::vector<float>& values) {
    return std::vector<double>(values.begin(), values.end());
  };
  const auto narrow = [](const std::vector<double>& values) {
    std::vector<float> out;
    for (const double value : values)
      out.push_back(static_cast<float>(value));
    return out;
  };
  const auto value = wide(tensors.value);
  const auto locations = wide(tensors.locations);
  const auto weights = wide(tensors.weights);
  std::vector<double> grad_value(value.size());
  std::vector<double> grad_locations(locations.size());
  std::vector<double> grad_weights(weights.size());
  reference::ms_deform_attn_backward(oracle_call<double>(tensors, value, locations, weights),
                                     wide(tensors.grad_output),
                                     {.value = grad_value.data(),
                                      .value_strides = slots::dense_value_strides(tensors.sizes),
                                      .locations = grad_locations,
                                      .weights = grad_weights});
  return {narrow(grad_value), narrow(grad_locations), narrow(grad_weights)};
}

std::vector<float> forward_on_cuda(const DeformCase& given,
                                   const DeformTensors& tensors,
                                   const Launching& how) {
  SoftDevice device{how.order, how.sm};
  cuda::MsDeformAttn call = put_inputs(device, given, tensors);
  call.output = allocate_as(device, given.value_type, tensors.grad_output.size(), given.shift);
  device.run("lyk_ms_deform_attn_forward" + suffix(given.value_type),
             grid_of(how, cuda::rows_of_lanes(call, call.chunks.value, resident_blocks)), call);
  return get_as(device, given.value_type, call.output, tensors.grad_output.size());
}

DeformGradients backward_on_cuda(const DeformCase& given,
                                 const DeformTensors& tensors,
                                 Backward backward,
                                 const Launching& how) {
  SoftDevice device{how.order, how.sm};
  if (how.traffic != nullptr)
    device.count(*how.traffic);
  cuda::MsDeformAttn call = put_inputs(device, given, tensors);
  const cuda::DeformSizes sizes = cuda_sizes(tensors.sizes);
  call.grad_value = allocate_as(device, given.value_type, tensors.value.size(), given.shift);
  call.grad_locations = allocate_as(device, given.locations_type, tensors.locations.size());
  call.grad_weights = allocate_as(device, given.weights_type, tensors.weights.size());
  if (backward == Backward::atomic)
    run_atomic(device, given, sizes, call, how);
  else
    run_deterministic(device, given, sizes, call, how);
  const std::vector<float> laid_out =
      get_as(device, given.value_type, call.grad_value, tensors.value.size());
  DeformGradients out{
      .value = std::vector<float>(laid_out.size()),
      .locations =
          get_as(device, given.locations_type, call.grad_locations, tensors.locations.size()),
      .weights = get_as(device, given.weights_type, call.grad_weights, tensors.weights.size())};
  for_each_place(tensors.sizes, call.value_strides,
                 [&](std::size_t dense, std::size_t place) { out.value[dense] = laid_out[place]; });
  return out;
}

}  // namespace lyk::test
