#include "tests/fakes/softcuda/execution.hpp"

#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/process.hpp"
#include "tests/fakes/softcuda/ptx/run.hpp"

namespace softcuda {

namespace {

using lyk::str;

Status status_of(ptx::FaultKind kind) {
  switch (kind) {
    case ptx::FaultKind::illegal_address:
      return Status::illegal_address;
    case ptx::FaultKind::stack_overflow:
      return Status::hardware_stack_error;
    case ptx::FaultKind::misaligned_address:
      return Status::misaligned_address;
    case ptx::FaultKind::illegal_instruction:
      return Status::illegal_instruction;
    case ptx::FaultKind::assert_failed:
      return Status::assert_failed;
    case ptx::FaultKind::timeout:
      return Status::launch_timeout;
    case ptx::FaultKind::uninitialised_read:
    case ptx::FaultKind::race:
    case ptx::FaultKind::divergent_barrier:
    case ptx::FaultKind::trap:
    case ptx::FaultKind::invalid_launch:
      return Status::launch_failed;
  }
  return Status::unknown;
}

// All devices share one memory here, so the parameters are looked at for what would be another
// device's address. Without peer access a kernel cannot reach that.
std::optional<std::string> foreign_pointer(const Execution& execution) {
  const KernelFunction& function = *execution.function;
  if (process().devices.size() < 2)
    return std::nullopt;
  // A struct has its pointers at multiples of eight bytes; nothing else looks like a device
  // address.
  constexpr std::size_t pointer_bytes = sizeof(DevicePointer);
  for (const auto& parameter : function.parameters) {
    const std::size_t end = parameter.offset + parameter.size;
    for (std::size_t at = parameter.offset; at + pointer_bytes <= end; at += pointer_bytes) {
      DevicePointer value = 0;
      std::memcpy(&value, execution.parameters.data() + at, sizeof value);
      if (!is_device_address(value))
        continue;
      const auto place = process().allocations.find(value);
      if (place && place->context->device != function.context->device)
        return str("kernel ", function.name, ": the parameter at byte ", at,
                   " is memory of device ", place->context->device);
    }
  }
  return std::nullopt;
}

void fail(const KernelFunction& function, Status status, const std::string& text) {
  (void)std::fprintf(stderr, "softcuda: %s\n", text.c_str());
  const Trace& trace = process().trace;
  if (trace.is_on()) {
    (void)refuse(status, text);
    trace.write("(running)", {{Argument{"kernel", function.name.c_str()}}}, status);
  }
  set_fault(*function.context, status);
}

}  // namespace

void execute(const Execution& execution) {
  const Process& state = process();
  const KernelFunction& function = *execution.function;
  if (const auto text = foreign_pointer(execution)) {
    fail(function, Status::illegal_address, *text);
    return;
  }
  if (function.code == nullptr || function.facts.kernel == nullptr)
    return;  // SOFTCUDA_EXECUTE=0: this is all that a launch comes to
  const ptx::Launch launch{.grid = execution.grid,
                           .block = execution.block,
                           .dynamic_shared_bytes = execution.shared_bytes,
                           .parameters = execution.parameters,
                           .seed = state.settings.seed,
                           .checks = {.race = state.settings.check_race,
                                      .uninitialised = state.settings.check_uninitialised}};
  const auto fault = ptx::run(*function.code->loaded, *function.facts.kernel, launch,
                              process().allocations.memory());
  if (fault)
    fail(function, status_of(fault->kind), fault->text);
}

}  // namespace softcuda
