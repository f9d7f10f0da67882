// `cpu` and `reference` for the quantization slots: calls on host tensors, computed as PyTorch
// computes them on a CPU.
// Thread rule: safe from any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "client/host_threads.hpp"
#include "client/lyk.h"
#include "client/quantization.hpp"
#include "kernels/cpu/execution.hpp"
#include "proto/result.hpp"

namespace lyk::client {

// A call of one slot, and where it is run.
struct HostCall {
  const QuantizationSlot& slot;
  const lyk_arguments& arguments;
  const cpu::Execution* execution;  // null: the oracle

  const lyk_tensor& tensor(std::size_t index) const { return *arguments.tensors[index]; }
};

struct HostSlot {
  std::string_view name;
  Result<void> (*run)(const HostCall& host);
};

// Of a slot that there is.
const HostSlot& host_slot(std::string_view name);

// Runs a call that has passed check_quantization: outputs are written then. `threads` null: by the
// oracle. Errors: not_eligible.
Result<void> run_on_host(const QuantizationSlot& slot,
                         const HostSlot& code,
                         const lyk_arguments& arguments,
                         HostThreads* threads);

}  // namespace lyk::client
