// `cpu` for the slot ms_deform_attn. There is no `reference` of it, as in LibreYOLO.
// Thread rule: safe from any thread.
#pragma once

#include "client/host_threads.hpp"
#include "client/lyk.h"
#include "proto/result.hpp"

namespace lyk::client {

// Runs a call that has passed check_ms_deform_attn on host tensors: outputs are written then.
// Errors: not_eligible.
Result<void> run_host_ms_deform_attn(HostThreads& threads, const lyk_arguments& arguments);

}  // namespace lyk::client
