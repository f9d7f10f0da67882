// The words of the varlink file for the enums that people see.
#pragma once

#include <string_view>

#include "proto/methods.hpp"

namespace lyk::cli {

std::string_view mode_name(wire::Mode mode);              // "system", "user", "private"
std::string_view slot_state_name(wire::SlotState state);  // "cached", "not_cached", ...
std::string_view image_kind_name(wire::ImageKind kind);   // "cubin", "ptx"
std::string_view proof_name(wire::ProofKind proof);       // "git", "digests"
std::string_view fetch_step_name(wire::FetchStep step);   // "proving", ...

}  // namespace lyk::cli
