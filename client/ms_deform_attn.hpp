// The slot ms_deform_attn: the order of its tensors, what a call of it must fulfil whoever runs it,
// and the sizes that follow from a call that does.
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "client/lyk.h"
#include "client/ms_deform_im2col.hpp"
#include "client/tensor_checks.hpp"
#include "proto/result.hpp"

namespace lyk::client {

inline constexpr std::string_view ms_deform_attn_name = "ms_deform_attn";

// The rules of the tensors of LYK_FORWARD or LYK_BACKWARD, in the order of LYK_MS_DEFORM_ATTN_*.
std::span<const TensorRule> ms_deform_attn_rules(std::uint32_t operation);

// Everything that a call can contradict itself by. The struct itself has been read. Errors:
// invalid_argument.
Result<void> check_ms_deform_attn(const lyk_arguments& arguments);

// ---- of a call that has passed the check

DeformSizes ms_deform_attn_sizes(const lyk_arguments& arguments);
DeformSizes ms_deform_attn_sizes(const lyk_tensor& value_tensor,
                                 const lyk_tensor& locations_tensor);

// Whether outputs that have elements are zero, since nothing is added up.
bool has_nothing_to_compute(const DeformSizes& sizes);

// True for value and its gradient, which models hand over as permuted views.
bool may_be_strided(const TensorRule& rule);

// Of value or its gradient, in elements; of a size of one, what no step needs is made small.
struct CellStrides {
  std::int64_t batch = 0;
  std::int64_t cell = 0;
  std::int64_t head = 0;
  std::int64_t channel = 0;
};
CellStrides cell_strides(const lyk_tensor& tensor);

// As the parameters have them: two numbers for each level.
std::span<const std::int64_t> host_spatial_shapes_of(const lyk_arguments& arguments);

// ---- of any call

// The number of levels that spatial_shapes has, by its shape alone. Errors: invalid_argument;
// not_eligible where they are more than limits::levels_max.
Result<std::int64_t> ms_deform_attn_levels(const lyk_tensor* shapes);

// For the starts of the levels where the caller has none: what every call must bring.
std::uint64_t level_starts_bytes(std::int64_t levels, const lyk_tensor* level_starts);

// What lets every implementation take the call, where it is a backward. The flags are with what the
// environment asks for. Errors: invalid_argument.
Result<std::uint64_t> ms_deform_attn_workspace_bytes(const lyk_ms_deform_attn_call& call,
                                                     std::uint32_t flags);

}  // namespace lyk::client
