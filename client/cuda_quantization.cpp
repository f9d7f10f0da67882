#include "client/cuda_quantization.hpp"

#include <algorithm>
#include <optional>

#include "client/c_interface.hpp"
#include "client/quantization_layout.hpp"
#include "proto/check.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

// ---- what all of them use

// REQUIRES: a type that check_elements has let pass.
std::size_t type_place(const lyk_tensor& tensor) {
  return place_of(*element_code(tensor));
}

std::size_t direction_place(std::uint32_t operation) {
  return operation == LYK_BACKWARD ? 1 : 0;
}

// Addresses by their place; `written` is the output, or what backward writes.
const void* at(const CudaCall& call, std::size_t place) {
  return data_of<const void>(*call.arguments.tensors[place]);
}
const float* numbers_at(const CudaCall& call, std::size_t place) {
  return data_of<const float>(*call.arguments.tensors[place]);
}
void* written(const CudaCall& call) {
  return data_of<void>(
      *call.arguments.tensors[rules_of(call.slot, call.arguments.operation).size() - 1]);
}
const void* grad_output(const CudaCall& call) {
  return call.arguments.operation == LYK_BACKWARD ? at(call, call.slot.inputs) : nullptr;
}

std::uint64_t elements_of(const CudaCall& call) {
  return static_cast<std::uint64_t>(element_count(*call.arguments.tensors[0]));
}

// The blocks of that many threads that the device holds of a kernel at once.
std::uint32_t residents(const CudaCall& call, std::size_t place, std::uint32_t threads = 256) {
  constexpr std::uint32_t asked_threads = 256;
  return std::max<std::uint32_t>(
      call.own.module.kernels[place].resident_blocks * asked_threads / threads, 1);
}

// Backward of what passes its gradient through.
Result<void> copy_gradient(const CudaCall& call) {
  const lyk_tensor& from = *call.arguments.tensors[call.slot.inputs];
  const lyk_tensor& to = *call.arguments.tensors[call.slot.inputs + 1];
  return copy_bytes(call.own.cu, address(to), address(from), elements_of(call) * sizeof(float),
                    {"grad_output", call.own.stream});
}

ElementTypes float32_alone(const lyk_arguments&) {
  return ElementTypes::float32;
}

constexpr KernelSet one(std::size_t place) {
  return {{place, 0}, 1};
}

// ---- fake_quant_int8_per_channel

// Forward and backward of each type; of whole rows, whose scale is made on the way; the greatest
// magnitudes of channels that are no rows.
constexpr std::array<std::string_view, 9> int8_per_channel_symbols{
    "lyk_fake_quant_int8_per_channel_forward_f32",
    "lyk_fake_quant_int8_per_channel_forward_f16",
    "lyk_fake_quant_int8_per_channel_forward_bf16",
    "lyk_fake_quant_int8_per_channel_backward_f32",
    "lyk_fake_quant_int8_per_channel_backward_f16",
    "lyk_fake_quant_int8_per_channel_backward_bf16",
    "lyk_fake_quant_int8_per_channel_forward_rows_f32",
    "lyk_fake_quant_int8_per_channel_backward_rows_f32",
    "lyk_fake_quant_int8_per_channel_amax_f32"};
constexpr std::size_t rows_place = 6;
constexpr std::size_t channels_amax_place = 8;

// With a scale of its own a 16-bit weight has that in 16 bits in LibreYOLO, rounding and all.
ElementTypes int8_per_channel_types(const lyk_arguments& arguments) {
  const bool has_scale = arguments.tensors[LYK_FAKE_QUANT_INT8_PER_CHANNEL_SCALE] != nullptr;
  return has_scale ? ElementTypes::any_16_bits : ElementTypes::float32;
}

Result<void> takes_int8_per_channel(const QuantizationSlot& slot, const lyk_arguments& arguments) {
  LYK_TRY(check_lie_alike(slot, arguments));
  LYK_TRY(int8_channels(arguments));
  return {};
}

