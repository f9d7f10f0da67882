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

// Of a call that has passed the check.
DeformSizes ms_deform_attn_sizes(const lyk_arguments& arguments);

// The number of levels that spatial_shapes has, by its shape alone. Errors: invalid_argument.
Result<std::int64_t> ms_deform_attn_levels(const lyk_tensor* shapes);

// For the starts of the levels where the caller has none.
std::uint64_t ms_deform_attn_workspace_bytes(std::int64_t levels, const lyk_tensor* level_starts);

}  // namespace lyk::client
