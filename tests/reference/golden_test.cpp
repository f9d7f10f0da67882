// The answers of LibreYOLO itself, kept: what oracle_test.py compares in the thousands, in a choice
// small enough for every run. `oracle_test.py --golden` writes the files; the head of each says
// with what.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/reference/bits.hpp"
#include "tests/reference/run_case.hpp"

namespace lyk::test {
namespace {

std::filesystem::path golden_path(const std::string& slot) {
  return std::filesystem::path{LYK_SOURCE_DIR} / "tests" / "reference" / "golden" /
         (slot + ".golden");
}

class GoldenSlot : public testing::TestWithParam<const char*> {};

TEST_P(GoldenSlot, GivesTheBitsOfLibreyolo) {
  const std::vector<GoldenCase> cases = read_golden_cases(golden_path(GetParam()));
  ASSERT_FALSE(cases.empty());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const std::vector<Bytes> actual = run_case(cases[i].given);
    ASSERT_EQ(actual.size(), cases[i].expected.size());
    for (std::size_t array = 0; array < actual.size(); ++array)
      expect_same(elements_of<float>(actual[array]), elements_of<float>(cases[i].expected[array]));
  }
}

INSTANTIATE_TEST_SUITE_P(Golden,
                         GoldenSlot,
                         testing::Values("fake_quant_int8_per_channel",
                                         "fake_quant_int8_affine",
                                         "fake_quant_fp8",
                                         "fake_quant_int_grouped",
                                         "fake_quant_nvfp4_weight",
                                         "fake_quant_nvfp4_dynamic",
                                         "fake_quant_mxfp4_weight",
                                         "fake_quant_mxfp4_dynamic",
                                         "unpack_int_grouped",
                                         "unpack_nvfp4"),
                         [](const auto& slot) { return std::string{slot.param}; });

// LibreYOLO's portable form rounds elsewhere: in double, what remains of that is far below 1e-11.
TEST(GoldenMsDeformAttn, IsNearLibreyolosPortableForm) {
  const std::vector<GoldenCase> cases = read_golden_cases(golden_path("ms_deform_attn"));
  ASSERT_FALSE(cases.empty());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const std::vector<Bytes> answer = run_case(cases[i].given);
    ASSERT_EQ(answer.size(), cases[i].expected.size());
    for (std::size_t array = 0; array < answer.size(); ++array) {
      const auto actual = elements_of<double>(answer[array]);
      const auto expected = elements_of<double>(cases[i].expected[array]);
      ASSERT_EQ(actual.size(), expected.size());
      for (std::size_t k = 0; k < actual.size(); ++k)
        ASSERT_NEAR(actual[k], expected[k], 1e-11 * std::max(1.0, std::fabs(expected[k])))
            << "array " << array << ", element " << k;
    }
  }
}

}  // namespace
}  // namespace lyk::test
