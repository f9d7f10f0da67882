#include "client/host_quantization.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "client/c_interface.hpp"
#include "client/quantization_layout.hpp"
#include "kernels/cpu/execution.hpp"
#include "kernels/cpu/fake_quant_fp4.hpp"
#include "kernels/cpu/fake_quant_fp8.hpp"
#include "kernels/cpu/fake_quant_int8_affine.hpp"
#include "kernels/cpu/fake_quant_int8_per_channel.hpp"
#include "kernels/cpu/fake_quant_int_grouped.hpp"
#include "kernels/cpu/standard_arithmetic.hpp"
#include "kernels/cpu/unpack.hpp"
#include "kernels/reference/fake_quant_fp8.hpp"
#include "kernels/reference/fake_quant_int8_affine.hpp"
#include "kernels/reference/fake_quant_int8_per_channel.hpp"
#include "kernels/reference/fake_quant_int_grouped.hpp"
#include "kernels/reference/fake_quant_mxfp4.hpp"
#include "kernels/reference/fake_quant_nvfp4_dynamic.hpp"
#include "kernels/reference/fake_quant_nvfp4_weight.hpp"
#include "kernels/reference/unpack_int_grouped.hpp"
#include "kernels/reference/unpack_nvfp4.hpp"
#include "proto/check.hpp"

