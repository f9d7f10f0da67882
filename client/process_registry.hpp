// The process's one Registry, which "off for the rest of the process" needs: the only mutable
// global of the library beside the text of a thread's last failure.
// Thread rule: safe from any thread; a child of fork goes on with its copy.
#pragma once

#include "client/registry.hpp"

namespace lyk::client {

// Made with the environment of the first call, and never destroyed: threads may be in it while the
// process is on its way out.
Registry& process_registry();

}  // namespace lyk::client
