// Calls of ms_deform_attn with made-up tensors, on the oracle and on the stand-in device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/deform_launch.hpp"
#include "kernels/slots/ms_deform_attn.hpp"
#include "tests/cuda/elements.hpp"

namespace lyk::test {

// Of value and its gradient. permuted: (batch, heads, channels, cells), as LW-DETR hands it over.
enum class ValueLayout : std::uint8_t { dense, permuted };

struct DeformCase {
  std::string name;
  std::vector<std::int64_t> shapes{};  // levels x (height, width)
  std::size_t batch = 1;
  std::size_t heads = 1;
  std::size_t channels = 4;
  std::size_t queries = 3;
  std::size_t points = 2;
  ElementType value_type = ElementType::f32;  // also of outputs and their gradients
  ElementType locations_type = ElementType::f32;
  ElementType weights_type = ElementType::f32;
  ValueLayout layout = ValueLayout::dense;
  std::size_t shift = 0;  // of value, outputs and gradients, in elements
};

// The tensors of a case, of the values that its types can hold; all of them dense here.
struct DeformTensors {
  slots::MsDeformAttnSizes sizes;
  std::vector<std::int64_t> shapes;
  std::vector<float> value;
  std::vector<float> locations;
  std::vector<float> weights;
  std::vector<float> grad_output;
};

cuda::DeformSizes cuda_sizes(const slots::MsDeformAttnSizes& sizes);

struct DeformGradients {
  std::vector<float> value;
  std::vector<float> locations;
  std::vector<float> weights;
};

// Locations are inside, outside, on centres and on edges; some are infinite or NaN.
DeformTensors tensors_of(const DeformCase& given, unsigned seed);

std::vector<float> forward_of_oracle(const DeformTensors& tensors);
// In double, rounded to fp32.
DeformGradients backward_of_oracle(const DeformTensors& tensors);

enum class Backward : std::uint8_t { atomic, deterministic };

// How it is launched: none of it may matter.
struct Launching {
  std::uint64_t order = 0;
  std::uint32_t blocks = 0;  // of every grid; 0: as many as deform_launch.hpp says
  int sm = 75;
  softcuda::ptx::Traffic* traffic = nullptr;  // what the launches move is added to it
};

std::vector<float> forward_on_cuda(const DeformCase& given,
                                   const DeformTensors& tensors,
                                   const Launching& how);
DeformGradients backward_on_cuda(const DeformCase& given,
                                 const DeformTensors& tensors,
                                 Backward backward,
                                 const Launching& how);

}  // namespace lyk::test
