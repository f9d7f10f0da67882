// The calls of a case of ms_deform_attn, and what kernels/reference, which computes in double
// precision, says of them.
// Thread rule: pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/slots/ms_deform_attn.hpp"
#include "parity/case.hpp"

namespace lyk::parity {

struct DeformInputs {
  slots::MsDeformAttnSizes sizes;
  std::vector<std::int64_t> levels;  // height and width of each
  std::vector<float> value;
  std::vector<float> locations;
  std::vector<float> weights;
  std::vector<float> grad_output;
};

// How value and its gradient lie in memory, from the outermost to the innermost dimension.
enum class ValueOrder : std::uint8_t {
  cells_heads_channels,  // row-major
  heads_cells_channels,
  heads_channels_cells,  // as LW-DETR, D-FINE, DEIM and EC hand it over
};

struct DeformForm {
  ElementType value = ElementType::float32;  // and the output, and the gradients of both
  ElementType locations = ElementType::float32;
  ElementType weights = ElementType::float32;
  ValueOrder order = ValueOrder::cells_heads_channels;
};

// Of dense float32.
Case deform_case(std::string name, const DeformInputs& in, Implementation implementation);

// For `cuda`: the same numbers, which the types can hold, in another form as well. What does not
// depend on the order of atomic additions has the bits of casting to float32 first. REQUIRES:
// inputs that are rounded_to the form's types.
Case deform_case(std::string name, const DeformInputs& in, const DeformForm& form);

}  // namespace lyk::parity
