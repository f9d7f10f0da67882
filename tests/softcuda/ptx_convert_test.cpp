// cvt. Expected values follow from the formats by exact reasoning, and from the PTX manual for NaN
// and numbers beyond the range.
#include <gtest/gtest.h>

#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

constexpr std::uint64_t infinity = 0x7f800000;
constexpr std::uint64_t nan = 0x7fc00000;
constexpr std::uint64_t minus_1 = ~std::uint64_t{0};

TEST(PtxConvert, WidensAndCutsIntegers) {
  const Row rows[] = {
      {"cvt.s64.s32 %d64, %a32;", minus_1, 0xffffffff},
      {"cvt.u64.u32 %d64, %a32;", 0xffffffff, 0xffffffff},
      {"cvt.u32.u64 %d32, %a64;", 0x9abcdef0, 0x123456789abcdef0},
      {"cvt.u16.u32 %d16, %a32;", 0x5678, 0x12345678},
      {"cvt.s32.s16 %d32, %a16;", 0xffff8000, 0x8000},
      {"cvt.s32.s8 %d32, %a32;", 0xffffff80, 0x12345680},
      {"cvt.u32.u8 %d32, %a32;", 0x80, 0x12345680},
      {"cvt.s8.s32 %d32, %a32;", 0xffffff80, 0x12345680},
      {"cvt.s16.s8 %d16, %a16;", 0xff80, 0x0080},
      {"cvt.sat.u8.s32 %d32, %a32;", 255, 300},
      {"cvt.sat.u8.s32 %d32, %a32;", 0, 0xffffffff},
      {"cvt.sat.s8.s32 %d32, %a32;", 0x7f, 300},
      {"cvt.sat.s8.s32 %d32, %a32;", 0xffffff80, 0xfffffed4},
      {"cvt.sat.s32.u32 %d32, %a32;", 0x7fffffff, 0xffffffff},
      {"cvt.sat.u32.s64 %d32, %a64;", 0xffffffff, 0x100000000},
  };
  expect_rows(rows);
}

TEST(PtxConvert, PacksIntegersAndClampsThem) {
  const Row rows[] = {
      {"cvt.pack.sat.u16.s32 %d32, %a32, %b32;", 0xffff0000, 70000, 0xffffffff},
      {"cvt.pack.sat.s16.s32 %d32, %a32, %b32;", 0x7fff8000, 70000, 0xfffe0000},
      {"cvt.pack.sat.u8.s32.b32 %d32, %a32, %b32, %c32;", 0x5678ff03, 300, 3, 0x12345678},
      {"cvt.pack.sat.s8.s32.b32 %d32, %a32, %b32, %c32;", 0x567880ff, 0xffffff00, 0xffffffff,
       0x12345678},
  };
  expect_rows(rows);
}

TEST(PtxConvert, RoundsIntegersToFloats) {
  const Row rows[] = {
      {"cvt.rn.f32.s32 %d32, %a32;", 0xbf800000, 0xffffffff},
      {"cvt.rn.f32.u32 %d32, %a32;", 0x4f800000, 0xffffffff},
      {"cvt.rz.f32.u32 %d32, %a32;", 0x4f7fffff, 0xffffffff},
      {"cvt.rn.f32.s32 %d32, %a32;", 0x4b800000, 0x01000001},  // 2^24 + 1: to even
      {"cvt.rp.f32.s32 %d32, %a32;", 0x4b800001, 0x01000001},
      {"cvt.rm.f32.s32 %d32, %a32;", 0xcb800001, 0xfeffffff},
      {"cvt.rn.f32.s64 %d32, %a64;", 0xdf000000, 0x8000000000000000},
      {"cvt.rn.f32.u64 %d32, %a64;", 0x5f800000, minus_1},
      {"cvt.rz.f32.u64 %d32, %a64;", 0x5f7fffff, minus_1},
      {"cvt.rn.f64.s32 %d64, %a32;", 0xc1e0000000000000, 0x80000000},
      {"cvt.rn.f64.u64 %d64, %a64;", 0x43f0000000000000, minus_1},
      {"cvt.rm.f64.u64 %d64, %a64;", 0x43efffffffffffff, minus_1},
      {"cvt.rn.f64.s64 %d64, %a64;", 0x4340000000000000, 0x20000000000001},
      {"cvt.rn.f16.s32 %d16, %a32;", 0x6800, 2049},  // to even
      {"cvt.rp.f16.s32 %d16, %a32;", 0x6801, 2049},
      {"cvt.rn.f16.s32 %d16, %a32;", 0x7c00, 65520},
      {"cvt.rz.f16.s32 %d16, %a32;", 0x7bff, 65520},
      {"cvt.rn.bf16.s32 %d16, %a32;", 0x4380, 257},  // to even
      // 2^40 + 2^32 is a tie of bfloat16; 1 more is above it, which double rounding in f32 loses.
      {"cvt.rn.bf16.s64 %d16, %a64;", 0x5380, 0x010100000000},
      {"cvt.rn.bf16.s64 %d16, %a64;", 0x5381, 0x010100000001},
      {"cvt.rn.f32.u8 %d32, %a32;", 0x437f0000, 0xffff},
  };
  expect_rows(rows);
}

