// The C interface of the slot ms_deform_attn: a struct with names, made into lyk_arguments, which
// is what every implementation sees.
#include <array>
#include <cstdint>

#include "client/c_interface.hpp"
#include "client/lyk.h"
#include "client/ms_deform_attn.hpp"
#include "client/process_registry.hpp"

namespace {

using lyk::Result;
using lyk::client::bad_argument;
using lyk::client::check_flags;
using lyk::client::guarded;
using lyk::client::process_registry;
using lyk::client::view_struct;

// `tensors` and `parameters` are the caller's, on its stack.
lyk_arguments arguments_of(const lyk_ms_deform_attn_call& call,
                           std::uint32_t operation,
                           const lyk_tensor* const* tensors,
                           const lyk_ms_deform_attn_parameters& parameters) {
  lyk_arguments out{};
  out.size = sizeof(out);
  out.operation = operation;
  out.flags = call.flags;
  out.tensor_count =
      static_cast<std::uint32_t>(lyk::client::ms_deform_attn_rules(operation).size());
  out.tensors = tensors;
  out.parameters = &parameters;
  out.stream = call.stream;
  out.workspace = call.workspace;
  out.workspace_bytes = call.workspace_bytes;
  return out;
}

int run(const lyk_ms_deform_attn_call* given, std::uint32_t operation) {
  return guarded(nullptr, [&]() -> Result<void> {
    lyk_ms_deform_attn_call storage{};
    LYK_TRY_ASSIGN(const lyk_ms_deform_attn_call* known, view_struct(given, "call", storage));
    const lyk_ms_deform_attn_call& call = *known;
    LYK_TRY(check_flags(call.flags, lyk::client::known_call_flags, "call"));
    const bool is_forward = operation == LYK_FORWARD;
    const std::array<const lyk_tensor*, 9> tensors{call.value,
                                                   call.spatial_shapes,
                                                   call.level_start_index,
                                                   call.sampling_locations,
                                                   call.attention_weights,
                                                   is_forward ? call.output : call.grad_output,
                                                   call.grad_value,
                                                   call.grad_sampling_locations,
                                                   call.grad_attention_weights};
    const lyk_ms_deform_attn_parameters parameters{sizeof(parameters), 0, call.host_spatial_shapes};
    return process_registry().call_ms_deform_attn(
        arguments_of(call, operation, tensors.data(), parameters));
  });
}

}  // namespace

int lyk_ms_deform_attn_forward(const lyk_ms_deform_attn_call* call) {
  return run(call, LYK_FORWARD);
}

int lyk_ms_deform_attn_backward(const lyk_ms_deform_attn_call* call) {
  return run(call, LYK_BACKWARD);
}

int lyk_ms_deform_attn_workspace_bytes(const lyk_ms_deform_attn_call* call, uint64_t* bytes) {
  return guarded(nullptr, [&]() -> Result<void> {
    lyk_ms_deform_attn_call storage{};
    LYK_TRY_ASSIGN(const lyk_ms_deform_attn_call* known, view_struct(call, "call", storage));
    if (bytes == nullptr)
      return bad_argument("bytes", "NULL");
    LYK_TRY(check_flags(known->flags, lyk::client::known_call_flags, "call"));
    const std::uint32_t flags = known->flags | process_registry().environment_flags();
    LYK_TRY_ASSIGN(*bytes, lyk::client::ms_deform_attn_workspace_bytes(*known, flags));
    return {};
  });
}
