// Loads, stores, atomics, state spaces, calls. Expected values follow from the PTX manual.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "proto/text.hpp"
#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

// Runs `body` with %p at 16 words that hold 1, 2, .. 16, and gives the words after.
std::vector<std::uint32_t> words_after(std::string_view body, std::string_view before = {}) {
  Device device{lyk::str(header, before, R"(
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 p)
{
  .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>, %p; .reg .b128 %w<3>; .reg .pred %q;
  .reg .f32 %f<9>;
  .shared .align 16 .b8 buffer[64];
  .local .align 16 .b8 own[32];
  ld.param.u64 %p, [p];
)",
                         body, "\n}\n")};
  std::vector<std::uint32_t> words(16);
  for (std::uint32_t i = 0; i < 16; ++i)
    words[i] = i + 1;
  const Address array = device.put(words);
  Launch launch;
  launch.dynamic_shared_bytes = 32;
  launch.checks.uninitialised = true;
  device.run_well("k", launch, Arguments{array});
  return device.get<std::uint32_t>(array, 16);
}

std::uint32_t word_after(std::string_view body, std::string_view before = {}) {
  return words_after(body, before)[0];
}

TEST(PtxAccess, LoadsExtendToTheRegister) {
  EXPECT_EQ(word_after("st.global.u32 [%p], 0x80ff; ld.global.s8 %r1, [%p]; st.global.u32 [%p], "
                       "%r1;"),
            0xffffffffU);
  EXPECT_EQ(word_after("st.global.u32 [%p], 0x80ff; ld.global.u8 %r1, [%p]; st.global.u32 [%p], "
                       "%r1;"),
            0xffU);
  EXPECT_EQ(word_after("st.global.u32 [%p], 0x80ff; ld.global.s16 %r1, [%p]; st.global.u32 [%p], "
                       "%r1;"),
            0xffff80ffU);
  EXPECT_EQ(
      word_after("st.global.u32 [%p], 0x80ff; ld.global.s8 %h1, [%p]; mov.b32 %r1, {%h1, %h1}; "
                 "st.global.u32 [%p], %r1;"),
      0xffffffffU);
  EXPECT_EQ(word_after("mov.u32 %r1, 0x12345678; st.global.u8 [%p+1], %r1;"), 0x7801U);
}

TEST(PtxAccess, AddressesInNarrowRegistersWrapAt32Bits) {
  EXPECT_EQ(word_after("mov.u32 %r1, buffer; sub.u32 %r1, %r1, 8; st.shared.u32 [%r1+12], 5; "
                       "ld.shared.u32 %r2, [buffer+4]; st.global.u32 [%p], %r2;"),
            5U);
  EXPECT_EQ(word_after("mov.u32 %r1, 0xfffffff8; st.local.v2.u32 [%r1+8], {6, 7}; "
                       "ld.local.u32 %r2, [%r1+12]; st.global.u32 [%p], %r2;"),
            7U);
  EXPECT_EQ(word_after("mov.u32 %r1, 0xfffffff8; st.shared.u32 [buffer], 8; "
                       "atom.shared.add.u32 %r2, [%r1+8], 1; st.global.u32 [%p], %r2;"),
            8U);
}

TEST(PtxAccess, VectorsMoveAllTheirElements) {
  const std::vector<std::uint32_t> swapped = words_after(
      "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%p]; st.global.v4.u32 [%p], {%r4, %r3, %r2, %r1};");
  EXPECT_EQ(std::vector<std::uint32_t>(swapped.begin(), swapped.begin() + 5),
            (std::vector<std::uint32_t>{4, 3, 2, 1, 5}));
  EXPECT_EQ(words_after("ld.global.nc.v2.u64 {%rd1, %rd2}, [%p+16]; st.global.v2.b64 [%p], {%rd2, "
                        "%rd1};")[0],
            7U);
  EXPECT_EQ(words_after("ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%p]; "
                        "st.global.u32 [%p], %r8;")[0],
            8U);
  EXPECT_EQ(words_after("ld.global.v2.u16 {%h1, %h2}, [%p]; st.global.v2.u16 [%p], {%h2, %h1};")[0],
            0x10000U);
  EXPECT_EQ(words_after("ld.global.b128 %w1, [%p+32]; st.global.b128 [%p], %w1;")[3], 12U);
}

