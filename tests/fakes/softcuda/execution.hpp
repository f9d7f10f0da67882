// One run of a kernel, with everything that it needs.
//
// Thread rule: `execute` runs in the thread of a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/fakes/softcuda/module.hpp"
#include "tests/fakes/softcuda/ptx/module.hpp"

namespace softcuda {

struct Execution {
  std::shared_ptr<KernelFunction> function;
  ptx::Dimensions grid;
  ptx::Dimensions block;
  std::uint32_t shared_bytes = 0;
  std::vector<std::byte> parameters;
};

// Runs the kernel; a fault becomes the fault of its context, with one line on standard error. With
// execution switched off, nothing happens.
void execute(const Execution& execution);

}  // namespace softcuda
