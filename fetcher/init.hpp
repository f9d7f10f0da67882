// Global initialisation of libcurl and libgit2.
#pragma once

#include "proto/result.hpp"

namespace lyk::fetcher {

// Called once by main, before any thread is started. Also cuts libgit2 off from every git
// configuration outside our own object stores.
Result<void> init_libraries();

}  // namespace lyk::fetcher
