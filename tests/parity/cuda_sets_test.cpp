// The sets run by the library's own device code on the stand-in driver. A real GPU has them whole:
// gpu_sets_test.cpp.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "parity/run.hpp"
#include "parity/sets.hpp"

namespace lyk::parity {
namespace {

Runner open_cuda(std::string_view slot) {
  auto runner =
      Runner::open({.slot = std::string{slot},
                    .implementation = "cuda",
                    .driver = LYK_SOFTCUDA,
                    .gpu = 0,
                    .environment = {},
                    .fatbin = slot == "ms_deform_attn" ? LYK_IMAGES "/deform.fatbin"
                                                       : LYK_IMAGES "/quantization.fatbin"});
  EXPECT_TRUE(runner) << runner.error().message;
  return std::move(runner).value();
}

TEST(CudaSets, WhatADeviceComputesIsWhatTheReferenceDoes) {
  for (const Set& set : sets()) {
    Runner runner = open_cuda(set.slot);
    for (std::size_t index = 0; index < set.count(Implementation::cuda); ++index) {
      const Case made = set.make(index, Extent::small, Implementation::cuda);
      const auto verdicts = runner.run(made);
      ASSERT_TRUE(verdicts) << set.slot << ", " << made.name << ": " << verdicts.error().message;
      for (const Verdict& verdict : *verdicts)
        EXPECT_TRUE(verdict.difference.passed())
            << set.slot << ", " << made.name << ": " << describe(verdict);
    }
  }
}

}  // namespace
}  // namespace lyk::parity