TEST(PtxConvert, RoundsFloatsToIntegersAndClamps) {
  const Row rows[] = {
      {"cvt.rni.s32.f32 %d32, %a32;", 2, 0x40200000},  // 2.5
      {"cvt.rni.s32.f32 %d32, %a32;", 4, 0x40600000},  // 3.5
      {"cvt.rzi.s32.f32 %d32, %a32;", 0xfffffffe, 0xc0200000},
      {"cvt.rmi.s32.f32 %d32, %a32;", 0xfffffffd, 0xc0200000},
      {"cvt.rpi.s32.f32 %d32, %a32;", 3, 0x40200000},
      {"cvt.rni.s32.f32 %d32, %a32;", 0x7fffffff, 0x4f000000},
      {"cvt.rzi.s32.f32 %d32, %a32;", 0x80000000, 0xff800000},
      {"cvt.rzi.s32.f32 %d32, %a32;", 0, nan},
      {"cvt.rzi.u32.f32 %d32, %a32;", 0, 0xbf800000},
      {"cvt.rzi.u32.f32 %d32, %a32;", 0xffffffff, infinity},
      {"cvt.rzi.u32.f32 %d32, %a32;", 0xffffff00, 0x4f7fffff},
      {"cvt.rzi.s64.f32 %d64, %a32;", 0x8000000000000000, nan},
      {"cvt.rzi.s64.f32 %d64, %a32;", 0x7fffffffffffffff, 0x5f000000},
      {"cvt.rzi.u64.f64 %d64, %a64;", 0xfffffffffffff800, 0x43efffffffffffff},
      {"cvt.rzi.s32.f64 %d32, %a64;", 0x80000000, 0x7ff8000000000000},
      {"cvt.rni.s32.f64 %d32, %a64;", 2, 0x4004000000000000},
      {"cvt.rmi.s64.f64 %d64, %a64;", minus_1 - 2, 0xc004000000000000},
      {"cvt.rzi.s32.f16 %d32, %a16;", 65504, 0x7bff},
      {"cvt.rni.s32.bf16 %d32, %a16;", 2, 0x4020},
      {"cvt.rzi.u8.f32 %d32, %a32;", 255, 0x43960000},  // 300
      {"cvt.rni.s8.f32 %d32, %a32;", 0xffffff80, 0xc3960000},
      {"cvt.rzi.u16.f32 %d16, %a32;", 65535, 0x4b000000},
      {"cvt.rni.ftz.s32.f32 %d32, %a32;", 0, 1},
  };
  expect_rows(rows);
}

TEST(PtxConvert, RoundsFloatsToIntegralFloats) {
  const Row rows[] = {
      {"cvt.rni.f32.f32 %d32, %a32;", 0x40000000, 0x40200000},
      {"cvt.rmi.f32.f32 %d32, %a32;", 0xc0400000, 0xc0200000},
      {"cvt.rpi.f32.f32 %d32, %a32;", 0x80000000, 0xbf000000},
      {"cvt.rzi.f64.f64 %d64, %a64;", 0x4000000000000000, 0x4006000000000000},
      {"cvt.rmi.f16.f16 %d16, %a16;", 0xc200, 0xc100},
      {"cvt.rni.f32.f32 %d32, %a32;", infinity, infinity},
  };
  expect_rows(rows);
}

