// Errors of the operating system on the way to a service, where being short of something must not
// be taken for a service that does not work.
// Thread rule: pure functions.
#pragma once

#include <string_view>

#include "proto/error.hpp"

namespace lyk::client {

// True for an errno that says that this process or machine is out of descriptors, memory or
// processes just now.
bool is_shortage(int number);

// os_error, with not_eligible for a shortage: it hurts this call alone.
Error passing_error(int number, std::string_view what);

}  // namespace lyk::client
