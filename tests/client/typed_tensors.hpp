// The element types of the CUDA kernels as the C interface has them.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "client/lyk.h"
#include "tests/support/element_types.hpp"

namespace lyk::test {

inline lyk_dtype dtype_of(ElementType type) {
  constexpr std::array<lyk_dtype, 3> dtypes{
      {{LYK_DTYPE_FLOAT, 32, 1}, {LYK_DTYPE_FLOAT, 16, 1}, {LYK_DTYPE_BFLOAT, 16, 1}}};
  return dtypes[static_cast<std::size_t>(type)];
}

inline std::string name_of(ElementType type) {
  constexpr std::array names{"float32", "float16", "bfloat16"};
  return names[static_cast<std::size_t>(type)];
}

}  // namespace lyk::test
