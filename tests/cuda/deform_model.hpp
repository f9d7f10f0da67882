// The deterministic backward of ms_deform_attn on CUDA, operation for operation on the host: what
// its tests compare bits with. docs/kernels.md states the order of the sums.
#pragma once

#include "tests/cuda/deform_case.hpp"

namespace lyk::test {

// Before they are rounded to their types. REQUIRES: finite gradients.
DeformGradients backward_of_model(const DeformTensors& tensors);

}  // namespace lyk::test
