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

// The workspace of a backward: the starts of the levels, where the caller has none, and what is
// behind them, the sums of 16-bit types or the bins of LYK_DETERMINISTIC.
struct DeformRoom {
  std::uint64_t behind = 0;  // where that begins
  std::uint64_t bytes = 0;   // of both
};

// The dtype and the device of `value`, the shapes and the flags decide. Of tensors that `cuda` does
// not take, nothing is behind the starts.
DeformRoom cuda_ms_deform_attn_room(std::uint64_t starts_bytes,
                                    const lyk_tensor& value,
                                    const lyk_tensor& sampling_locations,
                                    std::uint32_t flags);

// As run_on_cuda, of a call that has passed check_ms_deform_attn.
Result<void> run_cuda_ms_deform_attn(DeviceCode& code, const lyk_arguments& arguments);

}  // namespace lyk::client
