// `cuda` for the slot ms_deform_attn: our own kernels, float32, float16 and bfloat16 in any
// mixture, value in any order of memory, and two backwards, of which LYK_DETERMINISTIC chooses one.
// Thread rule: as DeviceCode.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "client/device_code.hpp"
#include "client/lyk.h"
#include "proto/result.hpp"

namespace lyk::client {

// Every kernel that some call needs.
std::span<const std::string_view> cuda_ms_deform_attn_symbols();

// What a backward needs of the workspace, behind the starts of the levels. `value`'s dtype and the
// shapes decide, and whether LYK_DETERMINISTIC is asked for. 0 for tensors that `cuda` does not
// take.
std::uint64_t cuda_ms_deform_attn_backward_bytes(const lyk_tensor& value,
                                                 const lyk_tensor& sampling_locations,
                                                 std::uint32_t flags);

// As run_on_cuda, of a call that has passed check_ms_deform_attn.
Result<void> run_cuda_ms_deform_attn(DeviceCode& code, const lyk_arguments& arguments);

}  // namespace lyk::client
