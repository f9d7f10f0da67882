// Launches: what is checked at the call, and the run.
//
// Thread rule: any thread.
#pragma once

#include <array>
#include <cstdint>

#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/context.hpp"
#include "tests/fakes/softcuda/functions.hpp"

namespace softcuda {

struct LaunchRequest {
  FunctionHandle function{};
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  unsigned shared_bytes = 0;
  StreamHandle stream{};
  void** parameters = nullptr;  // one pointer for each parameter,
  void** extra = nullptr;       // or all of them as one buffer
  DefaultStream zero = DefaultStream::legacy;
};

Status launch(Context& context, const LaunchRequest& request);

}  // namespace softcuda
