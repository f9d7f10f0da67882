#include "parity/elements.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace lyk::parity {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::uint16_t bits_of(ElementType type, float value) {
  const auto bytes = bytes_of(type, std::array{value});
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[0]) |
                                    std::to_integer<unsigned>(bytes[1]) << 8U);
}

TEST(Elements, HalvesAreRoundedToTheNearestAndTiesToTheEvenOne) {
  struct Row {
    float value;
    float rounded;
    std::uint16_t bits;
  };
  constexpr std::array<Row, 14> rows{{{1, 1, 0x3c00},
                                      {-2.5F, -2.5F, 0xc100},
                                      {0x1.002p+0F, 1, 0x3c00},  // a tie
                                      {0x1.006p+0F, 0x1.008p+0F, 0x3c02},
                                      {0x1.002002p+0F, 0x1.004p+0F, 0x3c01},
                                      {65504, 65504, 0x7bff},
                                      {65519.996F, 65504, 0x7bff},
                                      {65520, infinity, 0x7c00},
                                      {-3e38F, -infinity, 0xfc00},
                                      {0x1p-14F, 0x1p-14F, 0x0400},
                                      {0x1p-24F, 0x1p-24F, 0x0001},
                                      {0x1p-25F, 0, 0x0000},  // a tie
                                      {-0x1.8p-24F, -0x1p-23F, 0x8002},
                                      {-0.0F, -0.0F, 0x8000}}};
  for (const Row& row : rows) {
    EXPECT_EQ(rounded_to(ElementType::float16, row.value), row.rounded) << row.value;
    EXPECT_EQ(bits_of(ElementType::float16, row.rounded), row.bits) << row.value;
  }
}

TEST(Elements, BfloatsAreTheUpperHalfOfFloats) {
  EXPECT_EQ(bits_of(ElementType::bfloat16, 1), 0x3f80);
  EXPECT_EQ(bits_of(ElementType::bfloat16, -0x1.fep+127F), 0xff7f);
  EXPECT_EQ(bits_of(ElementType::bfloat16, 0x1p-133F), 0x0001);
  EXPECT_EQ(rounded_to(ElementType::bfloat16, 0x1.01p+0F), 1);
  EXPECT_EQ(rounded_to(ElementType::bfloat16, 0x1.03p+0F), 0x1.04p+0F);
  EXPECT_EQ(rounded_to(ElementType::bfloat16, 0x1.ffp+127F), infinity);
}

TEST(Elements, EveryNumberOfSixteenBitsIsReadBackAsItWasWritten) {
  for (const ElementType type : {ElementType::float16, ElementType::bfloat16})
    for (unsigned bits = 0; bits <= 0xffff; ++bits) {
      const std::array bytes{std::byte(bits & 0xffU), std::byte(bits >> 8U)};
      const std::vector<double> held = numbers(dtype_of(type), bytes);
      ASSERT_EQ(held.size(), 1U);
      if (std::isnan(held[0]))
        continue;
      const auto value = static_cast<float>(held[0]);
      EXPECT_EQ(rounded_to(type, value), value);
      EXPECT_EQ(bits_of(type, value), bits) << name(type);
    }
}

TEST(Elements, WhatIsNoNumberStaysNone) {
  for (const ElementType type :
       {ElementType::float32, ElementType::float16, ElementType::bfloat16}) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(rounded_to(type, nan)));
    EXPECT_TRUE(std::isnan(numbers(dtype_of(type), bytes_of(type, std::array{nan})).at(0)));
    EXPECT_EQ(numbers(dtype_of(type), bytes_of(type, std::array{-infinity})).at(0), -infinity);
  }
}

}  // namespace
}  // namespace lyk::parity
