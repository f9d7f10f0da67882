// The edge of the driver: what happens to every call of every exported function, in this order.
//
//   1. an injected error is the answer, if it is this call's turn (the call does nothing)
//   2. the driver must be alive, and where it is needed, a context current and without a fault
//   3. the function's own work; whatever it throws ends here
//   4. an injected fault is left in the context
//   5. the line of the trace
//
// A function is `return call(Function::cuX, {arguments}, [&](Context& context) { ... });` with a
// body that takes a Context& if it works in the current context, a Process& if it only needs the
// driver to be initialised, and nothing if it always works.
#pragma once

#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "tests/fakes/softcuda/process.hpp"

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a linkage cannot be anything else
#define SOFTCUDA_API extern "C" __attribute__((visibility("default")))

// Leaves the enclosing function with a status that is not success.
#define SOFTCUDA_TRY(expression)                                 \
  do {                                                           \
    if (const ::softcuda::Status softcuda_status = (expression); \
        softcuda_status != ::softcuda::Status::success)          \
      return softcuda_status;                                    \
  } while (false)

namespace softcuda {

// Steps 1 and, for bodies that need it, 2 and 4; 5.
const Injection* take_injection(Function function);
Status apply(const Injection& injection);
Status check_life();
// The current context, if work can be done in it.
Status usable_context(Context*& out);
void trace_call(Function function, std::span<const Argument> arguments, Status status);

template <typename Body>
Status do_body(Body& body) {
  if constexpr (std::is_invocable_v<Body&, Context&>) {
    Context* context = nullptr;
    SOFTCUDA_TRY(usable_context(context));
    return body(*context);
  } else if constexpr (std::is_invocable_v<Body&, Process&>) {
    SOFTCUDA_TRY(check_life());
    return body(process());
  } else {
    return body();
  }
}

template <typename Body>
Status do_guarded(Body& body) noexcept {
  try {
    return do_body(body);
  } catch (const std::bad_alloc&) {
    return refuse(Status::out_of_memory, "no host memory");
  } catch (...) {
    return refuse(Status::unknown, "an exception inside the stand-in");
  }
}

template <typename Body>
Status call(Function function, std::initializer_list<Argument> arguments, Body&& body) noexcept {
  const Process& state = process();
  forget_refusal();
  const Injection* const injection = take_injection(function);
  Status status = Status::success;
  if (injection != nullptr && injection->when == Injection::When::instead) {
    status = apply(*injection);
  } else {
    status = do_guarded(body);
    if (injection != nullptr && status == Status::success)
      (void)apply(*injection);
  }
  if (state.trace.is_on())
    trace_call(function, {arguments.begin(), arguments.size()}, status);
  return status;
}

}  // namespace softcuda
