// What must hold of a reply to Resolve and of its descriptor before the bytes may reach a driver.
// The service proved the bytes and named their hash; the seals are what makes that last, since
// nobody can change the bytes later. Thread rule: pure but for reading the descriptor's state.
#pragma once

#include "proto/methods.hpp"
#include "proto/names.hpp"
#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::client {

// protocol: the reply contradicts itself or what was asked.
Result<void> check_reply(const SlotName& asked, const wire::ResolveReply& reply);

// protocol: no descriptor, or not one of a sealed memfd; size_mismatch.
Result<void> check_descriptor(const UniqueFd& fd, const wire::Image& image);

}  // namespace lyk::client
