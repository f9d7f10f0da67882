// What `hub` and `cuda` fill for a call of ms_deform_attn that has passed its check: outputs, and
// the starts of the levels where the caller has none.
// Thread rule: as DeviceCode.
#pragma once

#include <string_view>

#include "client/cuda_abi.h"
#include "client/lyk.h"
#include "proto/result.hpp"

namespace lyk::client {

// With zeros. REQUIRES: no gaps. Errors: as fill_zero.
Result<void> fill_tensor(const lyk_cu_functions& cu,
                         const lyk_tensor& tensor,
                         std::string_view name,
                         lyk_cu_stream stream);

// All that the call writes. Errors: as fill_zero.
Result<void> fill_outputs(const lyk_cu_functions& cu,
                          const lyk_arguments& arguments,
                          lyk_cu_stream stream);

// The caller's, or the beginning of the workspace.
lyk_cu_deviceptr level_starts_of(const lyk_arguments& arguments);

// Writes where each level begins, as 64-bit numbers, if the caller does not say. By fills alone: a
// copy from host memory would make a capture remember an address that is gone when it is replayed.
// There are fewer than 2^31 cells. Errors: as fill_zero.
Result<void> write_missing_level_starts(const lyk_cu_functions& cu,
                                        const lyk_arguments& arguments,
                                        lyk_cu_stream stream);

}  // namespace lyk::client
