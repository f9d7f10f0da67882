// Calls of the quantization slots with given scales, no two of which are equal, in every form in
// which a tensor of scales is spread over rows and columns; and what the oracle makes of them,
// element by element.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/client/quantization_call.hpp"

namespace lyk::test {

inline constexpr QuantizationSizes scaled_sizes{.rows = 3, .columns = 80};

struct ScaleForm {
  std::string_view slot;
  Shape shape{};    // of the tensor of scales
  Shape strides{};  // empty: dense
  // How many scales follow one another down the rows and along the columns; they begin again after
  // the last one. Each is for `group` columns.
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t group = 1;
  std::uint32_t channel_axis = 0;

  std::string name() const;
};

std::vector<ScaleForm> scale_forms();

// Those in which a scale has a part: most backwards are a copy.
std::vector<std::uint32_t> operations_of(const ScaleForm& form);

void fill_scaled(QuantizationCall& call, const ScaleForm& form, std::uint32_t operation);
Floats of_oracle_by_element(QuantizationCall& call, const ScaleForm& form, OracleOf device);

}  // namespace lyk::test
