// Logic, shifts, fields, permutations, moves. Expected values follow from the definitions in the
// PTX manual, worked out by hand.
#include <gtest/gtest.h>

#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

constexpr std::uint64_t minus_1 = ~std::uint64_t{0};

TEST(PtxBits, CombinesBits) {
  const Row rows[] = {
      {"and.b32 %d32, %a32, %b32;", 0x0f000000, 0x0f0f0f0f, 0xff000000},
      {"or.b32 %d32, %a32, %b32;", 0xff0f0f0f, 0x0f0f0f0f, 0xff000000},
      {"xor.b64 %d64, %a64, %b64;", minus_1, 0x00ff00ff00ff00ff, 0xff00ff00ff00ff00},
      {"not.b16 %d16, %a16;", 0xff00, 0x00ff},
      {"not.b32 %d32, %a32;", 0xffffffff, 0},
      {"not.b64 %d64, %a64;", 0, minus_1},
      {"cnot.b32 %d32, %a32;", 1, 0},
      {"cnot.b32 %d32, %a32;", 0, 5},
      {"and.pred %pd, %pa, %pb;", 1, 1, 2},
      {"or.pred %pd, %pa, %pb;", 0, 0, 0},
      {"xor.pred %pd, %pa, %pb;", 0, 1, 1},
      {"not.pred %pd, %pa;", 1, 0},
      {"lop3.b32 %d32, %a32, %b32, %c32, 0x80;", 0x00000008, 0xc, 0xa, 0x8},
      {"lop3.b32 %d32, %a32, %b32, %c32, 0xfe;", 0x0000000f, 0xc, 0xa, 0x1},
      {"lop3.b32 %d32, %a32, %b32, %c32, 0x96;", 0xf0 ^ 0xcc ^ 0xaa, 0xf0, 0xcc, 0xaa},
      {"lop3.b32 %d32, %a32, %b32, %c32, 0xca;", 0xca, 0xf0, 0xcc, 0xaa},
      {"lop3.b32 %d32, %a32, %b32, %c32, 0x01;", 0xffffff00, 0xf0, 0x0f, 0x00},
  };
  expect_rows(rows);
}

TEST(PtxBits, ShiftsAndClampsTheAmount) {
  const Row rows[] = {
      {"shl.b32 %d32, %a32, %b32;", 0x80000000, 1, 31},
      {"shl.b32 %d32, %a32, %b32;", 0, 1, 32},
      {"shl.b64 %d64, %a64, %b32;", 0x100000000, 1, 32},
      {"shl.b16 %d16, %a16, 8;", 0xff00, 0xffff},
      {"shr.u32 %d32, %a32, %b32;", 1, 0x80000000, 31},
      {"shr.u32 %d32, %a32, %b32;", 0, 0x80000000, 200},
      {"shr.s32 %d32, %a32, %b32;", 0xffffffff, 0x80000000, 200},
      {"shr.s32 %d32, %a32, 4;", 0xf8000000, 0x80000000},
      {"shr.s64 %d64, %a64, 63;", minus_1, std::uint64_t{1} << 63},
      {"shr.u16 %d16, %a16, 4;", 0x0fff, 0xffff},
      {"shr.s16 %d16, %a16, 4;", 0xf800, 0x8000},
      {"shf.l.wrap.b32 %d32, %a32, %b32, %c32;", 0x56789abc, 0xbcdef012, 0x3456789a, 8},
      {"shf.l.clamp.b32 %d32, %a32, %b32, %c32;", 0x11111111, 0x11111111, 0x22222222, 40},
      {"shf.l.wrap.b32 %d32, %a32, %b32, %c32;", 0x22222222, 0x11111111, 0x22222222, 32},
      {"shf.r.wrap.b32 %d32, %a32, %b32, %c32;", 0x9abcdef0, 0xbcdef012, 0x3456789a, 8},
      {"shf.r.clamp.b32 %d32, %a32, %b32, %c32;", 0x22222222, 0x11111111, 0x22222222, 99},
  };
  expect_rows(rows);
}

