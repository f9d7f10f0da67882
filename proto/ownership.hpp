// Files that decide where kernels come from: pins and the daemon's configuration. Whoever may write
// one decides what is proven, so it must belong to root or to the user whose service reads it, and
// nobody else may write it. The service refuses others, and the command line writes none into a
// place where they would be refused. Thread rule: pure.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string_view>

#include "proto/result.hpp"

namespace lyk {

// refused: another user owns it, or its group or others may write it. `found` is of the open file.
Result<void> check_ownership(const struct ::stat& found, std::string_view name, uid_t own_uid);

}  // namespace lyk
