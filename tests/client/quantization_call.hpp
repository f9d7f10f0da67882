// Calls of the quantization slots for tests: tensors by value, in host memory, and what the oracle
// makes of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "client/lyk.h"

namespace lyk::test {

using Floats = std::vector<float>;
using Shape = std::vector<std::int64_t>;

// A tensor that owns what it describes.
struct OwnTensor {
  Shape shape;
  Shape strides;  // empty: dense
  std::vector<std::byte> bytes;
  lyk_tensor tensor{};

  lyk_tensor* get() {
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
    return &tensor;
  }
  Floats floats() const;
};

// The arguments of a call, as its fields say when they are asked for.
class QuantizationCall {
public:
  explicit QuantizationCall(std::string_view of_slot) : slot(of_slot) {}

  // Adds a tensor; null where an optional one is absent.
  OwnTensor& add(const Shape& shape, const Floats& values);
  // In the place of one that is there, or absent.
  void put(std::size_t place, const Shape& shape, const Floats& values);
  OwnTensor& add_bytes(const Shape& shape, const std::vector<std::uint8_t>& bytes);
  void add_none() { tensors_.push_back(nullptr); }
  // What a call writes, spoiled beforehand.
  OwnTensor& add_output(const Shape& shape);

  bool has(std::size_t place) const { return tensors_[place] != nullptr; }
  OwnTensor& tensor(std::size_t place) { return *tensors_[place]; }
  std::size_t size() const { return tensors_.size(); }
  OwnTensor& last() { return *tensors_.back(); }

  const lyk_arguments& arguments();

  std::string_view slot;
  std::uint32_t operation = LYK_FORWARD;
  std::uint32_t flags = 0;
  const void* parameters = nullptr;
  void* stream = nullptr;
  void* workspace = nullptr;
  std::uint64_t workspace_bytes = 0;
  lyk_fake_quant_int8_per_channel_parameters channel{sizeof(channel), 0, 0};
  lyk_int_grouped_parameters grouping{sizeof(grouping), 4, 32};

private:
  std::deque<OwnTensor> owned_;
  std::vector<OwnTensor*> tensors_;
  std::vector<const lyk_tensor*> pointers_;
  lyk_arguments arguments_{};
};

inline constexpr std::array<std::string_view, 10> quantization_slot_names{
    "fake_quant_int8_per_channel",
    "fake_quant_int8_affine",
    "fake_quant_fp8",
    "fake_quant_int_grouped",
    "fake_quant_nvfp4_weight",
    "fake_quant_nvfp4_dynamic",
    "fake_quant_mxfp4_weight",
    "fake_quant_mxfp4_dynamic",
    "unpack_int_grouped",
    "unpack_nvfp4"};

// A call of a slot as models make them, small, with values of every kind; and the same with
// LYK_BACKWARD. `rows` and `columns` of the weight.
struct QuantizationSizes {
  std::int64_t rows = 3;
  std::int64_t columns = 80;
};
void fill(QuantizationCall& call, const QuantizationSizes& sizes = {});
void fill_backward(QuantizationCall& call, const QuantizationSizes& sizes = {});

// What the oracle gives for a filled call whose tensors are dense: as PyTorch on a CPU, or on CUDA.
enum class OracleOf { cpu, cuda };
Floats of_oracle(QuantizationCall& call, OracleOf device);

}  // namespace lyk::test
