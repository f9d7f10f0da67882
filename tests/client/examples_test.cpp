// The examples do what they say, on the stand-in driver.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "examples/greatest_error.hpp"
#include "tests/client/in_child.hpp"
#include "tests/client/launch_service.hpp"

namespace lyk::test {
namespace {

struct Ended {
  int status = -1;
  std::string output;  // standard output and standard error
};

Ended run(const std::string& command) {
  Ended out;
  // NOLINTNEXTLINE(cert-env33-c): a shell, to have both streams as one
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    out.output.append(buffer.data(), count);
  out.status = ::pclose(pipe);
  return out;
}

constexpr int exit_not_eligible = 3;

// What is wrong with the output or the exit code of an example; empty: nothing.
std::string expect_output(const std::string& command,
                          const std::vector<const char*>& parts,
                          int exit_code = 0) {
  const Ended ended = run(command);
  std::string wrong;
  for (const char* part : parts)
    if (ended.output.find(part) == std::string::npos)
      wrong += str("no '", part, "'; ");
  if (!WIFEXITED(ended.status) || WEXITSTATUS(ended.status) != exit_code)
    wrong += str("it ends with ", ended.status, ", not with exit code ", exit_code, "; ");
  return wrong.empty() ? wrong : wrong + ended.output;
}

Variables with_driver(Variables more = {}) {
  more.emplace_back("LD_LIBRARY_PATH", std::filesystem::path{LYK_SOFTCUDA}.parent_path());
  // The fatbin's kernels have their tests elsewhere.
  more.emplace_back("LIBREYOLO_KERNELS", "hub");
  return softcuda_variables(std::move(more));
}

TEST(Examples, DeformAttnRunsForwardAndBackward) {
  const std::string said = in_child(with_driver(), [] {
    const LaunchService service;
    return expect_output(LYK_EXAMPLES "/deform_attn 2",
                         {"call 1: forward and backward ran on the GPU", "call 2: forward",
                          "gradient of value", "good", "hub    active: runs first"});
  });
  EXPECT_EQ(said, "");
}

TEST(Examples, DeformAttnGoesItsOwnWayAfterAFailure) {
  const std::string said =
      in_child(with_driver({{"SOFTCUDA_FAIL", "cuLaunchKernel:1:701"}}), []() -> std::string {
        const LaunchService service;
        std::string wrong = expect_output(
            LYK_EXAMPLES "/deform_attn 3",
            {"libreyolo-kernels: ms_deform_attn: hub is off for the rest of this process: ",
             "call 3: not eligible, so the program's own loop serves it",
             "hub    off: off for the rest of this process"},
            exit_not_eligible);
        return service.connections() == 1 ? wrong : wrong + "it asked again";
      });
  EXPECT_EQ(said, "");
}

TEST(Examples, DeformAttnAsksNobodyWhereTheHubIsOff) {
  const std::string said =
      in_child(with_driver({{"LIBREYOLO_HUB_KERNELS", "0"}}), []() -> std::string {
        const LaunchService service;
        std::string wrong =
            expect_output(LYK_EXAMPLES "/deform_attn",
                          {"call 1: not eligible", "LIBREYOLO_HUB_KERNELS=0"}, exit_not_eligible);
        return service.connections() == 0 ? wrong : wrong + "it asked";
      });
  EXPECT_EQ(said, "");
}

TEST(Examples, WhatIsNoNumberIsTheGreatestErrorWhateverFollows) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isinf(greatest_error({none, none, none, 1}, {1, 1, 1, 1})));
  EXPECT_TRUE(std::isinf(greatest_error({none, 2}, {1, 1})));
  EXPECT_EQ(greatest_error({1, 3}, {1, 4}), 0.25);
  EXPECT_EQ(greatest_error({0, 0}, {0, 0}), 0);
}

TEST(Examples, DeformAttnDriverLaunchesTheImageItself) {
  const std::string said = in_child(with_driver(), [] {
    const LaunchService service;
    return expect_output(LYK_EXAMPLES "/deform_attn_driver", {"image:   cubin for sm_90"});
  });
  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace lyk::test
