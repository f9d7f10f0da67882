// `cpu` and `reference` for the quantization slots: calls on host tensors, computed as PyTorch
// computes them on a CPU.
// Thread rule: safe from any thread.
#pragma once

#include "client/host_threads.hpp"
#include "client/lyk.h"
#include "client/quantization.hpp"
#include "proto/result.hpp"

namespace lyk::client {

// Runs a call that has passed check_quantization: outputs are written then. `threads` null: by the
// oracle. Errors: not_eligible.
Result<void> run_on_host(const QuantizationSlot& slot,
                         const lyk_arguments& arguments,
                         HostThreads* threads);

}  // namespace lyk::client
