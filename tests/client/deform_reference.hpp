// What the kernels are compared with: the oracle of ms_deform_attn in double precision, for the
// tensors of a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/reference/ms_deform_attn.hpp"
#include "tests/client/deform_call.hpp"

namespace lyk::test {

struct DeformInputs {
  std::vector<float> value, locations, weights, grad_output;
};
struct DeformGradients {
  std::vector<double> value, locations, weights;
};

class DeformReference {
public:
  DeformReference(const DeformShape& shape, const DeformInputs& inputs)
      : shape_(shape),
        value_(inputs.value.begin(), inputs.value.end()),
        locations_(inputs.locations.begin(), inputs.locations.end()),
        weights_(inputs.weights.begin(), inputs.weights.end()),
        grad_output_(inputs.grad_output.begin(), inputs.grad_output.end()) {}

  std::vector<double> forward() const {
    std::vector<double> out(grad_output_.size());
    reference::ms_deform_attn(call(), out);
    return out;
  }

  DeformGradients backward() const {
    DeformGradients out{std::vector<double>(value_.size()), std::vector<double>(locations_.size()),
                        std::vector<double>(weights_.size())};
    reference::ms_deform_attn_backward(call(), grad_output_,
                                       {.value = out.value.data(),
                                        .value_strides = call().value_strides,
                                        .locations = out.locations,
                                        .weights = out.weights});
    return out;
  }

private:
  static std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

  slots::MsDeformAttn<double> call() const {
    const slots::MsDeformAttnSizes sizes{.batch = size(shape_.batch),
                                         .cells = size(shape_.cells()),
                                         .heads = size(shape_.heads),
                                         .channels = size(shape_.channels),
                                         .queries = size(shape_.queries),
                                         .levels = size(shape_.level_count()),
                                         .points = size(shape_.points)};
    return {.sizes = sizes,
            .value = value_.data(),
            .value_strides = slots::dense_value_strides(sizes),
            .spatial_shapes = shape_.levels,
            .locations = locations_,
            .weights = weights_};
  }

  DeformShape shape_;
  std::vector<double> value_, locations_, weights_, grad_output_;
};

}  // namespace lyk::test
