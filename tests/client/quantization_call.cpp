#include "tests/client/quantization_call.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <span>

#include "kernels/reference/fake_quant_fp8.hpp"
#include "kernels/reference/fake_quant_int8_affine.hpp"
#include "kernels/reference/fake_quant_int8_per_channel.hpp"
#include "kernels/reference/fake_quant_int_grouped.hpp"
#include "kernels/reference/fake_quant_mxfp4.hpp"
#include "kernels/reference/fake_quant_nvfp4_dynamic.hpp"
#include "kernels/reference/fake_quant_nvfp4_weight.hpp"
#include "kernels/reference/unpack_int_grouped.hpp"
#include "kernels/reference/unpack_nvfp4.hpp"

namespace lyk::test {

namespace {

Floats some_floats(std::int64_t count, unsigned seed) {
  std::mt19937 generator{seed};
  Floats out;
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back((static_cast<float>(generator() >> 8) / 8388608.0F - 1) * 3);
  constexpr std::array specials{0.0F, -0.0F, 1e-40F, -1e-12F, 1e20F, 2.5F};
  for (std::size_t i = seed % 5; i < out.size(); i += 11)
    out[i] = specials[i % specials.size()];
  return out;
}

std::vector<std::uint8_t> some_bytes(std::int64_t count, unsigned seed) {
  std::mt19937 generator{seed};
  std::vector<std::uint8_t> out;
  for (std::int64_t i = 0; i < count; ++i)
    out.push_back(static_cast<std::uint8_t>(generator() & 0x7FU));
  return out;
}

std::int64_t count_of(const Shape& shape) {
  std::int64_t out = 1;
  for (const std::int64_t size : shape)
    out *= size;
  return out;
}

std::int64_t groups(std::int64_t columns, std::int64_t size) {
  return (columns + size - 1) / size;
}

void add_inputs(QuantizationCall& call, const QuantizationSizes& sizes) {
  const auto& [rows, columns] = sizes;
  if (call.slot == "unpack_int_grouped") {
    const std::int64_t held = groups(columns, call.grouping.group_size) * call.grouping.group_size;
    call.parameters = &call.grouping;
    call.add_bytes({rows, held * call.grouping.bits / 8},
                   some_bytes(rows * held * call.grouping.bits / 8, 1));
    Floats scale;
    for (std::int64_t i = 0; i < rows * held / call.grouping.group_size; ++i)
      scale.push_back(0.03F + 0.007F * static_cast<float>(i));
    call.add({rows, held / call.grouping.group_size}, scale);
    return;
  }
  if (call.slot == "unpack_nvfp4") {
    const std::int64_t blocks = groups(columns, 16);
    call.add_bytes({rows, blocks * 8}, some_bytes(rows * blocks * 8, 2));
    call.add_bytes({rows, blocks}, some_bytes(rows * blocks, 3)).tensor.dtype = {
        LYK_DTYPE_FLOAT8_E4M3FN, 8, 1};
    call.add({1}, {1.3F});
    return;
  }
  call.add({rows, columns}, some_floats(rows * columns, 4));
  if (call.slot == "fake_quant_int8_per_channel") {
    call.parameters = &call.channel;
    call.add_none();
  } else if (call.slot == "fake_quant_int8_affine") {
    call.add({1}, {-2.5F});
    call.add({1}, {3.25F});
  } else if (call.slot == "fake_quant_fp8") {
    call.add({1}, {0.0031F});
  } else if (call.slot == "fake_quant_int_grouped") {
    call.parameters = &call.grouping;
    call.add_none();
  } else if (call.slot == "fake_quant_nvfp4_weight") {
    call.add({1}, {4.7F});
  }
}

// ---- the oracle

template <typename Call>
Floats run(QuantizationCall& call,
           const Call& of_slot,
           void (*forward)(const Call&, std::span<float>),
           void (*backward)(const Call&, std::span<const float>, std::span<float>)) {
  Floats out(call.last().floats().size());
  if (call.operation == LYK_FORWARD)
    forward(of_slot, out);
  else
    backward(of_slot, call.tensor(call.size() - 2).floats(), out);
  return out;
}

std::size_t size_of(const OwnTensor& tensor, std::size_t dimension) {
  return static_cast<std::size_t>(tensor.shape[dimension]);
}

slots::GroupScale scale_of(const Floats& scale, std::size_t group_count) {
  if (scale.empty())
    return {};
  return {.data = scale.data(),
          .row_stride = static_cast<std::ptrdiff_t>(group_count),
          .group_stride = 1};
}

Floats unpack(QuantizationCall& call, slots::ScalarDivision division) {
  const OwnTensor& packed = call.tensor(0);
  std::vector<std::uint8_t> payload(packed.bytes.size());
  std::memcpy(payload.data(), packed.bytes.data(), payload.size());
  const std::size_t rows = size_of(packed, 0);
  const std::size_t columns = size_of(call.last(), 1);
  Floats out(rows * columns);
  if (call.slot == "unpack_int_grouped") {
    const Floats scale = call.tensor(1).floats();
    reference::unpack_int_grouped({.payload = payload,
                                   .rows = rows,
                                   .row_bytes = size_of(packed, 1),
                                   .columns = columns,
                                   .bits = call.grouping.bits,
                                   .group_size = static_cast<std::size_t>(call.grouping.group_size),
                                   .scale = scale_of(scale, size_of(call.tensor(1), 1))},
                                  out);
    return out;
  }
  const OwnTensor& scales = call.tensor(1);
  std::vector<std::uint8_t> codes(scales.bytes.size());
  std::memcpy(codes.data(), scales.bytes.data(), codes.size());
  reference::unpack_nvfp4({.payload = payload,
                           .rows = rows,
                           .blocks = size_of(scales, 1),
                           .columns = columns,
                           .block_scale_e4m3 = codes,
                           .tensor_amax = call.tensor(2).floats()[0],
                           .scalar_division = division},
                          out);
  return out;
}

}  // namespace

Floats OwnTensor::floats() const {
  Floats out(bytes.size() / sizeof(float));
  std::ranges::copy(bytes, std::as_writable_bytes(std::span{out}).begin());
  return out;
}

OwnTensor& QuantizationCall::add(const Shape& shape, const Floats& values) {
  OwnTensor& out = owned_.emplace_back();
  out.shape = shape;
  const auto source = std::as_bytes(std::span{values});
  out.bytes.assign(source.begin(), source.end());
  out.tensor.data = out.bytes.data();
  out.tensor.device = {LYK_DEVICE_CPU, 0};
  out.tensor.dtype = {LYK_DTYPE_FLOAT, 32, 1};
  tensors_.push_back(&out);
  return out;
}

void QuantizationCall::put(std::size_t place, const Shape& shape, const Floats& values) {
  OwnTensor& added = add(shape, values);
  tensors_.pop_back();
  tensors_[place] = &added;
}

OwnTensor& QuantizationCall::add_bytes(const Shape& shape, const std::vector<std::uint8_t>& bytes) {
  OwnTensor& out = add(shape, {});
  out.bytes.resize(bytes.size());
  std::memcpy(out.bytes.data(), bytes.data(), bytes.size());
  out.tensor.data = out.bytes.data();
  out.tensor.dtype = {LYK_DTYPE_UINT, 8, 1};
  return out;
}

OwnTensor& QuantizationCall::add_output(const Shape& shape) {
  return add(shape, Floats(static_cast<std::size_t>(count_of(shape)), -77.5F));
}

const lyk_arguments& QuantizationCall::arguments() {
  pointers_.clear();
  for (OwnTensor* tensor : tensors_)
    pointers_.push_back(tensor == nullptr ? nullptr : tensor->get());
  arguments_ = {};
  arguments_.size = sizeof(arguments_);
  arguments_.operation = operation;
  arguments_.flags = flags;
  arguments_.tensor_count = static_cast<std::uint32_t>(pointers_.size());
  arguments_.tensors = pointers_.data();
  arguments_.parameters = parameters;
  arguments_.stream = stream;
  arguments_.workspace = workspace;
  arguments_.workspace_bytes = workspace_bytes;
  return arguments_;
}

void fill(QuantizationCall& call, const QuantizationSizes& sizes) {
  add_inputs(call, sizes);
  call.add_output({sizes.rows, sizes.columns});
}

void fill_backward(QuantizationCall& call, const QuantizationSizes& sizes) {
  add_inputs(call, sizes);
  call.operation = LYK_BACKWARD;
  call.add({sizes.rows, sizes.columns}, some_floats(sizes.rows * sizes.columns, 5));
  call.add_output({sizes.rows, sizes.columns});
}

Floats of_oracle(QuantizationCall& call, OracleOf device) {
  const auto division =
      device == OracleOf::cuda ? slots::ScalarDivision::reciprocal : slots::ScalarDivision::ieee;
  if (call.slot.starts_with("unpack"))
    return unpack(call, division);
  const Floats x = call.tensor(0).floats();
  const std::size_t rows = size_of(call.tensor(0), 0);
  const std::size_t columns = x.size() / rows;
  if (call.slot == "fake_quant_int8_per_channel")
    return run<slots::FakeQuantInt8PerChannel>(
        call,
        {.weight = x,
         .axis = {1, rows, columns},
         .scalar_division = division,
         .overflow = device == OracleOf::cuda ? slots::CodeOverflow::saturate
                                              : slots::CodeOverflow::lowest},
        reference::fake_quant_int8_per_channel, reference::fake_quant_int8_per_channel_backward);
  if (call.slot == "fake_quant_int8_affine")
    return run<slots::FakeQuantInt8Affine>(call,
                                           {.x = x,
                                            .lo = call.tensor(1).floats()[0],
                                            .hi = call.tensor(2).floats()[0],
                                            .scalar_division = division},
                                           reference::fake_quant_int8_affine,
                                           reference::fake_quant_int8_affine_backward);
  if (call.slot == "fake_quant_fp8") {
    const Floats scale = call.tensor(1).floats();
    return run<slots::FakeQuantFp8>(call, {.x = x, .axis = {1, 1, x.size()}, .scale = scale},
                                    reference::fake_quant_fp8, reference::fake_quant_fp8_backward);
  }
  if (call.slot == "fake_quant_int_grouped")
    return run<slots::FakeQuantIntGrouped>(
        call,
        {.weight = x,
         .rows = rows,
         .columns = columns,
         .bits = call.grouping.bits,
         .group_size = static_cast<std::size_t>(call.grouping.group_size),
         .scalar_division = division},
        reference::fake_quant_int_grouped, reference::fake_quant_int_grouped_backward);
  if (call.slot == "fake_quant_nvfp4_weight")
    return run<slots::FakeQuantNvfp4Weight>(call,
                                            {.weight = x,
                                             .rows = rows,
                                             .columns = columns,
                                             .tensor_amax = call.tensor(1).floats()[0],
                                             .scalar_division = division},
                                            reference::fake_quant_nvfp4_weight,
                                            reference::fake_quant_nvfp4_weight_backward);
  if (call.slot == "fake_quant_nvfp4_dynamic")
    return run<slots::FakeQuantNvfp4Dynamic>(
        call, {.x = x, .rows = rows, .columns = columns, .scalar_division = division},
        reference::fake_quant_nvfp4_dynamic, reference::fake_quant_nvfp4_dynamic_backward);
  return run<slots::FakeQuantMxfp4>(call, {.x = x, .rows = rows, .columns = columns},
                                    reference::fake_quant_mxfp4,
                                    reference::fake_quant_mxfp4_backward);
}

}  // namespace lyk::test
