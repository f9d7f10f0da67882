// Floating point instructions. Expected values follow from IEEE 754 by exact reasoning, given
// beside the rows that are not plain, or from the PTX manual where it says more.
//
// Bits: 3f800000 is 1, 3f800001 is 1 + 2^-23, 3f7fffff is 1 - 2^-24, 00000001 is 2^-149, 00800000
// is 2^-126, 7f800000 is infinity, 7fffffff is the NaN of single precision results.
#include <gtest/gtest.h>

#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

constexpr std::uint64_t one = 0x3f800000;
constexpr std::uint64_t infinity = 0x7f800000;
constexpr std::uint64_t nan = 0x7fffffff;
constexpr std::uint64_t quiet = 0x7fc12345;  // a NaN with a payload
constexpr std::uint64_t negative_zero = 0x80000000;

TEST(PtxFloat, AddsWithOneRounding) {
  const Row rows[] = {
      {"add.f32 %d32, %a32, %b32;", 0x40400000, one, 0x40000000},
      // 1 + 2^-24 lies in the middle: to even. 1 + 2^-24 + 2^-47 lies above.
      {"add.f32 %d32, %a32, %b32;", one, one, 0x33800000},
      {"add.f32 %d32, %a32, %b32;", 0x3f800001, one, 0x33800001},
      {"add.f32 %d32, %a32, %b32;", 0x3f800002, 0x3f800001, 0x33800000},
      {"add.rn.f32 %d32, %a32, %b32;", one, one, 0x33800000},
      {"add.rz.f32 %d32, %a32, %b32;", one, one, 0x33800001},
      {"add.rm.f32 %d32, %a32, %b32;", one, one, 0x33800001},
      {"add.rp.f32 %d32, %a32, %b32;", 0x3f800001, one, 0x00000001},
      {"add.rp.f32 %d32, %a32, %b32;", 0xbf800000, 0xbf800000, 0x80000001},
      {"add.rm.f32 %d32, %a32, %b32;", 0xbf800001, 0xbf800000, 0x80000001},
      {"add.rz.f32 %d32, %a32, %b32;", 0xbf800000, 0xbf800000, 0x80000001},
      {"add.rm.f32 %d32, %a32, %b32;", negative_zero, one, 0xbf800000},
      {"add.f32 %d32, %a32, %b32;", 0, one, 0xbf800000},
      {"add.f32 %d32, %a32, %b32;", negative_zero, negative_zero, negative_zero},
      {"add.f32 %d32, %a32, %b32;", nan, infinity, 0xff800000},
      {"add.f32 %d32, %a32, %b32;", nan, quiet, one},
      {"add.f32 %d32, %a32, %b32;", infinity, 0x7f7fffff, 0x73000000},  // half an ulp beyond
      {"add.rz.f32 %d32, %a32, %b32;", 0x7f7fffff, 0x7f7fffff, 0x7f7fffff},
      {"add.f32 %d32, %a32, %b32;", 0x00000003, 0x00000001, 0x00000002},
      {"add.ftz.f32 %d32, %a32, %b32;", 0, 0x00000001, 0x00000002},
      {"add.ftz.f32 %d32, %a32, %b32;", 0, 0x00800001, 0x80800000},  // the result is 2^-149
      {"add.ftz.f32 %d32, %a32, %b32;", negative_zero, 0x80000001, negative_zero},
      {"add.sat.f32 %d32, %a32, %b32;", one, one, one},
      {"add.sat.f32 %d32, %a32, %b32;", 0, 0xbf800000, 0xbf800000},
      {"add.sat.f32 %d32, %a32, %b32;", 0, quiet, one},
      {"sub.f32 %d32, %a32, %b32;", 0xbf800000, one, 0x40000000},
      {"sub.rm.f32 %d32, %a32, %b32;", 0x3f7fffff, one, 0x00000001},
      {"sub.f32 %d32, %a32, %b32;", one, one, 0x00000001},
      {"add.f64 %d64, %a64, %b64;", 0x3ff0000000000000, 0x3ff0000000000000, 0x3ca0000000000000},
      {"add.rp.f64 %d64, %a64, %b64;", 0x3ff0000000000001, 0x3ff0000000000000, 1},
      {"add.rz.f64 %d64, %a64, %b64;", 0x3ff0000000000000, 0x3ff0000000000000, 1},
      {"sub.rm.f64 %d64, %a64, %b64;", 0x3fefffffffffffff, 0x3ff0000000000000, 1},
      {"add.f64 %d64, %a64, %b64;", 3, 1, 2},
  };
  expect_rows(rows);
}

