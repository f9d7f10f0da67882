// What runs of parity sets come to. That they run on a GPU is shown on the stand-in driver:
// tests/e2e/parity_test.py.
#include "cli/parity.hpp"

#include <gtest/gtest.h>

#include "tests/cli/cli_run.hpp"
#include "tests/cli/parity_runs.hpp"

namespace lyk::cli {
namespace {

using test::on_processors;
using test::own_code_on_gpu;
using test::run_on;
using test::without_image_on;

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

TEST(Parity, WhatHasToBeTheSameIsNotBeyondATolerance) {
  const auto on_gpu = check_parity({own_code_on_gpu(1)});
  ASSERT_FALSE(on_gpu);
  EXPECT_EQ(on_gpu.error().message,
            "device 0 (NVIDIA H100 PCIe): 1 of 1 cases differ from the reference; 'one': forward "
            "output 1 at [0]: expected 0, got -0, 1 of 1 elements are not the same");
  const auto on_host = check_parity({on_processors(1)});
  ASSERT_FALSE(on_host);
  EXPECT_TRUE(on_host.error().message.starts_with(
      "processors (avx2, 8 threads): 1 of 1 cases differ from the reference; "))
      << on_host.error().message;
  EXPECT_TRUE(check_parity({own_code_on_gpu(), on_processors()}));
}

// ---- the command

TEST(Parity, WithoutAGpuTheProcessorsAreCompared) {
  const test::Ran ran = test::run_cli({"parity", "unpack_nvfp4", "--json"});
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  for (const char* member : {R"("implementation": "cpu")", R"("passed": true)", R"("gpus": [])",
                             R"("processors": {)", R"("set": "whole")", R"("greatest_error": 0)"})
    EXPECT_NE(ran.out.find(member), std::string::npos) << member;
  EXPECT_EQ(ran.err, "");
}

TEST(Parity, WhatIsAskedForIsNotReplacedBySomethingElse) {
  const test::Ran cuda = test::run_cli({"parity", "unpack_nvfp4", "--implementation", "cuda"});
  EXPECT_EQ(cuda.exit_code, 7);
  EXPECT_NE(cuda.err.find("no driver: "), std::string::npos) << cuda.err;
  const test::Ran hub = test::run_cli({"parity", "ms_deform_attn"});
  EXPECT_EQ(hub.exit_code, 7) << hub.err;
  const test::Ran none = test::run_cli({"parity", "unpack_nvfp4", "--implementation", "hub"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(
      none.err,
      "libreyolo-kernels: slot 'unpack_nvfp4': no implementation 'hub' can be compared; there "
      "are cuda, cpu\n");
}

TEST(Parity, HowMuchOfASetRunsIsForTheCallerToSay) {
  const test::Ran small = test::run_cli({"parity", "unpack_nvfp4", "--set", "small", "--json"});
  EXPECT_EQ(small.exit_code, 0) << small.err;
  EXPECT_NE(small.out.find(R"("set": "small")"), std::string::npos) << small.out;
  for (const test::Ran& none :
       {test::run_cli({"parity", "unpack_nvfp4", "--set", "some"}),
        test::run_cli({"pin", "ms_deform_attn", "--repo", "a/b", "--revision", "v1", "--output",
                       "-", "--set", "some"})}) {
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_EQ(none.err, "libreyolo-kernels: option --set: 'some' is neither whole nor small\n");
  }
}

}  // namespace
}  // namespace lyk::cli
