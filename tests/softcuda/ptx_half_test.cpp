// 16-bit floats. Expected values follow from IEEE 754 by exact reasoning.
//
// Half: 3c00 is 1, 3c01 is 1 + 2^-10, 0001 is 2^-24, 0400 is 2^-14, 7bff is 65504, 7c00 is
// infinity. Bfloat16: 3f80 is 1, 3f81 is 1 + 2^-7, 7f80 is infinity. 7fff is the NaN of results of
// both.
#include <gtest/gtest.h>

#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

TEST(PtxHalf, ComputesHalfPrecisionWithOneRounding) {
  const Row rows[] = {
      {"add.f16 %d16, %a16, %b16;", 0x4200, 0x3c00, 0x4000},
      {"add.f16 %d16, %a16, %b16;", 0x3c00, 0x3c00, 0x1000},  // 1 + 2^-11: to even
      {"add.f16 %d16, %a16, %b16;", 0x3c02, 0x3c01, 0x1000},
      {"add.rn.f16 %d16, %a16, %b16;", 0x3c01, 0x3c00, 0x1001},
      {"add.f16 %d16, %a16, %b16;", 0x7c00, 0x7bff, 0x4c00},  // 65504 + 16: half an ulp beyond
      {"add.f16 %d16, %a16, %b16;", 0x7bff, 0x7bff, 0x4bff},
      {"add.f16 %d16, %a16, %b16;", 0x0003, 0x0001, 0x0002},
      {"add.ftz.f16 %d16, %a16, %b16;", 0x0000, 0x0001, 0x0002},
      {"add.f16 %d16, %a16, %b16;", 0x7fff, 0x7c00, 0xfc00},
      {"add.sat.f16 %d16, %a16, %b16;", 0x3c00, 0x3c00, 0x3c00},
      {"sub.f16 %d16, %a16, %b16;", 0xbc00, 0x3c00, 0x4000},
      {"sub.sat.f16 %d16, %a16, %b16;", 0x0000, 0x3c00, 0x4000},
      // (1 + 2^-10)^2 = 1 + 2^-9 + 2^-20
      {"mul.f16 %d16, %a16, %b16;", 0x3c02, 0x3c01, 0x3c01},
      {"mul.f16 %d16, %a16, %b16;", 0x7c00, 0x7bff, 0x4000},
      {"mul.f16 %d16, %a16, %b16;", 0x0200, 0x0400, 0x3800},
      {"mul.ftz.f16 %d16, %a16, %b16;", 0x0000, 0x0400, 0x3800},
      {"mul.f16 %d16, %a16, %b16;", 0x8000, 0x8001, 0x3800},  // -2^-25: to even, -0
      // What one rounding keeps and two would lose: 2^-20.
      {"fma.rn.f16 %d16, %a16, %b16, %c16;", 0x0010, 0x3c01, 0x3c01, 0xbc02},
      // (1 + 2^-10) + 2^-11 is a tie; a little less is not.
      {"fma.rn.f16 %d16, %a16, %b16, %c16;", 0x3c02, 0x3c01, 0x3c00, 0x1000},
      {"fma.rn.f16 %d16, %a16, %b16, %c16;", 0x3c01, 0x3c01, 0x3c00, 0x0fff},
      {"fma.rn.relu.f16 %d16, %a16, %b16, %c16;", 0x0000, 0xbc00, 0x3c00, 0x0000},
      {"fma.rn.relu.f16 %d16, %a16, %b16, %c16;", 0x7fff, 0x7e00, 0x3c00, 0x0000},
      {"fma.rn.sat.f16 %d16, %a16, %b16, %c16;", 0x3c00, 0x4000, 0x3c00, 0x0000},
      {"neg.f16 %d16, %a16;", 0xbc00, 0x3c00},
      {"abs.f16 %d16, %a16;", 0x3c00, 0xbc00},
      {"min.f16 %d16, %a16, %b16;", 0xbc00, 0x3c00, 0xbc00},
      {"max.f16 %d16, %a16, %b16;", 0x3c00, 0x7e01, 0x3c00},
      {"max.NaN.f16 %d16, %a16, %b16;", 0x7fff, 0x7e01, 0x3c00},
      {"max.f16 %d16, %a16, %b16;", 0x0000, 0x0000, 0x8000},
  };
  expect_rows(rows);
}

