// Integer instructions. Expected values follow from the definitions in the PTX manual, worked out
// by hand: two's complement, modulo the size.
#include <gtest/gtest.h>

#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

constexpr std::uint64_t minus_1 = ~std::uint64_t{0};
constexpr std::uint64_t smallest_64 = std::uint64_t{1} << 63;

TEST(PtxInteger, AddsAndSubtractsModuloTheSize) {
  const Row rows[] = {
      {"add.u32 %d32, %a32, %b32;", 0, 0xffffffff, 1},
      {"add.s32 %d32, %a32, %b32;", 0x80000000, 0x7fffffff, 1},
      {"add.s32 %d32, %a32, -3;", 2, 5},
      {"add.sat.s32 %d32, %a32, %b32;", 0x7fffffff, 0x7fffffff, 1},
      {"add.sat.s32 %d32, %a32, %b32;", 0x80000000, 0x80000000, 0xffffffff},
      {"add.u16 %d16, %a16, %b16;", 0x0001, 0xffff, 2},
      {"add.s64 %d64, %a64, %b64;", smallest_64, 0x7fffffffffffffff, 1},
      {"sub.u32 %d32, %a32, %b32;", 0xffffffff, 0, 1},
      {"sub.s64 %d64, %a64, %b64;", minus_1, 4, 5},
      {"sub.sat.s32 %d32, %a32, %b32;", 0x80000000, 0x80000000, 1},
      {"sub.s16 %d16, %a16, %b16;", 0x7fff, 0x8000, 1},
      {"add.u16x2 %d32, %a32, %b32;", 0x00000005, 0xffff0003, 0x00010002},
      {"neg.s32 %d32, %a32;", 0x80000000, 0x80000000},
      {"neg.s64 %d64, %a64;", minus_1, 1},
      {"neg.s16 %d16, %a16;", 0xfffe, 2},
      {"abs.s32 %d32, %a32;", 7, 0xfffffff9},
      {"abs.s32 %d32, %a32;", 0x80000000, 0x80000000},
      {"abs.s64 %d64, %a64;", 9, minus_1 - 8},
      {"abs.s16 %d16, %a16;", 3, 0xfffd},
  };
  expect_rows(rows);
}

TEST(PtxInteger, MultipliesToTheLowerHalfTheUpperHalfAndTheWhole) {
  const Row rows[] = {
      {"mul.lo.u32 %d32, %a32, %b32;", 0xfffe0001, 0xffff, 0xffff},
      {"mul.lo.s32 %d32, %a32, %b32;", 0xffffffeb, 0xfffffffd, 7},
      {"mul.hi.u32 %d32, %a32, %b32;", 0xfffffffe, 0xffffffff, 0xffffffff},
      {"mul.hi.s32 %d32, %a32, %b32;", 0, 0xffffffff, 0xffffffff},
      {"mul.hi.s32 %d32, %a32, %b32;", 0xffffffff, 0xffffffff, 5},
      {"mul.hi.s32 %d32, %a32, %b32;", 0x40000000, 0x80000000, 0x80000000},
      {"mul.hi.u64 %d64, %a64, %b64;", 0xfffffffffffffffe, minus_1, minus_1},
      {"mul.hi.s64 %d64, %a64, %b64;", minus_1, minus_1, 5},
      {"mul.lo.s64 %d64, %a64, %b64;", minus_1 - 20, minus_1 - 2, 7},
      {"mul.lo.u16 %d16, %a16, %b16;", 0xfe01, 0xff, 0xff},
      {"mul.hi.u16 %d16, %a16, %b16;", 0xfffe, 0xffff, 0xffff},
      {"mul.wide.u32 %d64, %a32, %b32;", 0xfffffffe00000001, 0xffffffff, 0xffffffff},
      {"mul.wide.s32 %d64, %a32, %b32;", 1, 0xffffffff, 0xffffffff},
      {"mul.wide.s32 %d64, %a32, 4;", minus_1 - 7, 0xfffffffe},
      {"mul.wide.u16 %d32, %a16, %b16;", 0xfffe0001, 0xffff, 0xffff},
      {"mul.wide.s16 %d32, %a16, %b16;", 0xffff8000, 0x8000, 1},
      {"mad.lo.s32 %d32, %a32, %b32, %c32;", 0xfffffffb, 0xfffffffd, 4, 7},
      {"mad.lo.u64 %d64, %a64, %b64, %c64;", 11, 2, 3, 5},
      {"mad.hi.u32 %d32, %a32, %b32, %c32;", 3, 0x80000000, 4, 1},
      {"mad.hi.sat.s32 %d32, %a32, %b32, %c32;", 0x7fffffff, 0x40000000, 4, 0x7fffffff},
      {"mad.wide.u32 %d64, %a32, %b32, %c64;", 0xffffffff00000000, 0xffffffff, 0xffffffff,
       0xffffffff},
      {"mad.wide.s32 %d64, %a32, %b32, %c64;", 4, 0xffffffff, 6, 10},
      {"mul24.lo.u32 %d32, %a32, %b32;", 0x00000001, 0xff000001, 0x01000001},
      {"mul24.lo.s32 %d32, %a32, %b32;", 0xffffffff, 0x00ffffff, 1},
      {"mul24.hi.u32 %d32, %a32, %b32;", 0xfffffe00, 0x00ffffff, 0x00ffffff},
      {"mad24.lo.u32 %d32, %a32, %b32, %c32;", 17, 3, 4, 5},
  };
  expect_rows(rows);
}