TEST(PtxFloat, MultipliesAndFuses) {
  const Row rows[] = {
      {"mul.f32 %d32, %a32, %b32;", 0x40c00000, 0x40000000, 0x40400000},
      // (1 + 2^-23)^2 = 1 + 2^-22 + 2^-46
      {"mul.f32 %d32, %a32, %b32;", 0x3f800002, 0x3f800001, 0x3f800001},
      {"mul.rp.f32 %d32, %a32, %b32;", 0x3f800003, 0x3f800001, 0x3f800001},
      {"mul.rz.f32 %d32, %a32, %b32;", 0x3f800002, 0x3f800001, 0x3f800001},
      {"mul.rm.f32 %d32, %a32, %b32;", 0xbf800003, 0xbf800001, 0x3f800001},
      {"mul.f32 %d32, %a32, %b32;", nan, 0, infinity},
      {"mul.f32 %d32, %a32, %b32;", negative_zero, negative_zero, one},
      {"mul.f32 %d32, %a32, %b32;", 0x00400000, 0x00800000, 0x3f000000},
      {"mul.ftz.f32 %d32, %a32, %b32;", 0, 0x00800000, 0x3f000000},
      {"mul.rp.f32 %d32, %a32, %b32;", 0x00000001, 0x00000001, 0x3f000000},
      {"mul.f32 %d32, %a32, %b32;", 0, 0x00000001, 0x3f000000},
      {"mul.sat.f32 %d32, %a32, %b32;", 0x3f000000, one, 0x3f000000},
      {"mul.f64 %d64, %a64, %b64;", 0x4018000000000000, 0x4000000000000000, 0x4008000000000000},
      {"mul.rp.f64 %d64, %a64, %b64;", 0x3ff0000000000003, 0x3ff0000000000001, 0x3ff0000000000001},
      // The product minus its rounded value: 2^-46 is what plain rounding loses.
      {"fma.rn.f32 %d32, %a32, %b32, %c32;", 0x28800000, 0x3f800001, 0x3f800001, 0xbf800002},
      {"fma.rn.f32 %d32, %a32, %b32, %c32;", 0x40a00000, one, 0x40000000, 0x40400000},
      // A product far below the last place still decides directed roundings.
      {"fma.rp.f32 %d32, %a32, %b32, %c32;", 0x3f800001, 0x00000001, 0x00000001, one},
      {"fma.rz.f32 %d32, %a32, %b32, %c32;", one, 0x00000001, 0x00000001, one},
      {"fma.rm.f32 %d32, %a32, %b32, %c32;", 0x3f7fffff, 0x80000001, 0x00000001, one},
      // 1 + 2^-24 + 2^-47: just above the middle.
      {"fma.rn.f32 %d32, %a32, %b32, %c32;", 0x3f800001, 0x33800001, one, one},
      {"fma.rn.ftz.f32 %d32, %a32, %b32, %c32;", one, 0x00400000, 0x7e800000, one},
      {"fma.rn.sat.f32 %d32, %a32, %b32, %c32;", one, 0x40000000, one, one},
      {"fma.rn.f32 %d32, %a32, %b32, %c32;", nan, infinity, 0, one},
      {"fma.rn.f32x2 %d64, %a64, %b64, %c64;", 0x40a0000028800000, 0x3f8000003f800001,
       0x400000003f800001, 0x40400000bf800002},
      {"add.rz.f32x2 %d64, %a64, %b64;", 0x3f80000040400000, 0x3f8000003f800000,
       0x3380000140000000},
      {"mul.rn.ftz.f32x2 %d64, %a64, %b64;", 0x40c0000000000000, 0x4000000000000001,
       0x404000003f800000},
      {"mad.rn.f32 %d32, %a32, %b32, %c32;", 0x28800000, 0x3f800001, 0x3f800001, 0xbf800002},
      {"fma.rn.f64 %d64, %a64, %b64, %c64;", 0x3970000000000000, 0x3ff0000000000001,
       0x3ff0000000000001, 0xbff0000000000002},
      {"fma.rm.f64 %d64, %a64, %b64, %c64;", 0x3fefffffffffffff, 0x8000000000000001, 1,
       0x3ff0000000000000},
  };
  expect_rows(rows);
}