TEST(PtxConvert, RoundsFromFloatToFloat) {
  const Row rows[] = {
      {"cvt.f64.f32 %d64, %a32;", 0x3ff0000000000000, 0x3f800000},
      {"cvt.f64.f32 %d64, %a32;", 0x36a0000000000000, 1},
      {"cvt.ftz.f64.f32 %d64, %a32;", 0, 1},
      {"cvt.rn.f32.f64 %d32, %a64;", 0x3f800000, 0x3ff0000010000000},  // 1 + 2^-24: to even
      {"cvt.rn.f32.f64 %d32, %a64;", 0x3f800001, 0x3ff0000010000001},
      {"cvt.rp.f32.f64 %d32, %a64;", 0x3f800001, 0x3ff0000000000001},
      {"cvt.rz.f32.f64 %d32, %a64;", 0x7f7fffff, 0x7fefffffffffffff},
      {"cvt.rn.f32.f64 %d32, %a64;", infinity, 0x7fefffffffffffff},
      {"cvt.rm.f32.f64 %d32, %a64;", 0xff800000, 0xffefffffffffffff},
      {"cvt.rp.f32.f64 %d32, %a64;", 1, 1},
      {"cvt.rn.f32.f64 %d32, %a64;", 0x7fffffff, 0x7ff8000000000001},
      {"cvt.rn.ftz.f32.f64 %d32, %a64;", 0, 0x36a0000000000000},
      {"cvt.rn.f16.f32 %d16, %a32;", 0x3c00, 0x3f801000},  // 1 + 2^-11: to even
      {"cvt.rn.f16.f32 %d16, %a32;", 0x3c01, 0x3f801001},
      {"cvt.rz.f16.f32 %d16, %a32;", 0x3c00, 0x3f801fff},
      {"cvt.rn.f16.f32 %d16, %a32;", 0x7c00, 0x477ff000},  // 65520
      {"cvt.rn.f16.f32 %d16, %a32;", 0x7bff, 0x477fefff},
      {"cvt.rn.f16.f32 %d16, %a32;", 0x0001, 0x33000001},  // just above 2^-25
      {"cvt.rn.f16.f32 %d16, %a32;", 0x0000, 0x33000000},
      {"cvt.rn.f16.f32 %d16, %a32;", 0x7fff, nan},
      {"cvt.f32.f16 %d32, %a16;", 0x33800000, 0x0001},
      {"cvt.f32.f16 %d32, %a16;", 0xff800000, 0xfc00},
      {"cvt.f64.f16 %d64, %a16;", 0x40effc0000000000, 0x7bff},
      {"cvt.rn.bf16.f32 %d16, %a32;", 0x3f80, 0x3f808000},
      {"cvt.rn.bf16.f32 %d16, %a32;", 0x3f81, 0x3f808001},
      {"cvt.rz.bf16.f32 %d16, %a32;", 0x3f80, 0x3f80ffff},
      {"cvt.rp.bf16.f32 %d16, %a32;", 0x3f81, 0x3f800001},
      {"cvt.rm.bf16.f32 %d16, %a32;", 0xbf81, 0xbf800001},
      {"cvt.rn.relu.bf16.f32 %d16, %a32;", 0, 0xbf800000},
      {"cvt.f32.bf16 %d32, %a16;", 0x3f810000, 0x3f81},
      {"cvt.rn.f16.f64 %d16, %a64;", 0x3c01, 0x3ff0020000000001},
      {"cvt.sat.f32.f32 %d32, %a32;", 0x3f800000, 0x40000000},
      {"cvt.sat.f32.f32 %d32, %a32;", 0, nan},
      {"cvt.rna.tf32.f32 %d32, %a32;", 0x3f802000, 0x3f801000},  // the tie goes away from zero
      {"cvt.rn.tf32.f32 %d32, %a32;", 0x3f800000, 0x3f801000},
  };
  expect_rows(rows);
}

TEST(PtxConvert, PacksTheFirstOperandAbove) {
  const Row rows[] = {
      {"cvt.rn.f16x2.f32 %d32, %a32, %b32;", 0x3c004000, 0x3f800000, 0x40000000},
      {"cvt.rn.bf16x2.f32 %d32, %a32, %b32;", 0x3f804000, 0x3f800000, 0x40000000},
      {"cvt.rn.relu.f16x2.f32 %d32, %a32, %b32;", 0x3c000000, 0x3f800000, 0xc0000000},
      {"cvt.rz.bf16x2.f32 %d32, %a32, %b32;", 0x3f803f80, 0x3f80ffff, 0x3f808000},
  };
  expect_rows(rows);
}

