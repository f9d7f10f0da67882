// What a run is made with. That it launches and compares is shown with the compiled kernels, on the
// stand-in driver: tests/e2e/parity_test.py.
#include "parity/run.hpp"

#include <gtest/gtest.h>

namespace lyk::parity {
namespace {

TEST(Run, WhatTheUserHasSwitchedOffIsComparedAllTheSame) {
  const client::Policy policy = client::parse_policy(without_policy(client::Environment{
      {"LIBREYOLO_KERNELS=off", "LIBREYOLO_HUB_KERNELS=0",
       "LIBREYOLO_KERNELS_DISABLE=ms_deform_attn", "LIBREYOLO_KERNELS_DETERMINISTIC=1",
       "LIBREYOLO_QUANT_KERNELS=triton", "LIBREYOLO_KERNELS_WAIT=7"}}));
  EXPECT_EQ(client::forbidden_by(policy, "ms_deform_attn", "hub"), "");
  EXPECT_FALSE(policy.deterministic);
  ASSERT_TRUE(policy.settings);
  EXPECT_EQ(policy.settings->wait, std::chrono::seconds{7});
}

TEST(Run, WithoutADriverThereIsNoRun) {
  const auto runner = Runner::open({.slot = "ms_deform_attn",
                                    .implementation = "hub",
                                    .driver = "libcuda-absent.so.1",
                                    .gpu = 0,
                                    .environment = {}});
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code, Code::no_driver);
}

TEST(Run, WhatTakesNoHostTensorsIsNotEligibleAndSaysSo) {
  auto runner = Runner::open({.slot = "ms_deform_attn",
                              .implementation = "hub",
                              .driver = "libcuda-absent.so.1",
                              .gpu = {},
                              .environment = {}});
  ASSERT_TRUE(runner) << runner.error().message;
  constexpr std::array<std::int64_t, 2> levels{1, 1};
  const struct {
    std::array<std::int64_t, 2> levels;
    lyk_ms_deform_attn_parameters value;
  } parameters{levels, {sizeof(lyk_ms_deform_attn_parameters), 0, levels.data()}};
  constexpr std::array<float, 2> some{0.5F, 0.5F};
  Call call{
      .pass = "forward",
      .operation = LYK_FORWARD,
      .flags = 0,
      .tensors = {float_tensor("value", {1, 1, 1, 1}, std::span{some}.first(1)),
                  int64_tensor("spatial_shapes", {1, 2}, levels), std::nullopt,
                  float_tensor("sampling_locations", {1, 1, 1, 1, 1, 2}, some),
                  float_tensor("attention_weights", {1, 1, 1, 1, 1}, std::span{some}.first(1)),
                  unwritten_tensor("output", {1, 1, 1})},
      .parameters = {std::shared_ptr<const void>{}, &parameters.value},
      .expected = {}};
  const auto verdicts = runner->run({.name = "one", .calls = {std::move(call)}});
  ASSERT_FALSE(verdicts);
  EXPECT_EQ(verdicts.error().code, Code::not_eligible);
  // Of nothing else: nobody has switched the others off.
  EXPECT_EQ(verdicts.error().message, "forward: ms_deform_attn: hub: value is not on a GPU");
}

TEST(Run, AVerdictIsToldInOneLine) {
  const Verdict verdict{.pass = "forward",
                        .output = "output",
                        .shape = {2, 3, 8},
                        .gate = {},
                        .difference = {.elements = 48,
                                       .wrong = 1,
                                       .greatest_error = 0.25,
                                       .worst = 27,
                                       .expected = 0.5,
                                       .got = 0.25,
                                       .share = 9}};
  EXPECT_EQ(describe(verdict), "forward output 2 x 3 x 8 at [1, 0, 3]: expected 0.5, got 0.25");
}

}  // namespace
}  // namespace lyk::parity