TEST(PtxFloat, DividesAndTakesRoots) {
  const Row rows[] = {
      // 1/3 = 0x3eaaaaaa.aaaa..: the next binary digit is 1.
      {"div.rn.f32 %d32, %a32, %b32;", 0x3eaaaaab, one, 0x40400000},
      {"div.rz.f32 %d32, %a32, %b32;", 0x3eaaaaaa, one, 0x40400000},
      {"div.rm.f32 %d32, %a32, %b32;", 0x3eaaaaaa, one, 0x40400000},
      {"div.rp.f32 %d32, %a32, %b32;", 0x3eaaaaab, one, 0x40400000},
      {"div.rp.f32 %d32, %a32, %b32;", 0xbeaaaaaa, 0xbf800000, 0x40400000},
      {"div.rn.f32 %d32, %a32, %b32;", infinity, one, 0},
      {"div.rn.f32 %d32, %a32, %b32;", 0xff800000, one, negative_zero},
      {"div.rn.f32 %d32, %a32, %b32;", nan, 0, 0},
      {"div.rn.f32 %d32, %a32, %b32;", 0x00400000, 0x00800000, 0x40000000},
      {"div.rn.ftz.f32 %d32, %a32, %b32;", 0, 0x00800000, 0x40000000},
      {"div.rn.f64 %d64, %a64, %b64;", 0x3fd5555555555555, 0x3ff0000000000000, 0x4008000000000000},
      {"div.rp.f64 %d64, %a64, %b64;", 0x3fd5555555555556, 0x3ff0000000000000, 0x4008000000000000},
      {"rcp.rn.f32 %d32, %a32;", 0x3eaaaaab, 0x40400000},
      {"rcp.rz.f32 %d32, %a32;", 0x3eaaaaaa, 0x40400000},
      {"rcp.rn.f64 %d64, %a64;", 0x3fd5555555555555, 0x4008000000000000},
      {"rcp.rn.f32 %d32, %a32;", 0x00400000, 0x7f000000},  // 2^-127, subnormal
      {"rcp.rn.ftz.f32 %d32, %a32;", 0, 0x7f000000},
      // sqrt(2) lies between 3fb504f3 and 3fb504f4, nearer to the first; in double precision nearer
      // to the second of ..bcc and ..bcd.
      {"sqrt.rn.f32 %d32, %a32;", 0x3fb504f3, 0x40000000},
      {"sqrt.rz.f32 %d32, %a32;", 0x3fb504f3, 0x40000000},
      {"sqrt.rp.f32 %d32, %a32;", 0x3fb504f4, 0x40000000},
      {"sqrt.rn.f32 %d32, %a32;", nan, 0xbf800000},
      {"sqrt.rn.f32 %d32, %a32;", negative_zero, negative_zero},
      {"sqrt.rn.f64 %d64, %a64;", 0x3ff6a09e667f3bcd, 0x4000000000000000},
      {"sqrt.rm.f64 %d64, %a64;", 0x3ff6a09e667f3bcc, 0x4000000000000000},
      {"sqrt.rn.f32 %d32, %a32;", 0x40400000, 0x41100000},
  };
  expect_rows(rows);
}

