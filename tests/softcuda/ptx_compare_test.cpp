// setp and set. Expected values follow from the PTX manual: the comparisons that end in u hold for
// NaN, the others but `nan` do not.
#include <gtest/gtest.h>

#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

constexpr std::uint64_t one = 0x3f800000;
constexpr std::uint64_t two = 0x40000000;
constexpr std::uint64_t nan = 0x7fc00000;

TEST(PtxCompare, ComparesIntegersBySign) {
  const Row rows[] = {
      {"setp.eq.s32 %pd, %a32, %b32;", 1, 5, 5},
      {"setp.ne.s32 %pd, %a32, %b32;", 0, 5, 5},
      {"setp.lt.s32 %pd, %a32, %b32;", 1, 0xffffffff, 0},
      {"setp.lt.u32 %pd, %a32, %b32;", 0, 0xffffffff, 0},
      {"setp.lo.u32 %pd, %a32, %b32;", 0, 0xffffffff, 0},
      {"setp.ls.u32 %pd, %a32, %b32;", 1, 3, 3},
      {"setp.hi.u32 %pd, %a32, %b32;", 1, 0xffffffff, 0},
      {"setp.hs.u32 %pd, %a32, %b32;", 1, 3, 3},
      {"setp.le.s64 %pd, %a64, %b64;", 1, ~std::uint64_t{0}, 0},
      {"setp.gt.u64 %pd, %a64, %b64;", 1, ~std::uint64_t{0}, 0},
      {"setp.ge.s16 %pd, %a16, %b16;", 0, 0xffff, 0},
      {"setp.gt.u16 %pd, %a16, %b16;", 1, 0xffff, 0},
      {"setp.eq.b32 %pd, %a32, %b32;", 1, 5, 5},
  };
  expect_rows(rows);
}

TEST(PtxCompare, ComparesFloatsWithAndWithoutOrder) {
  const Row rows[] = {
      {"setp.eq.f32 %pd, %a32, %b32;", 1, 0, 0x80000000},
      {"setp.ne.f32 %pd, %a32, %b32;", 0, nan, one},
      {"setp.neu.f32 %pd, %a32, %b32;", 1, nan, one},
      {"setp.equ.f32 %pd, %a32, %b32;", 1, nan, one},
      {"setp.equ.f32 %pd, %a32, %b32;", 0, two, one},
      {"setp.lt.f32 %pd, %a32, %b32;", 1, one, two},
      {"setp.lt.f32 %pd, %a32, %b32;", 0, nan, two},
      {"setp.ltu.f32 %pd, %a32, %b32;", 1, nan, two},
      {"setp.ltu.f32 %pd, %a32, %b32;", 0, two, two},
      {"setp.leu.f32 %pd, %a32, %b32;", 1, two, two},
      {"setp.leu.f32 %pd, %a32, %b32;", 0, two, one},
      {"setp.gtu.f32 %pd, %a32, %b32;", 1, one, nan},
      {"setp.geu.f32 %pd, %a32, %b32;", 0, one, two},
      {"setp.num.f32 %pd, %a32, %b32;", 1, one, two},
      {"setp.num.f32 %pd, %a32, %b32;", 0, one, nan},
      {"setp.nan.f32 %pd, %a32, %b32;", 1, one, nan},
      {"setp.lt.f32 %pd, %a32, %b32;", 1, 0, 1},
      {"setp.lt.ftz.f32 %pd, %a32, %b32;", 0, 0, 1},
      {"setp.gt.f64 %pd, %a64, %b64;", 1, 0x4000000000000000, 0x3ff0000000000000},
      {"setp.geu.f64 %pd, %a64, %b64;", 1, 0x7ff8000000000000, 0x3ff0000000000000},
      {"setp.lt.f16 %pd, %a16, %b16;", 1, 0x3c00, 0x4000},
      {"setp.gtu.bf16 %pd, %a16, %b16;", 1, 0x7fc0, 0x3f80},
      {"setp.eq.f16x2 %pd|%qd, %a32, %b32;", 1, 0x3c004000, 0x40004000},
      {"setp.eq.f16x2 %qd|%pd, %a32, %b32;", 0, 0x3c004000, 0x40004000},
  };
  expect_rows(rows);
}

TEST(PtxCompare, JoinsWithAPredicateAndGivesTheOpposite) {
  const Row rows[] = {
      {"setp.eq.and.s32 %pd, %a32, %b32, %pc;", 1, 5, 5, 1},
      {"setp.eq.and.s32 %pd, %a32, %b32, %pc;", 0, 5, 5, 0},
      {"setp.eq.and.s32 %pd, %a32, %b32, !%pc;", 1, 5, 5, 0},
      {"setp.eq.or.s32 %pd, %a32, %b32, %pc;", 1, 5, 6, 1},
      {"setp.eq.xor.s32 %pd, %a32, %b32, %pc;", 0, 5, 5, 1},
      {"setp.eq.s32 %qd|%pd, %a32, %b32;", 0, 5, 5},
      {"setp.eq.and.s32 %qd|%pd, %a32, %b32, %pc;", 1, 5, 6, 1},
      {"setp.lt.and.ftz.f32 %pd, %a32, %b32, %pc;", 1, one, two, 1},
  };
  expect_rows(rows);
}

TEST(PtxCompare, SetsAllOnesOrOne) {
  const Row rows[] = {
      {"set.lt.u32.s32 %d32, %a32, %b32;", 0xffffffff, 0xffffffff, 0},
      {"set.lt.u32.s32 %d32, %a32, %b32;", 0, 1, 0},
      {"set.gt.f32.f32 %d32, %a32, %b32;", one, two, one},
      {"set.gtu.f32.f32 %d32, %a32, %b32;", one, nan, one},
      {"set.eq.and.u32.s32 %d32, %a32, %b32, %pc;", 0, 5, 5, 0},
      {"set.ge.f16x2.f16x2 %d32, %a32, %b32;", 0x3c000000, 0x40003c00, 0x40004000},
      {"set.eq.u32.f16x2 %d32, %a32, %b32;", 0xffff0000, 0x40003c00, 0x40004000},
      {"set.lt.bf16.bf16 %d16, %a16, %b16;", 0x3f80, 0x3f80, 0x4000},
  };
  expect_rows(rows);
}

}  // namespace
}  // namespace softcuda::ptx::testing
