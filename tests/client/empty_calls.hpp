// Calls of the quantization slots in which a tensor has no elements, and what lyk_quantization.h
// says of each: the same on every device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/quantization.hpp"
#include "tests/client/quantization_call.hpp"

namespace lyk::test {

struct EmptyCall {
  std::string_view slot;
  Shape shape;                  // of what is quantised or packed, and of the output
  Shape strides{};              // of those; empty: NULL
  std::vector<Shape> beside{};  // of the other inputs, where they are not as `fill` has them
  const char* says = "";        // empty: it is done

  std::string name() const {
    std::string out{slot};
    for (const std::int64_t size : shape)
      out.append(" ").append(std::to_string(size));
    return out.append(strides.empty() ? "" : ", as torch has it");
  }
};

// Where LibreYOLO returns an empty tensor, and where it raises.
inline std::vector<EmptyCall> empty_calls() {
  return {
      {"fake_quant_int8_per_channel", {3, 0}, {}, {{3}}},
      {"fake_quant_int8_per_channel", {3, 0}, {1, 1}, {{3}}},
      {"fake_quant_int8_per_channel", {0, 80}, {}, {{0}}, "weight: it has no channels"},
      {"fake_quant_int8_per_channel", {0, 80}, {}, {}, "weight: it has no elements"},
      {"fake_quant_int8_affine", {0, 80}},
      {"fake_quant_int8_affine", {4, 0}, {1, 1}},
      {"fake_quant_int8_affine", {2, 0, 3}, {3, 3, 1}},
      {"fake_quant_fp8", {0, 80}},
      {"fake_quant_fp8", {4, 0}, {1, 1}},
      {"fake_quant_fp8", {2, 0, 3}, {3, 3, 1}},
      {"fake_quant_int_grouped", {3, 0}},
      {"fake_quant_int_grouped", {4, 0}, {1, 1}, {{4, 0}}},
      {"fake_quant_int_grouped", {0, 80}, {}, {}, "weight: it has no rows"},
      {"fake_quant_nvfp4_weight", {0, 80}},
      {"fake_quant_nvfp4_weight", {4, 0}, {1, 1}},
      {"fake_quant_nvfp4_dynamic", {3, 0}, {}, {}, "x: it has no elements"},
      {"fake_quant_mxfp4_weight", {0, 80}},
      {"fake_quant_mxfp4_dynamic", {4, 0}, {1, 1}},
      {"unpack_int_grouped", {3, 0}, {}, {{3, 0}}},
      {"unpack_int_grouped", {4, 0}, {1, 1}, {{4, 0}}},
      {"unpack_int_grouped", {0, 8}, {}, {{0, 8}}, "payload: it has no rows"},
      {"unpack_nvfp4", {3, 0}, {}, {{3, 0}, {1}}},
      {"unpack_nvfp4", {0, 40}, {}, {{0, 5}, {1}}, "payload: it has no rows"},
  };
}

// `call` is of that slot, and has nothing yet.
inline void fill_empty(QuantizationCall& call, const EmptyCall& empty, std::uint32_t operation) {
  operation == LYK_FORWARD ? fill(call) : fill_backward(call);
  const std::size_t inputs = client::find_quantization_slot(empty.slot)->inputs;
  for (std::size_t i = 0; i < call.size(); ++i) {
    if (i == 0 || i >= inputs) {
      call.tensor(i).shape = empty.shape;
      call.tensor(i).strides = empty.strides;
    } else if (i <= empty.beside.size() && call.has(i)) {
      call.tensor(i).shape = empty.beside[i - 1];
    } else if (i <= empty.beside.size()) {
      call.put(i, empty.beside[i - 1], Floats(8, 0.5F));
    }
  }
}

inline std::vector<std::uint32_t> operations_of(const EmptyCall& empty) {
  if (client::find_quantization_slot(empty.slot)->backward.empty())
    return {LYK_FORWARD};
  return {LYK_FORWARD, LYK_BACKWARD};
}

inline std::string expected_of(const EmptyCall& empty) {
  return *empty.says == '\0' ? std::string{} : std::string{"invalid_argument: "} + empty.says;
}

}  // namespace lyk::test