TEST(PtxAccess, CachingAndOrderingWordsAreTaken) {
  EXPECT_EQ(word_after("ld.global.L1::evict_last.L2::128B.u32 %r1, [%p+4]; st.global.wt.u32 [%p], "
                       "%r1;"),
            2U);
  EXPECT_EQ(word_after("ld.acquire.gpu.global.u32 %r1, [%p+8]; st.release.sys.global.u32 [%p], "
                       "%r1;"),
            3U);
  EXPECT_EQ(word_after("ld.volatile.u32 %r1, [%p+8]; st.relaxed.cta.u32 [%p], %r1;"), 3U);
  EXPECT_EQ(
      word_after("prefetch.global.L2 [%p]; prefetchu.L1 [%p]; fence.acq_rel.gpu; membar.cta;"), 1U);
  EXPECT_EQ(word_after("mov.u64 %rd1, 0; ld.global.L2::cache_hint.u32 %r1, [%p+4], %rd1; "
                       "st.global.u32 [%p], %r1;"),
            2U);
}

TEST(PtxAccess, EverySpaceHasItsGenericWindow) {
  EXPECT_EQ(word_after("st.shared.u32 [buffer+4], 77; mov.u64 %rd1, buffer; cvta.shared.u64 %rd2, "
                       "%rd1; ld.u32 %r1, [%rd2+4]; st.global.u32 [%p], %r1;"),
            77U);
  EXPECT_EQ(word_after("mov.u64 %rd1, own; cvta.local.u64 %rd2, %rd1; st.u32 [%rd2+8], 78; "
                       "ld.local.u32 %r1, [own+8]; st.global.u32 [%p], %r1;"),
            78U);
  EXPECT_EQ(
      word_after("mov.u64 %rd1, buffer; cvta.shared.u64 %rd2, %rd1; isspacep.shared %q, %rd2; "
                 "selp.u32 %r1, 1, 0, %q; isspacep.global %q, %rd2; selp.u32 %r2, 2, 0, %q; "
                 "or.b32 %r1, %r1, %r2; st.global.u32 [%p], %r1;"),
      1U);
  EXPECT_EQ(
      word_after("mov.b64 %rd1, p; cvta.param.u64 %rd2, %rd1; ld.u64 %rd3, [%rd2]; setp.eq.u64 "
                 "%q, %rd3, %p; selp.u32 %r1, 5, 6, %q; st.global.u32 [%p], %r1;"),
      5U);
  EXPECT_EQ(word_after("mov.u64 %rd1, buffer; cvta.shared.u64 %rd2, %rd1; cvta.to.shared.u64 %rd3, "
                       "%rd2; cvt.u32.u64 %r2, %rd3; st.shared.u32 [%r2], 79; ld.shared.u32 %r1, "
                       "[buffer]; st.global.u32 [%p], %r1;"),
            79U);
}

TEST(PtxAccess, DynamicSharedMemoryLiesBehindTheStatic) {
  EXPECT_EQ(word_after("mov.u32 %r1, dynamic; st.shared.u32 [%r1+28], 3; mov.u32 %r2, "
                       "%dynamic_smem_size; mov.u32 %r3, %total_smem_size; shl.b32 %r2, %r2, 8; "
                       "shl.b32 %r3, %r3, 16; or.b32 %r1, %r1, %r2; or.b32 %r1, %r1, %r3; "
                       "st.global.u32 [%p], %r1;"),
            64U | 32U << 8 | 96U << 16);
}

TEST(PtxAccess, VariablesHoldWhatTheTextGives) {
  constexpr std::string_view variables = R"(
.global .align 4 .b8 bytes[6] = {1, 2, 3, 4, 5};
.const .align 4 .f32 numbers[2] = {0f3f800000, -2.0};
.global .align 8 .u64 pointer = generic(bytes)+4;
.global .align 4 .u32 nothing[2];
)";
  EXPECT_EQ(word_after("ld.global.u32 %r1, [bytes]; st.global.u32 [%p], %r1;", variables),
            0x04030201U);
  EXPECT_EQ(word_after("ld.const.f32 %f1, [numbers+4]; st.global.f32 [%p], %f1;", variables),
            0xc0000000U);
  EXPECT_EQ(word_after("ld.global.u64 %rd1, [pointer]; ld.u8 %r1, [%rd1]; st.global.u32 [%p], %r1;",
                       variables),
            5U);
  EXPECT_EQ(word_after("ld.global.u32 %r1, [nothing+4]; st.global.u32 [%p], %r1;", variables), 0U);
}