TEST(PtxFloat, ChoosesBySizeAndSign) {
  const Row rows[] = {
      {"min.f32 %d32, %a32, %b32;", 0xbf800000, one, 0xbf800000},
      {"min.f32 %d32, %a32, %b32;", negative_zero, 0, negative_zero},
      {"max.f32 %d32, %a32, %b32;", 0, 0, negative_zero},
      {"max.f32 %d32, %a32, %b32;", 0, negative_zero, 0},
      {"min.f32 %d32, %a32, %b32;", one, quiet, one},
      {"max.f32 %d32, %a32, %b32;", one, one, quiet},
      {"max.f32 %d32, %a32, %b32;", nan, quiet, quiet},
      {"max.NaN.f32 %d32, %a32, %b32;", nan, one, quiet},
      {"min.NaN.f32 %d32, %a32, %b32;", one, one, 0x40000000},
      {"min.ftz.f32 %d32, %a32, %b32;", 0, 0x00000001, one},
      {"min.xorsign.abs.f32 %d32, %a32, %b32;", 0xbf800000, one, 0xc0000000},
      {"max.xorsign.abs.f32 %d32, %a32, %b32;", 0x40000000, 0xbf800000, 0xc0000000},
      {"max.f32 %d32, %a32, %b32, %c32;", 0x40400000, one, 0x40400000, 0x40000000},
      {"min.f64 %d64, %a64, %b64;", 0xbff0000000000000, 0x3ff0000000000000, 0xbff0000000000000},
      {"max.f64 %d64, %a64, %b64;", 0x3ff0000000000000, 0x7ff8000000000000, 0x3ff0000000000000},
      {"min.f64 %d64, %a64, %b64;", 0x7fffffffffffffff, 0x7ff8000000000000, 0xfff8000000000001},
      {"max.f64 %d64, %a64, %b64;", 0x7fffffffffffffff, 0x7ff8000000000000, 0xfff8000000000001},
      {"abs.f32 %d32, %a32;", one, 0xbf800000},
      {"abs.f32 %d32, %a32;", 0, negative_zero},
      {"abs.ftz.f32 %d32, %a32;", 0, 0x80000001},
      {"abs.f64 %d64, %a64;", 0x3ff0000000000000, 0xbff0000000000000},
      {"neg.f32 %d32, %a32;", negative_zero, 0},
      {"neg.ftz.f32 %d32, %a32;", negative_zero, 0x00000001},
      {"neg.f64 %d64, %a64;", 0xbff0000000000000, 0x3ff0000000000000},
      {"copysign.f32 %d32, %a32, %b32;", 0xc0000000, 0xbf800000, 0x40000000},
      {"copysign.f64 %d64, %a64, %b64;", 0x4000000000000000, 0x3ff0000000000000,
       0xc000000000000000},
      {"testp.finite.f32 %pd, %a32;", 1, one},
      {"testp.finite.f32 %pd, %a32;", 0, infinity},
      {"testp.infinite.f32 %pd, %a32;", 1, 0xff800000},
      {"testp.number.f32 %pd, %a32;", 0, quiet},
      {"testp.notanumber.f64 %pd, %a64;", 1, 0x7ff8000000000000},
      {"testp.normal.f32 %pd, %a32;", 0, 1},
      {"testp.normal.f32 %pd, %a32;", 0, 0},
      {"testp.subnormal.f32 %pd, %a32;", 1, 0x007fffff},
  };
  expect_rows(rows);
}

