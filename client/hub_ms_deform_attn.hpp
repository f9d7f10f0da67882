// `hub` for the slot ms_deform_attn: which calls it takes, and how it runs them.
// Thread rule: as DeviceCode.
#pragma once

#include "client/device_code.hpp"
#include "client/lyk.h"
#include "proto/result.hpp"

namespace lyk::client {

// Runs a call that has passed check_ms_deform_attn: the work is on the stream then. Errors:
// not_eligible, invalid_argument (device, stream, a pointer that the driver refuses), cuda (the
// context is lost); everything else is a failure of the implementation.
Result<void> run_hub_ms_deform_attn(DeviceCode& code, const lyk_arguments& arguments);

}  // namespace lyk::client
