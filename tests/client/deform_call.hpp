// A call of ms_deform_attn for tests: tensors described, and arguments that point to them. Where
// the data lies is the test's business; by default it lies nowhere and must not be looked at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/lyk.h"
#include "client/ms_deform_im2col.hpp"

namespace lyk::test {

struct TestTensor {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // empty: dense
  lyk_tensor tensor{};

  std::int64_t elements() const {
    std::int64_t count = 1;
    for (const std::int64_t size : shape)
      count *= size;
    return count;
  }

  lyk_tensor* get() {
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    return &tensor;
  }
};

inline void* pretend_address(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

// Sizes by name, with levels as height and width.
struct DeformShape {
  std::int64_t batch = 2;
  std::int64_t heads = 2;
  std::int64_t channels = 4;
  std::int64_t queries = 3;
  std::int64_t points = 2;
  std::vector<std::int64_t> levels{4, 6, 2, 3};

  std::int64_t level_count() const { return static_cast<std::int64_t>(levels.size() / 2); }
  std::int64_t cells() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i + 1 < levels.size(); i += 2)
      sum += levels[i] * levels[i + 1];
    return sum;
  }
};

class DeformCall {
public:
  explicit DeformCall(const DeformShape& shape = {}) : host_shapes(shape.levels) {
    const std::int64_t l = shape.level_count();
    value.shape = grad_value.shape = {shape.batch, shape.cells(), shape.heads, shape.channels};
    spatial_shapes.shape = {l, 2};
    level_start_index.shape = {l};
    sampling_locations.shape = grad_sampling_locations.shape = {
        shape.batch, shape.queries, shape.heads, l, shape.points, 2};
    attention_weights.shape =
        grad_attention_weights.shape = {shape.batch, shape.queries, shape.heads, l, shape.points};
    output.shape = grad_output.shape = {shape.batch, shape.queries, shape.heads * shape.channels};
    std::uintptr_t address = std::uintptr_t{1} << 40;
    for (TestTensor* tensor : all()) {
      tensor->tensor.dtype = {LYK_DTYPE_FLOAT, 32, 1};
      tensor->tensor.device = {LYK_DEVICE_CUDA, 0};
      tensor->tensor.data = pretend_address(address);
      address += std::uintptr_t{1} << 36;
    }
    spatial_shapes.tensor.dtype = {LYK_DTYPE_INT, 64, 1};
    level_start_index.tensor.dtype = {LYK_DTYPE_INT, 64, 1};
  }
  DeformCall(const DeformCall&) = delete;
  DeformCall& operator=(const DeformCall&) = delete;
  DeformCall(DeformCall&&) = delete;
  DeformCall& operator=(DeformCall&&) = delete;
  ~DeformCall() = default;

  std::array<TestTensor*, 10> all() {
    return {&value,
            &spatial_shapes,
            &level_start_index,
            &sampling_locations,
            &attention_weights,
            &output,
            &grad_output,
            &grad_value,
            &grad_sampling_locations,
            &grad_attention_weights};
  }

  // The arguments as the fields say now; they live as long as the DeformCall.
  const lyk_arguments& arguments(std::uint32_t operation) {
    tensors_ = {value.get(),
                spatial_shapes.get(),
                has_level_starts ? level_start_index.get() : nullptr,
                sampling_locations.get(),
                attention_weights.get(),
                operation == LYK_FORWARD ? output.get() : grad_output.get(),
                grad_value.get(),
                grad_sampling_locations.get(),
                grad_attention_weights.get()};
    parameters_ = {sizeof(parameters_), 0, host_shapes.data()};
    arguments_ = {};
    arguments_.size = sizeof(arguments_);
    arguments_.operation = operation;
    arguments_.flags = flags;
    arguments_.tensor_count = operation == LYK_BACKWARD ? 9 : 6;
    arguments_.tensors = tensors_.data();
    arguments_.parameters = &parameters_;
    arguments_.stream = stream;
    arguments_.workspace = workspace;
    arguments_.workspace_bytes = workspace_bytes;
    return arguments_;
  }

  // The same as the struct of the C interface.
  lyk_ms_deform_attn_call call() {
    lyk_ms_deform_attn_call out{};
    out.size = sizeof(out);
    out.flags = flags;
    out.value = value.get();
    out.spatial_shapes = spatial_shapes.get();
    out.level_start_index = has_level_starts ? level_start_index.get() : nullptr;
    out.sampling_locations = sampling_locations.get();
    out.attention_weights = attention_weights.get();
    out.host_spatial_shapes = host_shapes.data();
    out.output = output.get();
    out.grad_output = grad_output.get();
    out.grad_value = grad_value.get();
    out.grad_sampling_locations = grad_sampling_locations.get();
    out.grad_attention_weights = grad_attention_weights.get();
    out.stream = stream;
    out.workspace = workspace;
    out.workspace_bytes = workspace_bytes;
    return out;
  }

  std::vector<std::int64_t> host_shapes;
  TestTensor value, spatial_shapes, level_start_index, sampling_locations, attention_weights;
  TestTensor output, grad_output, grad_value, grad_sampling_locations, grad_attention_weights;
  bool has_level_starts = true;
  std::uint32_t flags = 0;
  void* stream = nullptr;
  void* workspace = nullptr;
  std::uint64_t workspace_bytes = 0;

private:
  std::array<const lyk_tensor*, 9> tensors_{};
  lyk_ms_deform_attn_parameters parameters_{};
  lyk_arguments arguments_{};
};

}  // namespace lyk::test
