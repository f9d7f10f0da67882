// The log buffers that a caller of cuModuleLoadDataEx may bring.
//
// Thread rule: pure functions of their arguments.
#pragma once

#include <string_view>

namespace softcuda {

struct JitOptions {
  const int* options = nullptr;
  void** values = nullptr;
  unsigned count = 0;
};

// Writes `error` into the error log and nothing into the information log, each ended by a NUL and
// cut to its buffer, and the sizes into their options as the driver does.
void write_jit_logs(const JitOptions& options, std::string_view error);

}  // namespace softcuda
