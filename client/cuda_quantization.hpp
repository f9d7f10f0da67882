// `cuda` for the quantization slots: which of our kernels a call of each needs, and how they are
// launched (kernels/cuda/launch.hpp has the grids).
// Thread rule: as DeviceCode.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "client/device_code.hpp"
#include "client/launching.hpp"
#include "client/lyk.h"
#include "client/own_kernels.hpp"
#include "client/quantization.hpp"
#include "client/quantization_layout.hpp"
#include "proto/result.hpp"

namespace lyk::client {

// A call whose GPU has been entered, in whose module the kernels are.
struct CudaCall {
  const QuantizationSlot& slot;
  const lyk_arguments& arguments;
  OwnKernels own;
};

struct CudaSlot {
  std::string_view name;
  std::span<const std::string_view> symbols;
  ElementTypes (*types)(const lyk_arguments& arguments);
  // Of a call with elements, of those types. Errors: not_eligible.
  Result<void> (*check_takes)(const QuantizationSlot& slot, const lyk_arguments& arguments);
  // Of a call that it takes, as if it were of that operation.
  KernelSet (*kernels)(const lyk_arguments& arguments, std::uint32_t operation);
  Result<void> (*enqueue)(const CudaCall& call);
};

// Of a slot that there is.
const CudaSlot& cuda_slot(std::string_view name);

// Runs a call that has passed check_quantization: the work is on the stream then. Errors:
// not_eligible, invalid_argument (device, stream, a pointer that the driver refuses), cuda (the
// context is lost); everything else is a failure of the implementation.
Result<void> run_on_cuda(DeviceCode& code,
                         const QuantizationSlot& slot,
                         const CudaSlot& kernels,
                         const lyk_arguments& arguments);

}  // namespace lyk::client