TEST(PtxAccess, AtomicsGiveTheOldValueAndChangeIt) {
  struct Case {
    const char* code;
    std::uint32_t old;
    std::uint32_t changed;
  };
  // The word holds 1.
  const Case cases[] = {
      {"atom.global.add.u32 %r1, [%p], 4;", 1, 5},
      {"atom.global.add.s32 %r1, [%p], -4;", 1, 0xfffffffd},
      {"atom.global.min.s32 %r1, [%p], -4;", 1, 0xfffffffc},
      {"atom.global.min.u32 %r1, [%p], -4;", 1, 1},
      {"atom.global.max.u32 %r1, [%p], 9;", 1, 9},
      {"atom.global.and.b32 %r1, [%p], 2;", 1, 0},
      {"atom.global.or.b32 %r1, [%p], 2;", 1, 3},
      {"atom.global.xor.b32 %r1, [%p], 3;", 1, 2},
      {"atom.global.exch.b32 %r1, [%p], 8;", 1, 8},
      {"atom.global.cas.b32 %r1, [%p], 1, 8;", 1, 8},
      {"atom.global.cas.b32 %r1, [%p], 2, 8;", 1, 1},
      {"atom.global.inc.u32 %r1, [%p], 5;", 1, 2},
      {"atom.global.inc.u32 %r1, [%p], 1;", 1, 0},
      {"atom.global.dec.u32 %r1, [%p], 5;", 1, 0},
      {"atom.global.dec.u32 %r1, [%p], 0;", 1, 0},
      {"atom.acq_rel.gpu.global.add.u32 %r1, [%p], 4;", 1, 5},
      {"atom.add.u32 %r1, [%p], 4;", 1, 5},
      {"red.relaxed.sys.global.add.u32 [%p], 4; mov.u32 %r1, 1;", 1, 5},
      {"st.global.f32 [%p], 0f3f800000; atom.global.add.f32 %r1, [%p], 0f3f000000;", 0x3f800000,
       0x3fc00000},
      // 1 + 2^-11 keeps 1, 1 + 1 gives 2.
      {"st.global.u32 [%p], 0x3c003c00; mov.b32 %r2, 0x10003c00; atom.global.add.noftz.f16x2 %r1, "
       "[%p], %r2;",
       0x3c003c00, 0x3c004000},
      {"st.global.u32 [%p], 0x3f803f80; mov.b32 %r2, 0x3b803f80; atom.add.noftz.bf16x2 %r1, [%p], "
       "%r2;",
       0x3f803f80, 0x3f804000},
      {"mov.u16 %h2, 1; mov.u16 %h3, 7; atom.global.cas.b16 %h1, [%p], %h2, %h3; cvt.u32.u16 %r1, "
       "%h1;",
       1, 7},
  };
  for (const Case& own : cases) {
    const std::vector<std::uint32_t> words =
        words_after(lyk::str(own.code, " st.global.u32 [%p+4], %r1;"));
    EXPECT_EQ(words[1], own.old) << own.code;
    EXPECT_EQ(words[0], own.changed) << own.code;
  }
}

TEST(PtxAccess, AtomicSumsInGlobalMemoryFlushSubnormalNumbers) {
  constexpr std::string_view global_sums =
      "st.global.v2.u32 [%p], {0x00000001, 0x80000003}; mov.b32 %f1, 0x80000002; "
      "red.global.add.f32 [%p], %f1; red.add.f32 [%p+4], %f1;";
  EXPECT_EQ(words_after(global_sums)[0], 0U);
  EXPECT_EQ(words_after(global_sums)[1], 0x80000000U);
  // Normal numbers whose difference is not.
  EXPECT_EQ(word_after("st.global.u32 [%p], 0x00800001; mov.b32 %f1, 0x80800000; "
                       "red.global.add.f32 [%p], %f1;"),
            0U);
  constexpr std::string_view shared_sums =
      "st.shared.u32 [buffer], 1; mov.b32 %f1, 2; red.shared.add.f32 [buffer], %f1; "
      "mov.u64 %rd1, buffer; cvta.shared.u64 %rd1, %rd1; red.add.f32 [%rd1], %f1; "
      "ld.shared.u32 %r1, [buffer]; st.global.u32 [%p], %r1;";
  EXPECT_EQ(word_after(shared_sums), 5U);
}

