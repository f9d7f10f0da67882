// The sets run by the library's own device code on the stand-in driver. A real GPU has them whole:
// gpu_sets_test.cpp.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "parity/run.hpp"
#include "parity/sets.hpp"
#include "tests/parity/expect_reference.hpp"

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
    test::expect_reference(runner, set, Implementation::cuda);
  }
}

}  // namespace
}  // namespace lyk::parity
