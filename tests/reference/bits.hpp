// Floats by their bits, which is how the kernels' tests state and compare them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace lyk::test {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

constexpr float from_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

constexpr std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// Equal bits, or both NaN: which NaN it is says nothing.
inline bool is_same(float left, float right) {
  return bits_of(left) == bits_of(right) || (std::isnan(left) && std::isnan(right));
}

// One failure for all elements, of which there may be millions.
inline void expect_same(std::span<const float> actual, std::span<const float> expected) {
  ASSERT_EQ(actual.size(), expected.size());
  if (actual.empty() || std::memcmp(actual.data(), expected.data(), actual.size_bytes()) == 0)
    return;
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = actual.size(); i-- > 0;)
    if (!is_same(actual[i], expected[i])) {
      ++wrong;
      first = i;
    }
  EXPECT_EQ(wrong, 0U) << "of " << actual.size() << ": element " << first << " is " << actual[first]
                       << " (0x" << std::hex << bits_of(actual[first]) << "), not "
                       << expected[first] << " (0x" << bits_of(expected[first]) << std::dec << ")";
}

// Normally distributed, always the same for one seed.
inline std::vector<float> normal_floats(std::size_t count, unsigned seed, float deviation = 1) {
  std::mt19937 generator{seed};
  std::normal_distribution<float> distribution{0, deviation};
  std::vector<float> values(count);
  for (float& value : values)
    value = distribution(generator);
  return values;
}

}  // namespace lyk::test