TEST(PtxAccess, AtomicsOfEightBytesAndMore) {
  EXPECT_EQ(words_after("atom.global.add.u64 %rd1, [%p], 0xffffffff;")[1], 3U);
  EXPECT_EQ(words_after("st.global.f64 [%p], 1.0; atom.global.add.f64 %rd1, [%p], 1.0;")[1],
            0x40000000U);
  EXPECT_EQ(words_after("ld.global.b64 %rd1, [%p]; atom.global.cas.b64 %rd2, [%p], %rd1, 9;")[0],
            9U);
  EXPECT_EQ(
      words_after("ld.global.b128 %w1, [%p]; ld.global.b128 %w2, [%p+16]; atom.global.cas.b128 "
                  "%w0, [%p], %w1, %w2;")[3],
      8U);
  EXPECT_EQ(words_after("ld.global.b128 %w2, [%p+16]; atom.global.exch.b128 %w0, [%p], %w2; "
                        "st.global.b128 [%p+32], %w0;")[8],
            1U);
  EXPECT_EQ(
      words_after("st.global.v2.f32 [%p], {0f3f800000, 0f40000000}; red.global.add.v2.f32 [%p], "
                  "{0f3f800000, 0f3f800000};")[1],
      0x40400000U);
  EXPECT_EQ(words_after("st.shared.u32 [buffer], 5; atom.shared.add.u32 %r1, [buffer], 6; "
                        "ld.shared.u32 %r2, [buffer]; st.global.u32 [%p], %r2;")[0],
            11U);
}

constexpr std::string_view functions = R"(
.func (.param .b32 result) sum_to(.param .b32 n)
{
  .reg .b32 %r<5>; .reg .pred %p;
  .local .align 4 .b8 kept[4];
  ld.param.u32 %r1, [n];
  st.local.u32 [kept], %r1;
  setp.eq.u32 %p, %r1, 0;
  mov.u32 %r2, 0;
  @%p bra done;
  sub.u32 %r2, %r1, 1;
  { .param .b32 a; st.param.b32 [a+0], %r2; .param .b32 v; call.uni (v), sum_to, (a);
    ld.param.b32 %r2, [v+0]; }
  ld.local.u32 %r3, [kept];
  add.u32 %r2, %r2, %r3;
done:
  st.param.b32 [result+0], %r2;
  ret;
}
.func (.param .align 8 .b8 result[16]) twice(.param .align 8 .b8 value[16])
{
  .reg .b64 %rd<5>;
  ld.param.v2.u64 {%rd1, %rd2}, [value];
  add.u64 %rd1, %rd1, %rd1;
  add.u64 %rd2, %rd2, %rd2;
  st.param.v2.b64 [result], {%rd1, %rd2};
}
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
)";

TEST(PtxAccess, FunctionsCallThemselvesWithTheirOwnMemory) {
  EXPECT_EQ(
      word_after("{ .param .b32 a; st.param.b32 [a], 100; .param .b32 v; call.uni (v), sum_to, "
                 "(a); ld.param.b32 %r1, [v]; } st.global.u32 [%p], %r1;",
                 functions),
      5050U);
}

TEST(PtxAccess, FunctionsTakeAndGiveStructures) {
  EXPECT_EQ(words_after(
                "{ .param .align 8 .b8 a[16]; ld.global.v2.u64 {%rd1, %rd2}, [%p]; st.param.v2.b64 "
                "[a], {%rd1, %rd2}; .param .align 8 .b8 v[16]; call.uni (v), twice, (a); "
                "ld.param.b64 %rd3, [v+8]; } st.global.u64 [%p], %rd3;",
                functions)[1],
            8U);
}

TEST(PtxAccess, FunctionsAreCalledThroughAddresses) {
  EXPECT_EQ(
      word_after("proto: .callprototype (.param .b32 _) _ (.param .b32 _); mov.u64 %rd1, sum_to; { "
                 ".param .b32 a; st.param.b32 [a], 4; .param .b32 v; call (v), %rd1, (a), proto; "
                 "ld.param.b32 %r1, [v]; } st.global.u32 [%p], %r1;",
                 functions),
      10U);
}

TEST(PtxAccess, PrintingPrintsNothingAndSaysSo) {
  EXPECT_EQ(
      word_after("{ .param .b64 a; st.param.b64 [a], %p; .param .b64 b; st.param.b64 [b], %p; "
                 ".param .b32 v; call.uni (v), vprintf, (a, b); ld.param.b32 %r1, [v]; } "
                 "st.global.u32 [%p], %r1;",
                 functions),
      0U);
}

