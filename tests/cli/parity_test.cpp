// What is said of runs that are over. That they run is shown on the stand-in driver:
// tests/e2e/parity_test.py.
#include "cli/parity.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace lyk::cli {
namespace {

constexpr std::string_view image =
    "cbc376bc4b7547cfcf91b256f459bbfce4133c9f3bd98ff1cabec785f6860111";

// A run of one case with one output of one element.
ParityRun run_on(std::int32_t number, std::string_view arch, double error, std::size_t wrong = 0) {
  ParityRun run;
  run.gpu = {.number = number,
             .name = "NVIDIA H100 PCIe",
             .device = {.arch = Arch::parse(arch).value(), .driver = CudaVersion{13, 0}}};
  run.image = Digest::parse(image).value();
  parity::Verdict verdict;
  verdict.pass = "forward";
  verdict.output = "output";
  verdict.shape = {1};
  verdict.difference.elements = 1;
  verdict.difference.wrong = wrong;
  verdict.difference.greatest_error = error;
  run.cases.push_back({"one", {std::move(verdict)}});
  return run;
}

ParityRun without_image_on(std::int32_t number) {
  ParityRun run = run_on(number, "7.5", 0);
  run.image.reset();
  run.cases.clear();
  run.ran = Error{Code::no_image, "no image for 7.5"};
  return run;
}

TEST(Parity, WhatDiffersIsWorseThanWhatDidNotRun) {
  EXPECT_TRUE(check_parity({run_on(0, "9.0", 1e-7)}));
  const auto missing = check_parity({run_on(0, "9.0", 1e-7), without_image_on(1)});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::no_image);
  EXPECT_EQ(missing.error().message, "device 1 (NVIDIA H100 PCIe): no image for 7.5");
  const auto wrong = check_parity({without_image_on(0), run_on(1, "9.0", 0.5, 1)});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Code::refused);
  EXPECT_EQ(wrong.error().message.find("device 1 (NVIDIA H100 PCIe): 1 of 1 cases differ"), 0U)
      << wrong.error().message;
}

TEST(Parity, ACaseThatDiffersCountsThoughALaterOneDidNotRun) {
  ParityRun run = run_on(0, "9.0", 0.5, 1);
  run.ran = Error{Code::not_eligible, "case 'two': off"};
  const auto checked = check_parity({run});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::refused);
  EXPECT_FALSE(run.passed());
}

TEST(Parity, GpusOfOneKindHaveOneRecordWithTheirGreatestError) {
  const auto records = parity_records(
      {run_on(0, "9.0", 1e-7), run_on(1, "9.0", 3e-7), run_on(2, "12.0", 0), without_image_on(3)});
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].greatest_error, "3e-07");
  EXPECT_EQ(records[1].arch.capability(), "12.0");
  EXPECT_EQ(records[1].greatest_error, "0");
}

// The file that the service's own parser is tested with (tests/fetcher/pin_test.cpp).
TEST(Parity, RecordsStandInAPinAsTheServiceReadsThem) {
  ParityRun small = run_on(1, "12.0", 0);
  small.extent = parity::Extent::small;
  const std::string written = parity_toml(parity_records({run_on(0, "9.0", 1.1920929e-07), small}));
  std::ifstream file{LYK_SOURCE_DIR "/tests/data/pins/y_parity.toml"};
  const std::string pin{std::istreambuf_iterator<char>{file}, {}};
  ASSERT_GT(pin.size(), written.size());
  EXPECT_EQ(pin.substr(pin.size() - written.size()), written);
}

}  // namespace
}  // namespace lyk::cli
