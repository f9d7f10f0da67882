#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

const Injection* take_injection(Function function) {
  return process().injector.next(info(function));
}

Status apply(const Injection& injection) {
  Context* const context = current_context();
  if (context != nullptr && is_sticky(injection.status))
    set_fault(*context, injection.status);
  return refuse(injection.status, "injected");
}

Status check_life() {
  if (in_host_function())
    return refuse(Status::not_permitted, "called from a host function of a stream");
  switch (life()) {
    case Life::fresh:
      return refuse(Status::not_initialized, "cuInit was not called");
    case Life::initialised:
      return Status::success;
    case Life::forked:
      return refuse(Status::not_initialized, "the parent of this process initialised the driver");
    case Life::ended:
      return refuse(Status::deinitialized, "the process is exiting");
  }
  return Status::unknown;
}

Status usable_context(Context*& out) {
  SOFTCUDA_TRY(check_life());
  Context* const context = current_context();
  if (context == nullptr)
    return refuse(Status::invalid_context, "no context is current");
  if (!context->active.load(std::memory_order_acquire))
    return refuse(Status::context_is_destroyed, "the current context was destroyed");
  const Status fault = context->fault.load(std::memory_order_acquire);
  if (fault != Status::success)
    return refuse(fault, "the context has a fault from before");
  out = context;
  return Status::success;
}

void trace_call(Function function, std::span<const Argument> arguments, Status status) {
  process().trace.write(info(function).exported, arguments, status);
}

}  // namespace softcuda
