// What one call of a kernel's variant works on: elements that lie one after the other.
//
// Thread rule: values.
#pragma once

#include <cstddef>

namespace lyk::cpu {

struct Elements {
  const float* x = nullptr;
  const float* grad_output = nullptr;  // null in forward
  float* to = nullptr;                 // the output, or the gradient of x
  std::size_t count = 0;

  Elements part(std::size_t begin, std::size_t part_count) const {
    return {.x = x + begin,
            .grad_output = grad_output == nullptr ? nullptr : grad_output + begin,
            .to = to + begin,
            .count = part_count};
  }
};

}  // namespace lyk::cpu