KernelSet int8_per_channel_kernels(const lyk_arguments& arguments, std::uint32_t operation) {
  const Channels channels = *int8_channels(arguments);
  const std::size_t direction = direction_place(operation);
  switch (cuda::channel_scales(channels.scale, channels.axis.outer)) {
    case cuda::ChannelScales::given:
      return one(3 * direction + type_place(*arguments.tensors[0]));
    case cuda::ChannelScales::of_rows:
      return one(rows_place + direction);
    case cuda::ChannelScales::scattered:
      return {{3 * direction, channels_amax_place}, 2};
  }
  return {};
}

Result<void> enqueue_int8_per_channel(const CudaCall& call) {
  const Channels channels = *int8_channels(call.arguments);
  const auto& [outer, count, inner] = channels.axis;
  const KernelSet kernels = int8_per_channel_kernels(call.arguments, call.arguments.operation);
  const std::size_t place = kernels.places[0];
  cuda::Int8PerChannel arguments{.weight = at(call, 0),
                                 .grad_output = grad_output(call),
                                 .output = written(call),
                                 .scale = channels.scale,
                                 .elements = elements_of(call),
                                 .inner = cuda::divisor_of(inner),
                                 .channels = cuda::divisor_of(count)};
  const cuda::ChannelScales scales = cuda::channel_scales(channels.scale, outer);
  if (scales == cuda::ChannelScales::of_rows)
    return launch(call.own, place,
                  cuda::rows_grid(count, inner, residents(call, place, cuda::row_threads(inner))),
                  arguments);
  if (scales == cuda::ChannelScales::scattered) {
    auto* const amax = static_cast<std::uint32_t*>(call.arguments.workspace);
    LYK_TRY(fill_zero(call.own.cu, reinterpret_cast<std::uintptr_t>(amax), count * sizeof(*amax),
                      "workspace", call.own.stream));
    const cuda::Amax amax_arguments{.x = numbers_at(call, 0),
                                    .amax = amax,
                                    .elements = arguments.elements,
                                    .inner = arguments.inner,
                                    .channels = arguments.channels};
    LYK_TRY(launch(call.own, channels_amax_place,
                   cuda::channels_grid(outer, count * inner, residents(call, channels_amax_place)),
                   amax_arguments));
    arguments.amax = amax;
  }
  return launch(call.own, place, cuda::run_grid(arguments.elements, residents(call, place)),
                arguments);
}

// ---- fake_quant_int8_affine

constexpr std::array<std::string_view, 6> int8_affine_symbols{
    "lyk_fake_quant_int8_affine_forward_f32",  "lyk_fake_quant_int8_affine_forward_f16",
    "lyk_fake_quant_int8_affine_forward_bf16", "lyk_fake_quant_int8_affine_backward_f32",
    "lyk_fake_quant_int8_affine_backward_f16", "lyk_fake_quant_int8_affine_backward_bf16"};

ElementTypes with_16_bits(const lyk_arguments&) {
  return ElementTypes::any_16_bits;
}

Result<void> takes_int8_affine(const QuantizationSlot& slot, const lyk_arguments& arguments) {
  LYK_TRY(check_lie_alike(slot, arguments));
  LYK_TRY(channel_axis("x", *arguments.tensors[0], std::nullopt));  // no gaps
  return {};
}

KernelSet int8_affine_kernels(const lyk_arguments& arguments, std::uint32_t operation) {
  return one(3 * direction_place(operation) + type_place(*arguments.tensors[0]));
}

Result<void> enqueue_int8_affine(const CudaCall& call) {
  const std::size_t place = int8_affine_kernels(call.arguments, call.arguments.operation).places[0];
  const cuda::Int8Affine arguments{.x = at(call, LYK_FAKE_QUANT_INT8_AFFINE_X),
                                   .grad_output = grad_output(call),
                                   .output = written(call),
                                   .lo = numbers_at(call, LYK_FAKE_QUANT_INT8_AFFINE_LO),
                                   .hi = numbers_at(call, LYK_FAKE_QUANT_INT8_AFFINE_HI),
                                   .elements = elements_of(call)};
  return launch(call.own, place, cuda::run_grid(arguments.elements, residents(call, place)),
                arguments);
}

// ---- fake_quant_fp8

constexpr std::array<std::string_view, 1> fp8_symbols{"lyk_fake_quant_fp8_forward_f32"};

