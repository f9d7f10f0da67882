// The quantization slots: the order of their tensors, what a call of each must fulfil whoever runs
// it, and how much workspace it needs. lyk_quantization.h states the rules.
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "client/lyk.h"
#include "client/tensor_checks.hpp"
#include "proto/result.hpp"

namespace lyk::client {

struct QuantizationSlot {
  std::string_view name;
  // In the order of the slot's enum: inputs, then what forward writes, or grad_output and what
  // backward writes.
  std::span<const TensorRule> forward;
  std::span<const TensorRule> backward;  // empty: there is none
  std::size_t inputs = 0;
  // What the slot asks for beyond the rules of its tensors, of tensors that fulfil those.
  Result<void> (*check)(const lyk_arguments& arguments) = nullptr;
  // Of such a call whose tensors are on a GPU. Null: none.
  std::uint64_t (*workspace_bytes)(const lyk_arguments& arguments) = nullptr;
};

// All ten, in the order of the header.
std::span<const QuantizationSlot> quantization_slots();

// Null for any other name.
const QuantizationSlot* find_quantization_slot(std::string_view name);

// Everything that a call can contradict itself by. The struct itself has been read. Errors:
// invalid_argument; not_eligible for what no implementation has (more dimensions, a backward).
Result<void> check_quantization(const QuantizationSlot& slot, const lyk_arguments& arguments);

// Of a call whose tensors and parameters fulfil the rules; errors as check_quantization.
Result<std::uint64_t> quantization_workspace_bytes(const QuantizationSlot& slot,
                                                   const lyk_arguments& arguments);

// ---- of a call that has passed the check

std::span<const TensorRule> rules_of(const QuantizationSlot& slot, std::uint32_t operation);

std::int64_t channel_axis_of(const lyk_arguments& arguments);
lyk_int_grouped_parameters grouping_of(const lyk_arguments& arguments);

// The axis of x along which scale has several elements, by PyTorch's rule for broadcasting.
// `number`: it has one, for all of x. Errors: invalid_argument (it does not broadcast),
// not_eligible (several axes, or the result would not be as x).
struct ScaleAxis {
  bool is_number = true;
  std::int32_t of_x = 0;
  std::int32_t of_scale = 0;
};
Result<ScaleAxis> scale_axis(const lyk_tensor& x, const lyk_tensor& scale);

}  // namespace lyk::client
