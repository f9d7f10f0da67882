// `hub` for the slot ms_deform_attn: which calls it takes, and how it runs them.
// Thread rule: as Hub.
#pragma once

#include "client/hub.hpp"
#include "client/lyk.h"
#include "proto/result.hpp"

namespace lyk::client {

// Runs a call that has passed check_ms_deform_attn: the work is on the stream then. Errors:
// not_eligible, invalid_argument (device, stream, a pointer that the driver refuses), cuda (the
// context is lost); everything else is a failure of the implementation.
Result<void> run_hub_ms_deform_attn(Hub& hub, const lyk_arguments& arguments);

// Whether such a call, which does not come to `hub` any more, has its tensors in a context that
// `hub` has not lost. Errors: cuda (it has), with how.
Result<void> check_context_not_lost(Hub& hub, const lyk_arguments& arguments);

}  // namespace lyk::client