Result<void> takes_fp8(const QuantizationSlot& slot, const lyk_arguments& arguments) {
  LYK_TRY(check_lie_alike(slot, arguments));
  LYK_TRY(fp8_channels(arguments));
  return {};
}

KernelSet forward_alone(const lyk_arguments&, std::uint32_t operation) {
  return operation == LYK_BACKWARD ? KernelSet{} : one(0);
}

Result<void> enqueue_fp8(const CudaCall& call) {
  if (call.arguments.operation == LYK_BACKWARD)
    return copy_gradient(call);
  const Channels channels = *fp8_channels(call.arguments);
  const cuda::Fp8 arguments{.x = numbers_at(call, LYK_FAKE_QUANT_FP8_X),
                            .output = static_cast<float*>(written(call)),
                            .scale = channels.scale,
                            .elements = elements_of(call),
                            .inner = cuda::divisor_of(channels.axis.inner),
                            .channels = cuda::divisor_of(channels.axis.channels)};
  return launch(call.own, 0, cuda::run_grid(arguments.elements, residents(call, 0)), arguments);
}

// ---- fake_quant_int_grouped

constexpr std::array<std::string_view, 2> int_grouped_symbols{
    "lyk_fake_quant_int_grouped_forward_f32", "lyk_fake_quant_int_grouped_forward_any_f32"};

Result<void> takes_int_grouped(const QuantizationSlot& slot, const lyk_arguments& arguments) {
  LYK_TRY(check_row_major(slot, arguments));
  LYK_TRY(fake_quant_grouping(arguments));
  return {};
}

KernelSet int_grouped_kernels(const lyk_arguments& arguments, std::uint32_t operation) {
  if (operation == LYK_BACKWARD)
    return {};
  const auto group_size = static_cast<std::uint32_t>(grouping_of(arguments).group_size);
  return one(cuda::is_group_of_quads(group_size) ? 0 : 1);
}

Result<void> enqueue_int_grouped(const CudaCall& call) {
  if (call.arguments.operation == LYK_BACKWARD)
    return copy_gradient(call);
  const Grouping grouping = *fake_quant_grouping(call.arguments);
  cuda::IntGrouped arguments{.weight = numbers_at(call, LYK_FAKE_QUANT_INT_GROUPED_WEIGHT),
                             .output = static_cast<float*>(written(call)),
                             .scale = grouping.scale.data,
                             .scale_row_stride = grouping.scale.row_stride,
                             .scale_group_stride = grouping.scale.group_stride,
                             .group_size = static_cast<std::uint32_t>(grouping.group_size),
                             .highest_code = static_cast<float>((1U << (grouping.bits - 1U)) - 1U)};
  cuda::set_shape(arguments, grouping.rows, grouping.columns);
  if (!cuda::is_group_of_quads(arguments.group_size)) {
    const std::uint64_t groups =
        grouping.rows * cuda::quotient_up(grouping.columns, arguments.group_size);
    return launch(call.own, 1, cuda::groups_grid(groups, residents(call, 1)), arguments);
  }
  const std::uint64_t quads = arguments.shape.rows * arguments.shape.quads_per_row.value;
  return launch(call.own, 0, cuda::quads_grid(quads, residents(call, 0)), arguments);
}

// ---- nvfp4 and mxfp4

constexpr std::array<std::string_view, 3> nvfp4_symbols{"lyk_fake_quant_nvfp4_forward_f32",
                                                        "lyk_fake_quant_nvfp4_backward_f32",
                                                        "lyk_fake_quant_nvfp4_dynamic_amax_f32"};
constexpr std::array<std::string_view, 2> mxfp4_symbols{"lyk_fake_quant_mxfp4_forward_f32",
                                                        "lyk_fake_quant_mxfp4_backward_f32"};
constexpr std::size_t tensor_amax_place = 2;

KernelSet blocks_kernels(const lyk_arguments&, std::uint32_t operation) {
  return one(direction_place(operation));
}

KernelSet nvfp4_dynamic_kernels(const lyk_arguments&, std::uint32_t operation) {
  return {{direction_place(operation), tensor_amax_place}, 2};
}