TEST(PtxBits, TakesFieldsOutAndPutsThemIn) {
  const Row rows[] = {
      {"bfe.u32 %d32, %a32, %b32, %c32;", 0x56, 0x12345678, 8, 8},
      {"bfe.s32 %d32, %a32, %b32, %c32;", 0xfffffff8, 0x00000080, 4, 4},
      {"bfe.s32 %d32, %a32, %b32, %c32;", 0x00000007, 0x00000070, 4, 4},
      {"bfe.u32 %d32, %a32, %b32, %c32;", 0x1, 0x12345678, 28, 20},
      {"bfe.s32 %d32, %a32, %b32, %c32;", 0xffffffff, 0xf0000000, 28, 20},
      {"bfe.s32 %d32, %a32, %b32, %c32;", 0, 0xffffffff, 3, 0},
      {"bfe.s32 %d32, %a32, %b32, %c32;", 0xffffffff, 0x80000000, 40, 4},
      {"bfe.u64 %d64, %a64, %b32, %c32;", 0x1234, 0x1234000000000000, 48, 16},
      {"bfe.s64 %d64, %a64, %b32, %c32;", minus_1 - 1, 0xe000000000000000, 60, 4},
      {"bfi.b32 %d32, %a32, %b32, 8, 8;", 0x1234ab78, 0xab, 0x12345678},
      {"bfi.b32 %d32, %a32, %b32, 28, 8;", 0xb2345678, 0xab, 0x12345678},
      {"bfi.b32 %d32, %a32, %b32, 8, 0;", 0x12345678, 0xab, 0x12345678},
      {"bfi.b64 %d64, %a64, %b64, 32, 32;", 0x0000000700000009, 7, 9},
      {"bmsk.clamp.b32 %d32, %a32, %b32;", 0x00000ff0, 4, 8},
      {"bmsk.clamp.b32 %d32, %a32, %b32;", 0xf0000000, 28, 100},
      {"bmsk.clamp.b32 %d32, %a32, %b32;", 0, 32, 4},
      {"bmsk.wrap.b32 %d32, %a32, %b32;", 0x0000000e, 33, 35},
      {"bfind.u32 %d32, %a32;", 31, 0x80000000},
      {"bfind.u32 %d32, %a32;", 0xffffffff, 0},
      {"bfind.s32 %d32, %a32;", 0xffffffff, 0xffffffff},
      {"bfind.s32 %d32, %a32;", 3, 0xfffffff7},
      {"bfind.shiftamt.u32 %d32, %a32;", 28, 8},
      {"bfind.u64 %d32, %a64;", 40, std::uint64_t{1} << 40},
      {"popc.b32 %d32, %a32;", 16, 0x0f0f0f0f},
      {"popc.b64 %d32, %a64;", 64, minus_1},
      {"clz.b32 %d32, %a32;", 32, 0},
      {"clz.b32 %d32, %a32;", 4, 0x0fffffff},
      {"clz.b64 %d32, %a64;", 63, 1},
      {"brev.b32 %d32, %a32;", 0x80000000, 1},
      {"brev.b32 %d32, %a32;", 0x1e6a2c48, 0x12345678},
      {"brev.b64 %d64, %a64;", 1, std::uint64_t{1} << 63},
  };
  expect_rows(rows);
}

TEST(PtxBits, JoinsATableWithAPredicate) {
  const Row rows[] = {
      {"lop3.or.b32 %d32|%qd, %a32, %b32, %c32, 0x80, 0;", 0xf, 0xff, 0xf, 0xf},
      {"lop3.or.b32 _|%pd, %a32, %b32, %c32, 0x80, 0;", 1, 0xff, 0xf, 0xf},
      {"lop3.or.b32 _|%pd, %a32, %b32, %c32, 0x80, 0;", 0, 0xf0, 0xf, 0xf},
      {"lop3.or.b32 _|%pd, %a32, %b32, %c32, 0x80, %pa;", 1, 0xf0, 0xf, 0xf},
      {"lop3.and.b32 _|%pd, %a32, %b32, %c32, 0xfe, %pc;", 0, 1, 1, 0},
      {"lop3.and.b32 _|%pd, %a32, %b32, %c32, 0xfe, !%pc;", 1, 1, 1, 0},
  };
  expect_rows(rows);
}

TEST(PtxBits, FindsTheNthSetBit) {
  const Row rows[] = {
      {"fns.b32 %d32, %a32, %b32, %c32;", 4, 0x91, 1, 1},           // the first from bit 1 on
      {"fns.b32 %d32, %a32, %b32, %c32;", 7, 0x91, 1, 2},           // the second
      {"fns.b32 %d32, %a32, %b32, %c32;", 0xffffffff, 0x91, 1, 3},  // there is no third
      {"fns.b32 %d32, %a32, %b32, %c32;", 4, 0x91, 6, 0xffffffff},  // downwards
      {"fns.b32 %d32, %a32, %b32, %c32;", 0, 0x91, 6, 0xfffffffe},
      {"fns.b32 %d32, %a32, %b32, %c32;", 4, 0x91, 4, 0},  // the bit itself
      {"fns.b32 %d32, %a32, %b32, %c32;", 0xffffffff, 0x91, 5, 0},
      {"fns.b32 %d32, %a32, %b32, %c32;", 0xffffffff, 0x91, 32, 1},
  };
  expect_rows(rows);
}

TEST(PtxBits, ExtendsLowBits) {
  const Row rows[] = {
      {"szext.clamp.s32 %d32, %a32, %b32;", 0xfffffff8, 0x18, 4},
      {"szext.clamp.u32 %d32, %a32, %b32;", 8, 0x18, 4},
      {"szext.clamp.s32 %d32, %a32, %b32;", 0x87654321, 0x87654321, 40},
      {"szext.wrap.u32 %d32, %a32, %b32;", 0x21, 0x87654321, 40},
      {"szext.clamp.s32 %d32, %a32, %b32;", 0, 0xffffffff, 0},
      {"szext.wrap.s32 %d32, %a32, %b32;", 0, 0xffffffff, 32},
  };
  expect_rows(rows);
}

