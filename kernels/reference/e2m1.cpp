#include "kernels/reference/e2m1.hpp"

#include <array>
#include <cmath>
#include <cstddef>

#include "kernels/reference/arithmetic.hpp"

namespace lyk::reference {
namespace {

constexpr std::array<float, 8> levels{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
constexpr std::array<float, 7> midpoints{0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5};

float sign_of(float value) {
  if (value > 0)
    return 1;
  return value < 0 ? -1.0F : 0.0F;
}

}  // namespace

float round_to_e2m1(float scaled) {
  const float magnitude = at_most(std::fabs(scaled), e2m1_max);
  std::size_t level = 0;
  for (const float midpoint : midpoints)
    if (midpoint < magnitude)
      ++level;
  return straight_through(levels[level] * sign_of(scaled), scaled);
}

float e2m1_value(std::uint8_t code) {
  const float level = levels[code & 0x07U];
  return (code & 0x08U) != 0 ? -level : level;
}

}  // namespace lyk::reference