Result<void> launch_blocks(const CudaCall& call, std::uint64_t width, const float* tensor_amax) {
  const std::size_t place = direction_place(call.arguments.operation);
  const Rows rows = client::rows_of(*call.arguments.tensors[0]);
  const cuda::E2m1Blocks arguments{.x = numbers_at(call, 0),
                                   .grad_output = static_cast<const float*>(grad_output(call)),
                                   .output = static_cast<float*>(written(call)),
                                   .tensor_amax = tensor_amax,
                                   .shape = cuda::grouped_rows(rows.rows, rows.columns, width)};
  const std::uint64_t quads = arguments.shape.rows * arguments.shape.quads_per_row.value;
  return launch(call.own, place, cuda::quads_grid(quads, residents(call, place)), arguments);
}

Result<void> enqueue_nvfp4_weight(const CudaCall& call) {
  return launch_blocks(call, slots::nvfp4_block,
                       numbers_at(call, LYK_FAKE_QUANT_NVFP4_WEIGHT_TENSOR_AMAX));
}

Result<void> enqueue_nvfp4_dynamic(const CudaCall& call) {
  void* const amax = call.arguments.workspace;
  LYK_TRY(fill_zero(call.own.cu, reinterpret_cast<std::uintptr_t>(amax), sizeof(std::uint32_t),
                    "workspace", call.own.stream));
  const cuda::Amax arguments{.x = numbers_at(call, LYK_FAKE_QUANT_NVFP4_DYNAMIC_X),
                             .amax = static_cast<std::uint32_t*>(amax),
                             .elements = elements_of(call)};
  LYK_TRY(launch(call.own, tensor_amax_place,
                 cuda::run_grid(arguments.elements, residents(call, tensor_amax_place)),
                 arguments));
  return launch_blocks(call, slots::nvfp4_block, static_cast<const float*>(amax));
}

Result<void> enqueue_mxfp4(const CudaCall& call) {
  return launch_blocks(call, slots::mxfp4_block, nullptr);
}

// ---- unpack

constexpr std::array<std::string_view, 1> unpack_int_grouped_symbols{
    "lyk_unpack_int_grouped_forward_f32"};
constexpr std::array<std::string_view, 1> unpack_nvfp4_symbols{"lyk_unpack_nvfp4_forward_f32"};

Result<void> takes_unpack_int_grouped(const QuantizationSlot& slot,
                                      const lyk_arguments& arguments) {
  LYK_TRY(check_row_major(slot, arguments));
  LYK_TRY(unpack_grouping(arguments));
  return {};
}

Result<void> enqueue_unpack_int_grouped(const CudaCall& call) {
  const Grouping grouping = *unpack_grouping(call.arguments);
  const lyk_tensor& payload = *call.arguments.tensors[LYK_UNPACK_INT_GROUPED_PAYLOAD];
  const cuda::UnpackIntGrouped arguments{
      .payload = data_of<const std::uint8_t>(payload),
      .output = static_cast<float*>(written(call)),
      .scale = grouping.scale.data,
      .scale_row_stride = grouping.scale.row_stride,
      .scale_group_stride = grouping.scale.group_stride,
      .rows = grouping.rows,
      .columns = grouping.columns,
      .row_bytes = static_cast<std::uint64_t>(payload.shape[1]),
      .quads_per_row = cuda::divisor_of(cuda::quotient_up(grouping.columns, cuda::quad_size)),
      .group_size = cuda::divisor_of(grouping.group_size),
      .bits = grouping.bits};
  return launch(
      call.own, 0,
      cuda::quads_grid(arguments.rows * arguments.quads_per_row.value, residents(call, 0)),
      arguments);
}

Result<void> enqueue_unpack_nvfp4(const CudaCall& call) {
  const Rows rows = client::rows_of(*call.arguments.tensors[LYK_UNPACK_NVFP4_OUTPUT]);
  const lyk_tensor& block_scale = *call.arguments.tensors[LYK_UNPACK_NVFP4_BLOCK_SCALE];
  cuda::UnpackNvfp4 arguments{
      .payload = static_cast<const std::uint8_t*>(at(call, LYK_UNPACK_NVFP4_PAYLOAD)),
      .output = static_cast<float*>(written(call)),
      .tensor_amax = numbers_at(call, LYK_UNPACK_NVFP4_TENSOR_AMAX),
      .rows = rows.rows,
      .columns = rows.columns,
      .blocks = static_cast<std::uint64_t>(block_scale.shape[1]),
      .quads_per_row = cuda::divisor_of(cuda::quotient_up(rows.columns, cuda::quad_size))};
  if (is_float32(block_scale))
    arguments.block_scale = data_of<const float>(block_scale);
  else
    arguments.block_scale_e4m3 = data_of<const std::uint8_t>(block_scale);
  return launch(
      call.own, 0,
      cuda::quads_grid(arguments.rows * arguments.quads_per_row.value, residents(call, 0)),
      arguments);
}