TEST(PtxInteger, DividesTowardsZero) {
  const Row rows[] = {
      {"div.s32 %d32, %a32, %b32;", 0xfffffffd, 0xfffffff9, 2},
      {"rem.s32 %d32, %a32, %b32;", 0xffffffff, 0xfffffff9, 2},
      {"rem.s32 %d32, %a32, %b32;", 1, 7, 0xfffffffe},
      {"div.u32 %d32, %a32, %b32;", 0x7ffffffc, 0xfffffff9, 2},
      {"div.s32 %d32, %a32, %b32;", 0x80000000, 0x80000000, 0xffffffff},
      {"rem.s32 %d32, %a32, %b32;", 0, 0x80000000, 0xffffffff},
      {"div.s64 %d64, %a64, %b64;", smallest_64, smallest_64, minus_1},
      {"div.u64 %d64, %a64, %b64;", 0x1999999999999999, minus_1, 10},
      {"rem.u64 %d64, %a64, %b64;", 5, minus_1, 10},
      {"rem.s64 %d64, %a64, %b64;", minus_1 - 1, minus_1 - 7, 6},
      {"div.s16 %d16, %a16, %b16;", 0xfffd, 0xfff9, 2},
      {"rem.u16 %d16, %a16, %b16;", 1, 7, 2},
      // By zero is undefined; devices give all ones for both.
      {"div.u32 %d32, %a32, %b32;", 0xffffffff, 9, 0},
      {"rem.u32 %d32, %a32, %b32;", 0xffffffff, 9, 0},
      {"rem.s32 %d32, %a32, %b32;", 0xffffffff, 9, 0},
      {"rem.s64 %d64, %a64, %b64;", minus_1, 9, 0},
      {"rem.u16 %d16, %a16, %b16;", 0xffff, 9, 0},
  };
  expect_rows(rows);
}

TEST(PtxInteger, ComparesByTheSignOfTheType) {
  const Row rows[] = {
      {"min.s32 %d32, %a32, %b32;", 0xffffffff, 0xffffffff, 1},
      {"min.u32 %d32, %a32, %b32;", 1, 0xffffffff, 1},
      {"max.s32 %d32, %a32, %b32;", 1, 0xffffffff, 1},
      {"max.u32 %d32, %a32, %b32;", 0xffffffff, 0xffffffff, 1},
      {"max.s64 %d64, %a64, %b64;", 1, minus_1, 1},
      {"max.u64 %d64, %a64, %b64;", minus_1, minus_1, 1},
      {"min.s16 %d16, %a16, %b16;", 0xffff, 0xffff, 1},
      {"max.s16x2 %d32, %a32, %b32;", 0x00010005, 0xffff0005, 0x00010003},
      {"max.u16x2 %d32, %a32, %b32;", 0xffff0005, 0xffff0005, 0x00010003},
      {"max.relu.s16x2 %d32, %a32, %b32;", 0x00000003, 0xffff0001, 0xfffe0003},
      {"max.s32.relu %d32, %a32, %b32;", 0, 0xfffffffd, 0xffffffff},
      {"max.relu.s32 %d32, %a32, %b32;", 7, 0xfffffffd, 7},
      {"min.relu.s32 %d32, %a32, %b32;", 0, 0xfffffffe, 5},
      {"sad.s32 %d32, %a32, %b32, %c32;", 13, 0xfffffffe, 1, 10},
      // |2^32 - 2 - 1| + 10 = 2^32 + 7
      {"sad.u32 %d32, %a32, %b32, %c32;", 7, 0xfffffffe, 1, 10},
      {"sad.u64 %d64, %a64, %b64, %c64;", 9, 3, 8, 4},
  };
  expect_rows(rows);
}