TEST(PtxBits, PermutesBytes) {
  const Row rows[] = {
      // Bytes 0..3 are those of a, 4..7 those of b.
      {"prmt.b32 %d32, %a32, %b32, 0x3210;", 0x33221100, 0x33221100, 0x77665544},
      {"prmt.b32 %d32, %a32, %b32, 0x7654;", 0x77665544, 0x33221100, 0x77665544},
      {"prmt.b32 %d32, %a32, %b32, 0x0426;", 0x00442266, 0x33221100, 0x77665544},
      {"prmt.b32 %d32, %a32, %b32, 0xba98;", 0x00ff00ff, 0x7f807fff, 0},
      {"prmt.b32.f4e %d32, %a32, %b32, %c32;", 0x44332211, 0x33221100, 0x77665544, 1},
      {"prmt.b32.b4e %d32, %a32, %b32, %c32;", 0x66770011, 0x33221100, 0x77665544, 1},
      {"prmt.b32.rc8 %d32, %a32, %b32, %c32;", 0x22222222, 0x33221100, 0x77665544, 2},
      {"prmt.b32.ecl %d32, %a32, %b32, %c32;", 0x33222222, 0x33221100, 0x77665544, 2},
      {"prmt.b32.ecr %d32, %a32, %b32, %c32;", 0x22221100, 0x33221100, 0x77665544, 2},
      {"prmt.b32.rc16 %d32, %a32, %b32, %c32;", 0x33223322, 0x33221100, 0x77665544, 1},
  };
  expect_rows(rows);
}

TEST(PtxBits, MovesPacksAndUnpacks) {
  const Row rows[] = {
      {"mov.b32 %d32, {%a16, %b16};", 0x22221111, 0x1111, 0x2222},
      {"mov.b64 %d64, {%a32, %b32};", 0x2222222211111111, 0x11111111, 0x22222222},
      {"mov.b64 {%t32, %d32}, %a64;", 0x12345678, 0x123456789abcdef0},
      {"mov.b64 {%d32, _}, %a64;", 0x9abcdef0, 0x123456789abcdef0},
      {"mov.b32 {_, %d16}, %a32;", 0x1234, 0x12345678},
      {"mov.b64 %d64, {%a16, %b16, %c16, %a16};", 0x0001000300020001, 1, 2, 3},
      {"{ .reg .b128 %w; mov.b128 %w, {%a64, %b64}; mov.b128 {_, %d64}, %w; }", 22, 11, 22},
      {"mov.u32 %d32, WARP_SZ;", 32},
      {"mov.f32 %d32, 0f3f800000;", 0x3f800000},
      {"mov.f64 %d64, 0d3ff0000000000000;", 0x3ff0000000000000},
      {"mov.f64 %d64, 1.5;", 0x3ff8000000000000},
      {"mov.u32 %d32, -1;", 0xffffffff},
      {"mov.u32 %d32, 0x1F;", 31},
      {"mov.u32 %d32, 0b101;", 5},
      {"mov.u32 %d32, 017;", 15},
      {"mov.u32 %d32, 7U;", 7},
      {"selp.b32 %d32, %a32, %b32, %pc;", 5, 5, 6, 1},
      {"selp.b32 %d32, %a32, %b32, %pc;", 6, 5, 6, 0},
      {"selp.f64 %d64, %a64, %b64, %pc;", 5, 5, 6, 1},
      {"slct.u32.s32 %d32, %a32, %b32, %c32;", 6, 5, 6, 0x80000000},
      {"slct.u32.s32 %d32, %a32, %b32, %c32;", 5, 5, 6, 0},
      {"slct.u32.f32 %d32, %a32, %b32, %c32;", 5, 5, 6, 0x80000000},  // -0 is not below 0
      {"slct.u32.f32 %d32, %a32, %b32, %c32;", 6, 5, 6, 0x7fc00000},
      {"slct.ftz.u32.f32 %d32, %a32, %b32, %c32;", 5, 5, 6, 0x80000001},
      {"slct.u32.f32 %d32, %a32, %b32, %c32;", 6, 5, 6, 0x80000001},
  };
  expect_rows(rows);
}

TEST(PtxBits, GuardsLetInstructionsOut) {
  const Row rows[] = {
      {"mov.u32 %d32, 1; @%pa mov.u32 %d32, 2;", 2, 1},
      {"mov.u32 %d32, 1; @%pa mov.u32 %d32, 2;", 1, 0},
      {"mov.u32 %d32, 1; @!%pa mov.u32 %d32, 2;", 2, 0},
      {"mov.u32 %d32, 0; @%pa bra over; mov.u32 %d32, 3; over: add.u32 %d32, %d32, 1;", 1, 1},
      {"mov.u32 %d32, 0; @%pa bra over; mov.u32 %d32, 3; over: add.u32 %d32, %d32, 1;", 4, 0},
      {"t: .branchtargets x, y; brx.idx %a32, t; x: mov.u32 %d32, 10; bra.uni z; y: mov.u32 %d32, "
       "20; z:",
       20, 1},
  };
  expect_rows(rows);
}

}  // namespace
}  // namespace softcuda::ptx::testing