// nvfp4_weight needs no amax of its own.
constexpr std::span<const std::string_view> nvfp4_weight_symbols{nvfp4_symbols.data(), 2};

constexpr std::array<CudaSlot, 10> cuda_slots{{
    {"fake_quant_int8_per_channel", int8_per_channel_symbols, int8_per_channel_types,
     takes_int8_per_channel, int8_per_channel_kernels, enqueue_int8_per_channel},
    {"fake_quant_int8_affine", int8_affine_symbols, with_16_bits, takes_int8_affine,
     int8_affine_kernels, enqueue_int8_affine},
    {"fake_quant_fp8", fp8_symbols, float32_alone, takes_fp8, forward_alone, enqueue_fp8},
    {"fake_quant_int_grouped", int_grouped_symbols, float32_alone, takes_int_grouped,
     int_grouped_kernels, enqueue_int_grouped},
    {"fake_quant_nvfp4_weight", nvfp4_weight_symbols, float32_alone, check_row_major,
     blocks_kernels, enqueue_nvfp4_weight},
    {"fake_quant_nvfp4_dynamic", nvfp4_symbols, float32_alone, check_row_major,
     nvfp4_dynamic_kernels, enqueue_nvfp4_dynamic},
    {"fake_quant_mxfp4_weight", mxfp4_symbols, float32_alone, check_row_major, blocks_kernels,
     enqueue_mxfp4},
    {"fake_quant_mxfp4_dynamic", mxfp4_symbols, float32_alone, check_row_major, blocks_kernels,
     enqueue_mxfp4},
    {"unpack_int_grouped", unpack_int_grouped_symbols, float32_alone, takes_unpack_int_grouped,
     forward_alone, enqueue_unpack_int_grouped},
    {"unpack_nvfp4", unpack_nvfp4_symbols, float32_alone, check_row_major, forward_alone,
     enqueue_unpack_nvfp4},
}};

}  // namespace

const CudaSlot& cuda_slot(std::string_view name) {
  const auto* const found = std::find_if(cuda_slots.begin(), cuda_slots.end(),
                                         [&](const auto& slot) { return slot.name == name; });
  LYK_CHECK(found != cuda_slots.end());
  return *found;
}

Result<void> run_on_cuda(DeviceCode& code,
                         const QuantizationSlot& slot,
                         const CudaSlot& kernels,
                         const lyk_arguments& arguments) {
  LYK_TRY(check_float32_does(arguments));
  if (!is_on_gpu(*arguments.tensors[0]))
    return not_taken("the tensors are not on a GPU");
  LYK_TRY(check_elements(slot, arguments, kernels.types(arguments)));
  if (has_nothing_to_write(slot, arguments))
    return {};
  LYK_TRY(kernels.check_takes(slot, arguments));
  const auto rules = rules_of(slot, arguments.operation);
  LYK_TRY_ASSIGN(const ReadyGpu gpu, enter_gpu(code, arguments, rules[0].name));
  const lyk_cu_functions& cu = gpu.driver->cu;
  LYK_TRY_ASSIGN(Module * module, code.module(*gpu.driver, gpu.number, gpu.stream));

  const PickedKernels backward{*module, kernels.kernels(arguments, LYK_BACKWARD)};
  LYK_TRY(check_backward_follows(cu, backward.all(), arguments));
  const PickedKernels picked{*module, kernels.kernels(arguments, arguments.operation)};
  return run_kernels(code, gpu, *module, picked.all(), [&] {
    return kernels.enqueue({slot, arguments, {cu, *module, kernels.symbols, gpu.stream}});
  });
}

}  // namespace lyk::client