TEST(PtxHalf, ComputesPairsLaneByLane) {
  const Row rows[] = {
      {"add.f16x2 %d32, %a32, %b32;", 0x42003c00, 0x3c003c00, 0x40000000},
      {"sub.f16x2 %d32, %a32, %b32;", 0xbc003c00, 0x3c003c00, 0x40000000},
      {"mul.f16x2 %d32, %a32, %b32;", 0x44004000, 0x40003c00, 0x40004000},
      {"fma.rn.f16x2 %d32, %a32, %b32, %c32;", 0x45004200, 0x40003c00, 0x40004000, 0x3c003c00},
      {"max.f16x2 %d32, %a32, %b32;", 0x40003c00, 0x3c003c00, 0x4000bc00},
      {"min.NaN.f16x2 %d32, %a32, %b32;", 0x7fffbc00, 0x7e003c00, 0x4000bc00},
      {"neg.f16x2 %d32, %a32;", 0x3c00bc00, 0xbc003c00},
      {"abs.f16x2 %d32, %a32;", 0x3c003c00, 0xbc003c00},
      {"abs.ftz.f16x2 %d32, %a32;", 0x3c000000, 0xbc008001},
      {"neg.ftz.f16x2 %d32, %a32;", 0x80000400, 0x00018400},
      {"neg.ftz.f16 %d16, %a16;", 0x0000, 0x8001},
      {"neg.f16 %d16, %a16;", 0x0001, 0x8001},
      {"add.bf16x2 %d32, %a32, %b32;", 0x40403f80, 0x3f803f80, 0x40000000},
      {"fma.rn.bf16x2 %d32, %a32, %b32, %c32;", 0x40a04040, 0x40003f80, 0x40004000, 0x3f803f80},
      {"max.bf16x2 %d32, %a32, %b32;", 0x40003f80, 0x3f803f80, 0x4000bf80},
      {"abs.bf16x2 %d32, %a32;", 0x3f807f80, 0xbf80ff80},
  };
  expect_rows(rows);
}

TEST(PtxHalf, ComputesBfloat16WithOneRounding) {
  const Row rows[] = {
      {"add.bf16 %d16, %a16, %b16;", 0x4040, 0x3f80, 0x4000},
      {"add.bf16 %d16, %a16, %b16;", 0x3f80, 0x3f80, 0x3b80},  // 1 + 2^-8: to even
      {"add.bf16 %d16, %a16, %b16;", 0x3f82, 0x3f81, 0x3b80},
      {"add.bf16 %d16, %a16, %b16;", 0x3f80, 0x3f80, 0x0001},
      {"sub.bf16 %d16, %a16, %b16;", 0xbf80, 0x3f80, 0x4000},
      // (1 + 2^-7)^2 = 1 + 2^-6 + 2^-14
      {"mul.bf16 %d16, %a16, %b16;", 0x3f82, 0x3f81, 0x3f81},
      {"mul.bf16 %d16, %a16, %b16;", 0x7f80, 0x7f7f, 0x4000},
      {"mul.bf16 %d16, %a16, %b16;", 0x0040, 0x0080, 0x3f00},
      {"fma.rn.bf16 %d16, %a16, %b16, %c16;", 0x3880, 0x3f81, 0x3f81, 0xbf82},
      // 1.5 * (1 + 2^-7) = 1.5 + 2^-7 + 2^-8 is a tie between 3fc1 and 3fc2; in double precision
      // nothing is left of 2^-130, which breaks it downwards, or upwards.
      {"fma.rn.bf16 %d16, %a16, %b16, %c16;", 0x3fc2, 0x3fc0, 0x3f81, 0x0000},
      {"fma.rn.bf16 %d16, %a16, %b16, %c16;", 0x3fc1, 0x3fc0, 0x3f81, 0x8008},
      // (1 + 2^-7) + 2^-8: a tie, to even.
      {"fma.rn.bf16 %d16, %a16, %b16, %c16;", 0x3f82, 0x3f81, 0x3f80, 0x3b80},
      {"fma.rn.relu.bf16 %d16, %a16, %b16, %c16;", 0x0000, 0xbf80, 0x3f80, 0x0000},
      {"min.bf16 %d16, %a16, %b16;", 0xbf80, 0x3f80, 0xbf80},
      {"max.NaN.bf16 %d16, %a16, %b16;", 0x7fff, 0x7fc1, 0x3f80},
      {"max.NaN.xorsign.abs.bf16 %d16, %a16, %b16;", 0x7fff, 0x7fc1, 0xbf80},
      {"min.NaN.xorsign.abs.bf16 %d16, %a16, %b16;", 0xbf80, 0x4000, 0xbf80},
      {"neg.bf16 %d16, %a16;", 0xbf80, 0x3f80},
  };
  expect_rows(rows);
}

}  // namespace
}  // namespace softcuda::ptx::testing
