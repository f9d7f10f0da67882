#include "parity/case.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace lyk::parity {
namespace {

TEST(Case, TensorsAreReadBackAsTheNumbersThatTheyHold) {
  constexpr std::array values{1.5F, -0.25F, 3e30F};
  const Tensor tensor = float_tensor("x", {3}, values);
  EXPECT_EQ(numbers(tensor.dtype, tensor.bytes),
            (std::vector<double>{values.begin(), values.end()}));
}

TEST(Case, WhatIsNotWrittenIsNotANumber) {
  const Tensor tensor = unwritten_tensor("x", {2, 3});
  const std::vector<double> held = numbers(tensor.dtype, tensor.bytes);
  ASSERT_EQ(held.size(), 6U);
  for (const double each : held)
    EXPECT_TRUE(std::isnan(each));
}

TEST(Case, AnotherOrderOfMemoryHasTheSameElements) {
  constexpr std::array values{1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};
  const Tensor tensor = laid_out(float_tensor("x", ElementType::float16, {2, 3}, values), {1, 2});
  EXPECT_EQ(numbers(tensor.dtype, tensor.bytes), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(numbers(tensor, tensor.bytes), (std::vector<double>{values.begin(), values.end()}));
}

TEST(Case, AnElementIsNamedByItsPlace) {
  const std::vector<std::int64_t> shape{2, 3, 8};
  EXPECT_EQ(shape_text(shape), "2 x 3 x 8");
  EXPECT_EQ(index_text(shape, 0), "[0, 0, 0]");
  EXPECT_EQ(index_text(shape, 47), "[1, 2, 7]");
  EXPECT_EQ(index_text(shape, 25), "[1, 0, 1]");
}

}  // namespace
}  // namespace lyk::parity