// e4m3: 38 is 1, 7e is 448, 7f is NaN, 01 is 2^-9. e5m2: 3c is 1, 7b is 57344, 7c is infinity.
TEST(PtxConvert, GoesToEightBitFloatsAndBack) {
  const Row rows[] = {
      {"cvt.rn.satfinite.e4m3x2.f32 %d16, %a32, %b32;", 0x3840, 0x3f800000, 0x40000000},
      {"cvt.rn.satfinite.e4m3x2.f32 %d16, %a32, %b32;", 0x7efe, infinity, 0xff800000},
      {"cvt.rn.satfinite.e4m3x2.f32 %d16, %a32, %b32;", 0x7f7e, nan, 0x447a0000},  // NaN, 1000
      {"cvt.rn.satfinite.e4m3x2.f32 %d16, %a32, %b32;", 0x7e7e, 0x43e00000, 0x43e80000},
      {"cvt.rn.satfinite.e4m3x2.f32 %d16, %a32, %b32;", 0x0100, 0x3b000000, 0x3a800000},
      {"cvt.rn.satfinite.e4m3x2.f32 %d16, %a32, %b32;", 0x3838, 0x3f880000, 0x3f800000},
      {"cvt.rn.satfinite.e4m3x2.f32 %d16, %a32, %b32;", 0x3a39, 0x3f980000, 0x3f880001},
      {"cvt.rn.satfinite.relu.e4m3x2.f32 %d16, %a32, %b32;", 0x3800, 0x3f800000, 0xbf800000},
      {"cvt.rn.satfinite.e5m2x2.f32 %d16, %a32, %b32;", 0x3c7b, 0x3f800000, infinity},
      {"cvt.rn.satfinite.e5m2x2.f32 %d16, %a32, %b32;", 0x7f00, nan, 0},
      {"cvt.rn.satfinite.e4m3x2.f16x2 %d16, %a32;", 0x3840, 0x3c004000},
      {"cvt.rn.f16x2.e4m3x2 %d32, %a16;", 0x3c005f00, 0x387e},
      {"cvt.rn.f16x2.e4m3x2 %d32, %a16;", 0x7fff9800, 0x7f81},
      {"cvt.rn.f16x2.e5m2x2 %d32, %a16;", 0x3c007c00, 0x3c7c},
      {"cvt.rn.relu.f16x2.e4m3x2 %d32, %a16;", 0x3c000000, 0x38b8},
  };
  expect_rows(rows);
}

// e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6, ties to even; NaN becomes 6. e2m3: 08 is 1, 1f is 7.5. e3m2: 0c
// is 1, 1f is 28. ue8m0 is the biased exponent.
TEST(PtxConvert, GoesToFourAndSixBitFloatsAndBack) {
  const Row rows[] = {
      {"{ .reg .b8 %t; cvt.rn.satfinite.e2m1x2.f32 %t, %a32, %b32; cvt.u32.u8 %d32, %t; }", 0x27,
       0x3f800000, 0x40c00000},
      {"{ .reg .b8 %t; cvt.rn.satfinite.e2m1x2.f32 %t, %a32, %b32; cvt.u32.u8 %d32, %t; }", 0x24,
       0x3f400000, 0x3fe00000},  // 0.75 and 1.75: to even
      {"{ .reg .b8 %t; cvt.rn.satfinite.e2m1x2.f32 %t, %a32, %b32; cvt.u32.u8 %d32, %t; }", 0x7f,
       nan, 0xc2c80000},
      {"{ .reg .b8 %t; cvt.u8.u32 %t, %a32; cvt.rn.f16x2.e2m1x2 %d32, %t; }", 0x3c004600, 0x27},
      {"{ .reg .b8 %t; mov.b32 {%t, _, _, _}, %a32; cvt.rn.f16x2.e2m1x2 %d32, %t; }", 0x3c004600,
       0x27},
      {"cvt.rn.satfinite.e2m3x2.f32 %d16, %a32, %b32;", 0x081f, 0x3f800000, 0x42c80000},
      {"cvt.rn.f16x2.e2m3x2 %d32, %a16;", 0x3c004780, 0x081f},
      {"cvt.rn.satfinite.e3m2x2.f32 %d16, %a32, %b32;", 0x0c1f, 0x3f800000, 0x42c80000},
      {"cvt.rn.f16x2.e3m2x2 %d32, %a16;", 0x3c004f00, 0x0c1f},
      {"cvt.rp.satfinite.ue8m0x2.f32 %d16, %a32, %b32;", 0x7f80, 0x3f800000, 0x3f800001},
      {"cvt.rz.satfinite.ue8m0x2.f32 %d16, %a32, %b32;", 0x7f7f, 0x3f800000, 0x3fffffff},
      {"cvt.rz.satfinite.ue8m0x2.f32 %d16, %a32, %b32;", 0x7f7f, 0xbf800000, 0xbfffffff},
      {"cvt.rp.satfinite.ue8m0x2.f32 %d16, %a32, %b32;", 0x80fe, 0xbf800001, 0xff800000},
      {"cvt.rp.ue8m0x2.f32 %d16, %a32, %b32;", 0xff00, 0xff800000, 0x80000000},
      {"cvt.rz.satfinite.ue8m0x2.bf16x2 %d16, %a32;", 0x8081, 0xc000c080},
      {"cvt.rn.bf16x2.ue8m0x2 %d32, %a16;", 0x3f804000, 0x7f80},
  };
  expect_rows(rows);
}

}  // namespace
}  // namespace softcuda::ptx::testing