TEST(PtxInteger, AddsProductsOfBytes) {
  const Row rows[] = {
      // 1*5 + 2*6 + 3*7 + 4*8 + 100
      {"dp4a.u32.u32 %d32, %a32, %b32, %c32;", 170, 0x04030201, 0x08070605, 100},
      // -1*1 + 1*-1 + 0 + 0
      {"dp4a.s32.s32 %d32, %a32, %b32, %c32;", 0xfffffffe, 0x000001ff, 0x0000ff01, 0},
      // 255*1 + 1*-1
      {"dp4a.u32.s32 %d32, %a32, %b32, %c32;", 254, 0x000001ff, 0x0000ff01, 0},
      // 2*3 + 1*4, then the upper bytes: 2*5 + 1*6
      {"dp2a.lo.u32.u32 %d32, %a32, %b32, %c32;", 11, 0x00010002, 0x06050403, 1},
      {"dp2a.hi.u32.u32 %d32, %a32, %b32, %c32;", 17, 0x00010002, 0x06050403, 1},
      {"vabsdiff4.u32.u32.u32 %d32, %a32, %b32, %c32;", 0x01fe0203, 0x05ff0300, 0x04010103, 9},
      {"vabsdiff4.u32.u32.u32.add %d32, %a32, %b32, %c32;", 0x01 + 0xfe + 0x02 + 0x03 + 9,
       0x05ff0300, 0x04010103, 9},
      {"dp2a.lo.s32.s32 %d32, %a32, %b32, %c32;", 0xffffffff, 0x0000ffff, 0x00000001, 0},
  };
  expect_rows(rows);
}

TEST(PtxInteger, CarriesFromOneInstructionToTheNext) {
  const Row rows[] = {
      {"add.cc.u32 %t32, %a32, %b32; addc.u32 %d32, %c32, 0;", 8, 0xffffffff, 1, 7},
      {"add.cc.u32 %t32, %a32, %b32; addc.u32 %d32, %c32, 0;", 7, 0xfffffffe, 1, 7},
      {"sub.cc.u32 %t32, %a32, %b32; subc.u32 %d32, %c32, 0;", 6, 0, 1, 7},
      {"sub.cc.u32 %t32, %a32, %b32; subc.u32 %d32, %c32, 0;", 7, 1, 1, 7},
      {"sub.cc.u64 %d64, %a64, %b64; subc.u64 %d64, %c64, 0;", 6, 0, 1, 7},
      {"sub.cc.u32 %t32, %a32, 1; subc.cc.u32 %t32, %b32, 0; subc.u32 %d32, %c32, 0;", 6, 0, 0, 7},
      // One flag for both: the carry of a + ~b + 1, which is 1 where nothing is borrowed.
      {"sub.cc.u32 %t32, %a32, %b32; addc.u32 %d32, 0, 0;", 1, 5, 3},
      {"sub.cc.u32 %t32, %a32, %b32; addc.u32 %d32, 0, 0;", 0, 3, 5},
      {"sub.cc.u64 %d64, %a64, %b64; addc.u64 %d64, 0, 0;", 1, 5, 5},
      {"add.cc.u32 %t32, %a32, %b32; subc.u32 %d32, 0, 0;", 0, 0xffffffff, 1},
      {"add.cc.u32 %t32, %a32, %b32; subc.u32 %d32, 0, 0;", 0xffffffff, 1, 1},
      {"sub.cc.u32 %t32, %a32, %b32; madc.lo.u32 %d32, %c32, 2, 0;", 15, 5, 3, 7},
      {"add.cc.u64 %d64, %a64, %b64; addc.u64 %d64, %c64, 0;", 8, minus_1, 1, 7},
      // 0x80000000 * 2 = 2^32: the lower half is 0, plus 0xffffffff carries nothing; plus 1 more
      // does.
      {"mad.lo.cc.u32 %t32, %a32, %b32, %c32; madc.hi.u32 %d32, %a32, %b32, 0;", 1, 0x80000000, 2,
       0xffffffff},
      {"mad.lo.cc.u32 %t32, %a32, %b32, %c32; madc.hi.u32 %d32, %a32, %b32, 0;", 3, 0xffffffff, 3,
       3},
      {"mad.lo.cc.u32 %t32, %a32, %b32, %c32; addc.u32 %d32, 0, 0;", 1, 0xffffffff, 1, 1},
      {"add.cc.u32 %t32, %a32, 1; addc.cc.u32 %t32, %b32, 0; addc.u32 %d32, 0, 0;", 1, 0xffffffff,
       0xffffffff},
  };
  expect_rows(rows);
}

}  // namespace
}  // namespace softcuda::ptx::testing