TEST(PtxAccess, TooDeepCallsOverflowTheStack) {
  Device device{lyk::str(header, R"(
.func endless() { call.uni endless; }
.visible .entry k() { call.uni endless; })")};
  const auto fault = device.run("k", {}, Arguments{});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::stack_overflow);
}

TEST(PtxAccess, KernelsOfTwoThreadsLoseNoUpdates) {
  Device device{lyk::str(header, R"(
.visible .entry k(.param .u64 p)
{
  .reg .b64 %p; .reg .b32 %r; .reg .pred %q;
  ld.param.u64 %p, [p];
  mov.u32 %r, 0;
again:
  red.global.add.u32 [%p], 1;
  add.u32 %r, %r, 1;
  setp.lt.u32 %q, %r, 1000;
  @%q bra again;
})")};
  const Address counter = device.put(std::vector<std::uint32_t>{0});
  Launch launch;
  launch.block.x = 32;
  const auto work = [&] { device.run_well("k", launch, Arguments{counter}); };
  std::thread other{work};
  work();
  other.join();
  EXPECT_EQ(device.get<std::uint32_t>(counter, 1)[0], 64'000U);
}

TEST(PtxAccess, PlacesAreThoseOfTheLaunch) {
  Device device{lyk::str(header, R"(
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<9>; .reg .b64 %p, %rd;
  ld.param.u64 %p, [p];
  mov.u32 %r5, %ctaid.x; mov.u32 %r6, %tid.y; mov.u32 %r7, %tid.x;
  mov.u32 %r1, %ctaid.y; mov.u32 %r2, %nctaid.x; mad.lo.u32 %r1, %r1, %r2, %r5;
  mov.u32 %r3, %ntid.y; mad.lo.u32 %r1, %r1, %r3, %r6;
  mov.u32 %r4, %ntid.x; mad.lo.u32 %r1, %r1, %r4, %r7;
  mad.wide.u32 %rd, %r1, 4, %p; st.global.u32 [%rd], %r1;
})")};
  Launch launch;
  launch.grid = {3, 2, 1};
  launch.block = {4, 5, 1};
  const Address out = device.allocate<std::uint32_t>(120);
  device.run_well("k", launch, Arguments{out});
  const std::vector<std::uint32_t> words = device.get<std::uint32_t>(out, 120);
  for (std::uint32_t i = 0; i < 120; ++i)
    EXPECT_EQ(words[i], i);
}

// Two blocks of 32 threads. Each loads 4 and 16 bytes, stores 8 and adds 4 bytes atomically in one
// way and 4 in another; shared memory, local memory and parameters are none of it.
TEST(PtxAccess, CountsTheBytesThatALaunchMovesInGlobalMemory) {
  Device device{lyk::str(header, R"(
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<9>; .reg .b64 %rd<9>, %p;
  .shared .align 16 .b8 buffer[256];
  ld.param.u64 %p, [p];
  ld.global.u32 %r0, [%p];
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%p];
  mov.u32 %r5, %tid.x;
  mov.u64 %rd0, buffer;
  mad.wide.u32 %rd1, %r5, 8, %rd0;
  st.shared.u64 [%rd1], %rd0;
  ld.shared.u64 %rd2, [%rd1];
  mov.u32 %r6, %ctaid.x;
  mad.lo.u32 %r7, %r6, 32, %r5;
  mad.wide.u32 %rd3, %r7, 8, %p;
  st.global.u64 [%rd3+32], %rd2;
  atom.global.add.u32 %r8, [%p+16], 1;
  red.add.u32 [%p+20], 1;
  ret;
})")};
  const Address array = device.put(std::vector<std::uint32_t>(8 + 2 * 64));
  Traffic traffic;
  Launch launch;
  launch.grid.x = 2;
  launch.block.x = 32;
  launch.traffic = &traffic;
  device.run_well("k", launch, Arguments{array});
  EXPECT_EQ(traffic, (Traffic{.loaded = 64 * 20, .stored = 64 * 8, .atomic = 64 * 8}));
  device.run_well("k", launch, Arguments{array});
  EXPECT_EQ(traffic.bytes(), 2U * 64 * 36);
}

}  // namespace
}  // namespace softcuda::ptx::testing
