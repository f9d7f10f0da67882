// What must hold of a descriptor before its bytes may reach a driver. The service proved the bytes
// and named their hash; the seals are what makes that last, since nobody can change the bytes
// later. Thread rule: pure but for reading the descriptor's state.
#pragma once

#include "client/connection.hpp"
#include "proto/methods.hpp"
#include "proto/names.hpp"
#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::client {

// Errors: protocol (no descriptor, not a sealed memfd, a reply that contradicts itself or what was
// asked), size_mismatch.
Result<ResolvedImage> check_received(const SlotName& asked, wire::ResolveReply reply, UniqueFd fd);

}  // namespace lyk::client
