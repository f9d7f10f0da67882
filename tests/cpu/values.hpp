// Inputs of the kernels' tests, always the same ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/reference/bits.hpp"

namespace lyk::cpu::test {

using lyk::test::expect_same;
using lyk::test::infinity;
using lyk::test::nan;

using Floats = std::vector<float>;

// Numerical Recipes' generator: cheap, as tests make millions of values without optimisation.
class Generator {
public:
  explicit Generator(std::uint32_t seed) : state_(seed * 2654435761U + 1) {}

  std::uint32_t next() {
    state_ = state_ * 1664525U + 1013904223U;
    return state_ >> 8;  // the low bits have short periods
  }
  // From 0 to 1.
  float fraction() { return static_cast<float>(next()) * 0x1p-24F; }

private:
  std::uint32_t state_;
};

// Around zero, up to `scale` away, the nearer the more often.
inline Floats values(std::size_t count, std::uint32_t seed, float scale = 1) {
  Generator generator{seed};
  Floats made(count);
  for (float& value : made)
    value = (generator.fraction() - generator.fraction()) * scale;
  return made;
}

// Everything that formulas trip over: ties, ends of ranges, denormals, huge and not finite.
inline constexpr std::array<float, 40> special_values{
    0,           -0.0F,    0x1p-149F, -0x1p-149F, 0x1p-127F,  0x1.FFFFFEp-127F,
    1e-38F,      1e-30F,   1e-12F,    -1e-12F,    2e-12F,     0.25F,
    0.49999997F, 0.5F,     0.75F,     1.25F,      1.5F,       1.75F,
    -2.5F,       3.5F,     5,         6,          -6.5F,      127.5F,
    -128.5F,     448,      -449,      464,        8388607.5F, 16777217.0F,
    1e10F,       -1e10F,   1e19F,     -1e19F,     1e30F,      0x1p127F,
    -3.4e38F,    infinity, -infinity, nan};

// As values(), with special ones in between.
inline Floats wild_values(std::size_t count, std::uint32_t seed, float scale = 1) {
  Floats made = values(count, seed, scale);
  Generator generator{seed + 1};
  for (float& value : made)
    if (const std::uint32_t choice = generator.next() % 64; choice < special_values.size())
      value = special_values[choice];
  return made;
}

inline Floats eight_times(const Floats& image) {
  Floats batch;
  batch.reserve(8 * image.size());
  for (int i = 0; i < 8; ++i)
    batch.insert(batch.end(), image.begin(), image.end());
  return batch;
}

}  // namespace lyk::cpu::test
