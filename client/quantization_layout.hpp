// How the tensors of a quantization call lie in memory, as kernels see them: elements one after
// another along a channel axis, rows of columns, scales with strides. What no kernel can go through
// is not eligible, and the text names the tensor.
// Thread rule: pure functions of calls that have passed check_quantization.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "client/lyk.h"
#include "client/quantization.hpp"
#include "kernels/slots/quantization.hpp"
#include "proto/result.hpp"

namespace lyk::client {

// A tensor without gaps, its axes in any order of memory, along one of them; without one, it is one
// channel, and one channel is in one piece. Nothing: it has gaps. REQUIRES: elements.
std::optional<slots::ChannelAxis> find_channels(const lyk_tensor& tensor,
                                                std::optional<std::int64_t> axis);

// The same of what an implementation is to take. Errors: not_eligible.
Result<slots::ChannelAxis> channel_axis(std::string_view name,
                                        const lyk_tensor& tensor,
                                        std::optional<std::int64_t> axis);

// Whether two tensors of one shape have their elements in one order.
bool lie_alike(const lyk_tensor& a, const lyk_tensor& b);

// What every implementation asks for: float32 (and, of 16 bits, what `types` says), tensors from
// `first` on as the first one lies.
enum class ElementTypes { float32, any_16_bits };
Result<void> check_elements(const QuantizationSlot& slot,
                            const lyk_arguments& arguments,
                            ElementTypes types);
Result<void> check_lie_alike(const QuantizationSlot& slot, const lyk_arguments& arguments);
Result<void> check_row_major(const QuantizationSlot& slot, const lyk_arguments& arguments);

// The channels and the scale of fake_quant_int8_per_channel and fake_quant_fp8. A scale that is
// expanded from one element makes one channel of all. Errors: not_eligible.
struct Channels {
  slots::ChannelAxis axis;
  const float* scale = nullptr;  // axis.channels elements, of the tensors' device; null: none given
};
Result<Channels> int8_channels(const lyk_arguments& arguments);
Result<Channels> fp8_channels(const lyk_arguments& arguments);

// (..., columns) as rows.
struct Rows {
  std::size_t rows = 0;
  std::size_t columns = 0;
};
Rows rows_of(const lyk_tensor& tensor);

// What the two int_grouped slots have in common; the scale's data is of the tensors' device, null
// where none is given. Errors: not_eligible.
struct Grouping {
  std::size_t rows = 0;
  std::size_t columns = 0;  // of the output
  unsigned bits = 0;
  std::size_t group_size = 0;
  slots::GroupScale scale{};
};
Result<Grouping> fake_quant_grouping(const lyk_arguments& arguments);
Result<Grouping> unpack_grouping(const lyk_arguments& arguments);

// Whether outputs have no elements, so that the call is done before it begins.
bool has_nothing_to_write(const QuantizationSlot& slot, const lyk_arguments& arguments);

}  // namespace lyk::client