// Arguments whose results are exact, and the special values of the PTX manual's tables.
TEST(PtxFloat, ApproximatesWithinTheManualsBounds) {
  const Row rows[] = {
      {"rcp.approx.f32 %d32, %a32;", 0x3e800000, 0x40800000},
      {"rcp.approx.ftz.f32 %d32, %a32;", infinity, 0x00000001},
      {"rcp.approx.f32 %d32, %a32;", 0xff800000, negative_zero},
      {"rcp.approx.f32 %d32, %a32;", 0, infinity},
      {"sqrt.approx.f32 %d32, %a32;", 0x40400000, 0x41100000},
      {"sqrt.approx.f32 %d32, %a32;", nan, 0xbf800000},
      {"sqrt.approx.ftz.f32 %d32, %a32;", negative_zero, 0x80000001},
      {"rsqrt.approx.f32 %d32, %a32;", 0x3f000000, 0x40800000},
      {"rsqrt.approx.f32 %d32, %a32;", infinity, 0},
      {"rsqrt.approx.f32 %d32, %a32;", 0xff800000, negative_zero},
      {"rsqrt.approx.f32 %d32, %a32;", 0, infinity},
      {"rsqrt.approx.f64 %d64, %a64;", 0x3fe0000000000000, 0x4010000000000000},
      {"rsqrt.approx.ftz.f64 %d64, %a64;", 0x3fe0000000000000, 0x4010000000000123},
      {"rcp.approx.ftz.f64 %d64, %a64;", 0x3fd0000000000000, 0x4010000000000123},
      {"rcp.approx.ftz.f64 %d64, %a64;", 0x7ff0000000000000, 1},
      {"ex2.approx.f32 %d32, %a32;", 0x41000000, 0x40400000},
      {"ex2.approx.f32 %d32, %a32;", one, 0},
      {"ex2.approx.f32 %d32, %a32;", 0, 0xff800000},
      {"ex2.approx.ftz.f32 %d32, %a32;", 0, 0xc3020000},  // 2^-130
      {"ex2.approx.f32 %d32, %a32;", 0x00080000, 0xc3020000},
      {"lg2.approx.f32 %d32, %a32;", 0x40400000, 0x41000000},
      {"lg2.approx.f32 %d32, %a32;", 0xff800000, 0},
      {"lg2.approx.f32 %d32, %a32;", nan, 0xbf800000},
      {"lg2.approx.ftz.f32 %d32, %a32;", 0xff800000, 0x00000001},
      {"sin.approx.f32 %d32, %a32;", 0, 0},
      {"sin.approx.f32 %d32, %a32;", negative_zero, negative_zero},
      {"sin.approx.f32 %d32, %a32;", nan, infinity},
      {"cos.approx.f32 %d32, %a32;", one, 0},
      {"cos.approx.f32 %d32, %a32;", nan, 0xff800000},
      {"tanh.approx.f32 %d32, %a32;", one, infinity},
      {"tanh.approx.f32 %d32, %a32;", negative_zero, negative_zero},
      {"tanh.approx.f16 %d16, %a16;", 0x3c00, 0x7c00},
      {"tanh.approx.bf16x2 %d32, %a32;", 0xbf803f80, 0xff807f80},
      {"ex2.approx.f16 %d16, %a16;", 0x4800, 0x4200},
      {"ex2.approx.f16x2 %d32, %a32;", 0x48003c00, 0x42000000},
      {"ex2.approx.ftz.bf16 %d16, %a16;", 0x4100, 0x4040},
      {"div.approx.f32 %d32, %a32, %b32;", 0x40000000, 0x40c00000, 0x40400000},
      {"div.approx.f32 %d32, %a32, %b32;", 0, one, 0x7f000000},  // |b| > 2^126
      {"div.approx.f32 %d32, %a32, %b32;", nan, infinity, 0x7f000000},
      {"div.full.f32 %d32, %a32, %b32;", one, 0x7f000000, 0x7f000000},
      {"div.full.ftz.f32 %d32, %a32, %b32;", 0x40000000, 0x40c00000, 0x40400000},
  };
  expect_rows(rows);
}

}  // namespace
}  // namespace softcuda::ptx::testing