namespace lyk::client {

namespace {

float number_of(const lyk_tensor& tensor) {
  return *data_of<const float>(tensor);
}

// The four functions of a fake_quant slot.
template <typename Call>
struct FakeQuant {
  void (*reference)(const Call&, std::span<float>);
  void (*reference_backward)(const Call&, std::span<const float>, std::span<float>);
  void (*cpu)(const Call&, std::span<float>, const cpu::Execution&);
  void (*cpu_backward)(const Call&,
                       std::span<const float>,
                       std::span<float>,
                       const cpu::Execution&);
};

template <typename Call>
void run(const FakeQuant<Call>& code, const HostCall& host, const Call& call) {
  const std::size_t inputs = host.slot.inputs;
  if (host.arguments.operation == LYK_FORWARD) {
    const auto output = elements_of<float>(host.tensor(inputs));
    if (host.execution != nullptr)
      code.cpu(call, output, *host.execution);
    else
      code.reference(call, output);
    return;
  }
  const auto grad_output = elements_of<const float>(host.tensor(inputs));
  const auto grad = elements_of<float>(host.tensor(inputs + 1));
  if (host.execution != nullptr)
    code.cpu_backward(call, grad_output, grad, *host.execution);
  else
    code.reference_backward(call, grad_output, grad);
}

Result<void> run_int8_per_channel(const HostCall& host) {
  LYK_TRY(check_lie_alike(host.slot, host.arguments));
  LYK_TRY_ASSIGN(const Channels channels, int8_channels(host.arguments));
  const slots::FakeQuantInt8PerChannel call{
      .weight = elements_of<const float>(host.tensor(0)),
      .axis = channels.axis,
      .scale = {channels.scale, channels.scale == nullptr ? 0 : channels.axis.channels}};
  run<slots::FakeQuantInt8PerChannel>(
      {reference::fake_quant_int8_per_channel, reference::fake_quant_int8_per_channel_backward,
       cpu::fake_quant_int8_per_channel, cpu::fake_quant_int8_per_channel_backward},
      host, call);
  return {};
}

Result<void> run_int8_affine(const HostCall& host) {
  LYK_TRY(check_lie_alike(host.slot, host.arguments));
  LYK_TRY(channel_axis("x", host.tensor(0), std::nullopt));  // no gaps
  const slots::FakeQuantInt8Affine call{
      .x = elements_of<const float>(host.tensor(LYK_FAKE_QUANT_INT8_AFFINE_X)),
      .lo = number_of(host.tensor(LYK_FAKE_QUANT_INT8_AFFINE_LO)),
      .hi = number_of(host.tensor(LYK_FAKE_QUANT_INT8_AFFINE_HI))};
  run<slots::FakeQuantInt8Affine>(
      {reference::fake_quant_int8_affine, reference::fake_quant_int8_affine_backward,
       cpu::fake_quant_int8_affine, cpu::fake_quant_int8_affine_backward},
      host, call);
  return {};
}

Result<void> run_fp8(const HostCall& host) {
  LYK_TRY(check_lie_alike(host.slot, host.arguments));
  LYK_TRY_ASSIGN(const Channels channels, fp8_channels(host.arguments));
  const slots::FakeQuantFp8 call{.x = elements_of<const float>(host.tensor(0)),
                                 .axis = channels.axis,
                                 .scale = {channels.scale, channels.axis.channels}};
  run<slots::FakeQuantFp8>({reference::fake_quant_fp8, reference::fake_quant_fp8_backward,
                            cpu::fake_quant_fp8, cpu::fake_quant_fp8_backward},
                           host, call);
  return {};
}

Result<void> run_int_grouped(const HostCall& host) {
  LYK_TRY(check_row_major(host.slot, host.arguments));
  LYK_TRY_ASSIGN(const Grouping grouping, fake_quant_grouping(host.arguments));
  const slots::FakeQuantIntGrouped call{.weight = elements_of<const float>(host.tensor(0)),
                                        .rows = grouping.rows,
                                        .columns = grouping.columns,
                                        .bits = grouping.bits,
                                        .group_size = grouping.group_size,
                                        .scale = grouping.scale};
  run<slots::FakeQuantIntGrouped>(
      {reference::fake_quant_int_grouped, reference::fake_quant_int_grouped_backward,
       cpu::fake_quant_int_grouped, cpu::fake_quant_int_grouped_backward},
      host, call);
  return {};
}

Result<void> run_nvfp4_weight(const HostCall& host) {
  LYK_TRY(check_row_major(host.slot, host.arguments));
  const Rows rows = rows_of(host.tensor(0));
  const slots::FakeQuantNvfp4Weight call{
      .weight = elements_of<const float>(host.tensor(0)),
      .rows = rows.rows,
      .columns = rows.columns,
      .tensor_amax = number_of(host.tensor(LYK_FAKE_QUANT_NVFP4_WEIGHT_TENSOR_AMAX))};
  run<slots::FakeQuantNvfp4Weight>(
      {reference::fake_quant_nvfp4_weight, reference::fake_quant_nvfp4_weight_backward,
       cpu::fake_quant_nvfp4_weight, cpu::fake_quant_nvfp4_weight_backward},
      host, call);
  return {};
}

Result<void> run_nvfp4_dynamic(const HostCall& host) {
  LYK_TRY(check_row_major(host.slot, host.arguments));
  const Rows rows = rows_of(host.tensor(0));
  const slots::FakeQuantNvfp4Dynamic call{
      .x = elements_of<const float>(host.tensor(0)), .rows = rows.rows, .columns = rows.columns};
  run<slots::FakeQuantNvfp4Dynamic>(
      {reference::fake_quant_nvfp4_dynamic, reference::fake_quant_nvfp4_dynamic_backward,
       cpu::fake_quant_nvfp4_dynamic, cpu::fake_quant_nvfp4_dynamic_backward},
      host, call);
  return {};
}

Result<void> run_mxfp4(const HostCall& host) {
  LYK_TRY(check_row_major(host.slot, host.arguments));
  const Rows rows = rows_of(host.tensor(0));
  const slots::FakeQuantMxfp4 call{
      .x = elements_of<const float>(host.tensor(0)), .rows = rows.rows, .columns = rows.columns};
  run<slots::FakeQuantMxfp4>({reference::fake_quant_mxfp4, reference::fake_quant_mxfp4_backward,
                              cpu::fake_quant_mxfp4, cpu::fake_quant_mxfp4_backward},
                             host, call);
  return {};
}

Result<void> run_unpack_int_grouped(const HostCall& host) {
  LYK_TRY(check_row_major(host.slot, host.arguments));
  LYK_TRY_ASSIGN(const Grouping grouping, unpack_grouping(host.arguments));
  const lyk_tensor& payload = host.tensor(LYK_UNPACK_INT_GROUPED_PAYLOAD);
  const slots::UnpackIntGrouped call{.payload = elements_of<const std::uint8_t>(payload),
                                     .rows = grouping.rows,
                                     .row_bytes = static_cast<std::size_t>(payload.shape[1]),
                                     .columns = grouping.columns,
                                     .bits = grouping.bits,
                                     .group_size = grouping.group_size,
                                     .scale = grouping.scale};
  const auto output = elements_of<float>(host.tensor(LYK_UNPACK_INT_GROUPED_OUTPUT));
  if (host.execution != nullptr)
    cpu::unpack_int_grouped(call, output, *host.execution);
  else
    reference::unpack_int_grouped(call, output);
  return {};
}

Result<void> run_unpack_nvfp4(const HostCall& host) {
  LYK_TRY(check_row_major(host.slot, host.arguments));
  const lyk_tensor& block_scale = host.tensor(LYK_UNPACK_NVFP4_BLOCK_SCALE);
  const lyk_tensor& output = host.tensor(LYK_UNPACK_NVFP4_OUTPUT);
  slots::UnpackNvfp4 call{
      .payload = elements_of<const std::uint8_t>(host.tensor(LYK_UNPACK_NVFP4_PAYLOAD)),
      .rows = static_cast<std::size_t>(output.shape[0]),
      .blocks = static_cast<std::size_t>(block_scale.shape[1]),
      .columns = static_cast<std::size_t>(output.shape[1]),
      .tensor_amax = number_of(host.tensor(LYK_UNPACK_NVFP4_TENSOR_AMAX))};
  if (is_float32(block_scale))
    call.block_scale = elements_of<const float>(block_scale);
  else
    call.block_scale_e4m3 = elements_of<const std::uint8_t>(block_scale);
  if (host.execution != nullptr)
    cpu::unpack_nvfp4(call, elements_of<float>(output), *host.execution);
  else
    reference::unpack_nvfp4(call, elements_of<float>(output));
  return {};
}

constexpr std::array<HostSlot, 10> host_slots{{
    {"fake_quant_int8_per_channel", run_int8_per_channel},
    {"fake_quant_int8_affine", run_int8_affine},
    {"fake_quant_fp8", run_fp8},
    {"fake_quant_int_grouped", run_int_grouped},
    {"fake_quant_nvfp4_weight", run_nvfp4_weight},
    {"fake_quant_nvfp4_dynamic", run_nvfp4_dynamic},
    {"fake_quant_mxfp4_weight", run_mxfp4},
    {"fake_quant_mxfp4_dynamic", run_mxfp4},
    {"unpack_int_grouped", run_unpack_int_grouped},
    {"unpack_nvfp4", run_unpack_nvfp4},
}};

}  // namespace

const HostSlot& host_slot(std::string_view name) {
  const auto* const found = std::find_if(host_slots.begin(), host_slots.end(),
                                         [&](const auto& slot) { return slot.name == name; });
  LYK_CHECK(found != host_slots.end());
  return *found;
}

Result<void> run_on_host(const QuantizationSlot& slot,
                         const HostSlot& code,
                         const lyk_arguments& arguments,
                         HostThreads* threads) {
  LYK_TRY(check_float32_does(arguments));
  if (!is_on_host(*arguments.tensors[0]))
    return not_taken("the tensors are not in host memory");
  LYK_TRY(check_elements(slot, arguments, ElementTypes::float32));
  if (has_nothing_to_write(slot, arguments))
    return {};
  if (threads == nullptr) {
    // A host may have chosen to flush denormals on its threads. kernels/cpu sees to that itself.
    const cpu::StandardArithmetic arithmetic;
    return code.run({slot, arguments, nullptr});
  }
  const cpu::Execution execution{.workers = threads->get()};
  return code.run({slot, arguments, &execution});
}

}  // namespace lyk::client
