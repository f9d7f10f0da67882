// The sets run by the implementation that every machine has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "parity/run.hpp"
#include "parity/sets.hpp"
#include "tests/parity/expect_reference.hpp"

namespace lyk::parity {
namespace {

Runner open_cpu(std::string_view slot) {
  auto runner = Runner::open({.slot = std::string{slot},
                              .implementation = "cpu",
                              .driver = "libcuda-absent.so.1",
                              .gpu = {},
                              .environment = {}});
  EXPECT_TRUE(runner);
  return std::move(runner).value();
}

TEST(CpuSets, WhatTheProcessorsComputeIsWhatTheReferenceDoes) {
  for (const Set& set : sets()) {
    Runner runner = open_cpu(set.slot);
    test::expect_reference(runner, set, Implementation::cpu);
  }
}

// The case of that name.
Case find_case(const Set& set, std::string_view name) {
  for (std::size_t index = 0; index < set.count(Implementation::cpu); ++index)
    if (Case made = set.make(index, Extent::small, Implementation::cpu); made.name == name)
      return made;
  ADD_FAILURE() << "no case " << name;
  return {};
}

// What would be said of a kernel that is wrong in one bit of one element.
TEST(CpuSets, ASingleBitThatDiffersIsNamed) {
  Runner runner = open_cpu("fake_quant_fp8");
  Case made = find_case(*find_set("fake_quant_fp8"), "clipped");
  std::vector<double>& expected = made.calls[0].expected[0].values;
  const auto right = static_cast<float>(expected[100]);
  expected[100] = std::nextafter(right, 1e3F);
  const auto verdicts = runner.run(made);
  ASSERT_TRUE(verdicts) << verdicts.error().message;
  ASSERT_EQ(verdicts->size(), 2U);
  const Difference& difference = (*verdicts)[0].difference;
  EXPECT_EQ(difference.wrong, 1U);
  EXPECT_EQ(difference.worst, 100U);
  EXPECT_EQ(difference.got, right);
  EXPECT_TRUE(describe((*verdicts)[0]).starts_with("forward output 8 x 48 at [2, 4]: expected "));
  EXPECT_TRUE((*verdicts)[1].difference.passed());
}

// A call that has other bits than the same one before it, though not others than are expected.
TEST(CpuSets, ABitThatAnotherCallHasNotIsNamed) {
  Runner runner = open_cpu("fake_quant_fp8");
  Case made = find_case(*find_set("fake_quant_fp8"), "clipped");
  Call other = made.calls[0];
  Tensor& x = *other.tensors[LYK_FAKE_QUANT_FP8_X];
  std::fill_n(x.bytes.begin(), sizeof(float), std::byte{0x41});
  other.expected[0].gate = {.absolute = 1e30};
  other.expected[0].as_of = AsOf{0, "forward as before"};
  made.calls.push_back(std::move(other));
  const auto verdicts = runner.run(made);
  ASSERT_TRUE(verdicts) << verdicts.error().message;
  ASSERT_EQ(verdicts->size(), 4U);
  EXPECT_TRUE((*verdicts)[2].difference.passed());
  EXPECT_EQ((*verdicts)[3].pass, "forward as before");
  EXPECT_EQ((*verdicts)[3].difference.wrong, 1U);
  EXPECT_EQ((*verdicts)[3].difference.worst, 0U);
}

TEST(CpuSets, AZeroOfTheOtherSignIsNamed) {
  Runner runner = open_cpu("unpack_nvfp4");
  Case made = find_case(*find_set("unpack_nvfp4"), "384 x 384");
  std::vector<double>& expected = made.calls[0].expected[0].values;
  const auto zero = std::find_if(expected.begin(), expected.end(),
                                 [](double value) { return value == 0 && std::signbit(value); });
  ASSERT_NE(zero, expected.end());
  *zero = 0;
  const auto verdicts = runner.run(made);
  ASSERT_TRUE(verdicts) << verdicts.error().message;
  EXPECT_EQ((*verdicts)[0].difference.wrong, 1U);
  EXPECT_TRUE(describe((*verdicts)[0]).ends_with(": expected 0, got -0"))
      << describe((*verdicts)[0]);
}

}  // namespace
}  // namespace lyk::parity
