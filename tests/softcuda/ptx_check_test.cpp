// What the machine watches: addresses, alignment, bytes that nobody wrote, races, barriers that
// never complete.
#include <gtest/gtest.h>

#include <string>

#include "proto/text.hpp"
#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

constexpr Checks all_checks{.race = true, .uninitialised = true};

// One kernel `k` that gets an address in %p and its thread's number in %t and %tw (four bytes
// each).
std::string kernel(std::string_view body) {
  return lyk::str(header, R"(
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<9>, %t; .reg .b64 %rd<9>, %p, %tw; .reg .pred %q, %first;
  .shared .align 16 .b8 buffer[512];
  ld.param.u64 %p, [p];
  mov.u32 %t, %tid.x;
  setp.eq.u32 %first, %t, 0;
  mad.wide.u32 %tw, %t, 4, %p;
  mov.u64 %rd0, buffer;
  mad.wide.u32 %rd8, %t, 4, %rd0;
)",
                  body, "\n}\n");
}

struct Outcome {
  std::optional<Fault> fault;
  std::vector<std::uint32_t> memory;
};

// Runs `body` with an array of 64 zeros.
Outcome outcome_of(std::string_view body, const Launch& launch) {
  Device device{kernel(body)};
  const Address array = device.put(std::vector<std::uint32_t>(64));
  Outcome outcome{device.run("k", launch, Arguments{array}), {}};
  outcome.memory = device.get<std::uint32_t>(array, 64);
  return outcome;
}

Launch threads(std::uint32_t count) {
  Launch launch;
  launch.block.x = count;
  launch.checks = all_checks;
  launch.instructions_max = 10'000'000;
  return launch;
}

#define EXPECT_FAULT(outcome, expected, words)                                          \
  do {                                                                                  \
    const Outcome result = (outcome);                                                   \
    ASSERT_TRUE(result.fault);                                                          \
    EXPECT_EQ(result.fault->kind, (expected)) << result.fault->text;                    \
    EXPECT_NE(result.fault->text.find(words), std::string::npos) << result.fault->text; \
  } while (false)

TEST(PtxCheck, AStrayAccessNamesKernelLineBlockThreadAndAddress) {
  Device device{kernel("ld.global.u32 %r1, [%p+256];")};
  const Address array = device.put(std::vector<std::uint32_t>(64));
  const auto fault = device.run("k", threads(1), Arguments{array});
  ASSERT_TRUE(fault);
  EXPECT_EQ(
      fault->text,
      "illegal address: read of 4 bytes at 0xd0000000000100: the nearest bytes that exist are "
      "256 at 0xd0000000000000, it begins 256 bytes after their start; kernel k, ptx line 15, "
      "block (0, 0, 0), thread (0, 0, 0)");
}

TEST(PtxCheck, EveryStepBeyondAnAllocationIsSeen) {
  const auto kind = FaultKind::illegal_address;
  EXPECT_FAULT(outcome_of("st.global.u32 [%p+-4], %t;", threads(1)), kind, "write of 4 bytes");
  EXPECT_FAULT(outcome_of("ld.global.u64 %rd1, [%p+256];", threads(1)), kind, "read of 8 bytes");
  EXPECT_FAULT(outcome_of("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%p+256];", threads(1)), kind,
               "read of 16 bytes");
  EXPECT_FAULT(outcome_of("mov.u64 %rd1, 0; ld.u32 %r1, [%rd1];", threads(1)), kind,
               "no allocation there");
  EXPECT_FAULT(outcome_of("atom.global.add.u32 %r1, [%p+256], 1;", threads(1)), kind, "write of");
  EXPECT_FAULT(outcome_of("ld.shared.u32 %r1, [%rd0+512];", threads(1)), kind, "512 at 0x0");
  EXPECT_FAULT(outcome_of("cvta.shared.u64 %rd1, %rd0; st.u8 [%rd1+512], %t;", threads(1)), kind,
               "write of 1 bytes");
  EXPECT_FAULT(outcome_of("ld.param.u64 %rd1, [p+8];", threads(1)), kind, "read of 8 bytes");
  EXPECT_FAULT(outcome_of(".local .b32 own; st.local.u64 [own], %p;", threads(1)), kind,
               "write of 8 bytes");
}

TEST(PtxCheck, AFreedAllocationIsGone) {
  Device device{kernel("ld.global.u32 %r1, [%p];")};
  const Address array = device.put(std::vector<std::uint32_t>(64));
  ASSERT_TRUE(device.memory.free(array));
  const auto fault = device.run("k", threads(1), Arguments{array});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::illegal_address);
}

TEST(PtxCheck, AccessesAreAligned) {
  const auto kind = FaultKind::misaligned_address;
  EXPECT_FAULT(outcome_of("ld.global.u32 %r1, [%p+2];", threads(1)), kind, "not a multiple of 4");
  EXPECT_FAULT(outcome_of("st.global.v2.u32 [%p+4], {%t, %t};", threads(1)), kind,
               "not a multiple of 8");
  EXPECT_FAULT(outcome_of("st.shared.u64 [%rd0+4], %p;", threads(1)), kind, "not a multiple of 8");
}

TEST(PtxCheck, ReadsOfBytesThatNobodyWroteAreSeenWhenWanted) {
  const auto kind = FaultKind::uninitialised_read;
  EXPECT_FAULT(outcome_of("ld.shared.u32 %r1, [%rd8];", threads(1)), kind, "nothing ever wrote");
  EXPECT_FAULT(outcome_of("st.shared.u8 [%rd8], %t; ld.shared.u32 %r1, [%rd8];", threads(1)), kind,
               "read of 4 bytes");
  EXPECT_FAULT(outcome_of(".local .b32 own; ld.local.u32 %r1, [own];", threads(1)), kind,
               "read of");
  EXPECT_FALSE(
      outcome_of("st.shared.u32 [%rd8], %t; ld.shared.u32 %r1, [%rd8];", threads(1)).fault);
  Launch launch = threads(1);
  launch.checks.uninitialised = false;
  // What nobody wrote reads as all ones.
  const Outcome outcome = outcome_of("ld.shared.u32 %r1, [%rd8]; st.global.u32 [%p], %r1;", launch);
  EXPECT_FALSE(outcome.fault);
  EXPECT_EQ(outcome.memory[0], 0xffffffffU);
}

TEST(PtxCheck, FreshGlobalMemoryIsWatchedToo) {
  Device device{kernel("ld.global.u32 %r1, [%p];")};
  const Address fresh = device.allocate<std::uint32_t>(4);
  const auto fault = device.run("k", threads(1), Arguments{fresh});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::uninitialised_read);
}

TEST(PtxCheck, ThreadsOfABlockRaceWithoutABarrier) {
  constexpr const char* neighbour_without =
      "st.shared.u32 [%rd8], %t; xor.b32 %r1, %t, 32; mad.wide.u32 %rd1, %r1, 4, %rd0; "
      "ld.shared.u32 %r2, [%rd1]; st.global.u32 [%tw], %r2;";
  constexpr const char* neighbour_with =
      "st.shared.u32 [%rd8], %t; bar.sync 0; xor.b32 %r1, %t, 32; mad.wide.u32 %rd1, %r1, 4, %rd0; "
      "ld.shared.u32 %r2, [%rd1]; st.global.u32 [%tw], %r2;";
  Launch launch = threads(64);
  launch.checks.uninitialised = false;
  EXPECT_FAULT(outcome_of(neighbour_without, launch), FaultKind::race,
               "nothing orders it after the read at ptx line 15 by thread 0 of block 0");
  EXPECT_FALSE(outcome_of(neighbour_with, launch).fault);
  launch.checks.race = false;
  EXPECT_FALSE(outcome_of(neighbour_without, launch).fault);
}

TEST(PtxCheck, WritesOfOneWordRaceAndAtomicsDoNot) {
  EXPECT_FAULT(outcome_of("st.global.u32 [%p], %t;", threads(2)), FaultKind::race,
               "write of 4 bytes");
  const Outcome atomics = outcome_of("atom.global.add.u32 %r1, [%p], 2;", threads(64));
  EXPECT_FALSE(atomics.fault);
  EXPECT_EQ(atomics.memory[0], 128U);
  EXPECT_FAULT(outcome_of("atom.global.add.u32 %r1, [%p], 2; ld.global.u32 %r1, [%p];", threads(2)),
               FaultKind::race, "nothing orders it");
  EXPECT_FALSE(outcome_of("atom.global.add.u32 %r1, [%p], 2; ld.relaxed.gpu.global.u32 %r1, [%p];",
                          threads(2))
                   .fault);
}

TEST(PtxCheck, NeighbouringBytesDoNotRace) {
  EXPECT_FALSE(outcome_of("cvt.u64.u32 %rd1, %t; add.u64 %rd1, %rd1, %p; st.global.u8 [%rd1], %t;",
                          threads(64))
                   .fault);
}

TEST(PtxCheck, AWarpOperationOrdersItsWarpOnly) {
  constexpr const char* code =
      "st.shared.u32 [%rd8], %t; bar.warp.sync 0xffffffff; xor.b32 %r1, %t, 1; "
      "mad.wide.u32 %rd1, %r1, 4, %rd0; ld.shared.u32 %r2, [%rd1];";
  EXPECT_FALSE(outcome_of(code, threads(64)).fault);
  constexpr const char* across =
      "st.shared.u32 [%rd8], %t; bar.warp.sync 0xffffffff; xor.b32 %r1, %t, 32; "
      "mad.wide.u32 %rd1, %r1, 4, %rd0; ld.shared.u32 %r2, [%rd1];";
  Launch launch = threads(64);
  launch.checks.uninitialised = false;
  EXPECT_FAULT(outcome_of(across, launch), FaultKind::race, "nothing orders it");
}

TEST(PtxCheck, BlocksRaceUnlessAFencePublishes) {
  Launch launch = threads(1);
  launch.grid.x = 2;
  EXPECT_FAULT(outcome_of("st.global.u32 [%p], 1;", launch), FaultKind::race, "of block 0");
  // The last block sums what the others wrote, as reductions over a grid do.
  const Outcome last_block = outcome_of(R"(
    mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd1, %r1, 4, %p; st.global.u32 [%rd1+4], 5;
    membar.gl; atom.global.add.u32 %r2, [%p], 1; setp.ne.u32 %q, %r2, 1; @%q exit;
    ld.global.u32 %r3, [%p+4]; ld.global.u32 %r4, [%p+8]; add.u32 %r3, %r3, %r4;
    st.global.u32 [%p+12], %r3;)",
                                        launch);
  EXPECT_FALSE(last_block.fault) << last_block.fault->text;
  EXPECT_EQ(last_block.memory[3], 10U);
}

TEST(PtxCheck, ABarrierThatNeverCompletesIsReported) {
  EXPECT_FAULT(outcome_of("@%first bar.sync 1; @!%first bar.sync 2; bar.sync 1;", threads(64)),
               FaultKind::divergent_barrier, "wait at ptx line 15");
  EXPECT_FAULT(outcome_of("@%first bar.sync 1, 64;", threads(64)), FaultKind::divergent_barrier,
               "1 wait at ptx line 15, 63 have exited");
  EXPECT_FAULT(outcome_of("@%first bra x; bar.warp.sync 0xffffffff; x: bar.sync 0;", threads(32)),
               FaultKind::divergent_barrier, "wait at ptx line 15");
}

TEST(PtxCheck, ThreadsThatExitedCountAsArrived) {
  EXPECT_FALSE(outcome_of("@!%first exit; bar.sync 0;", threads(64)).fault);
}

TEST(PtxCheck, AThreadMustBeInItsOwnMask) {
  EXPECT_FAULT(outcome_of("bar.warp.sync 1;", threads(2)), FaultKind::illegal_instruction,
               "not in the mask");
}

TEST(PtxCheck, TrapsAssertionsAndEndlessLoopsEndTheRun) {
  EXPECT_FAULT(outcome_of("trap;", threads(1)), FaultKind::trap, "executed trap");
  EXPECT_FAULT(outcome_of("x: bra x;", threads(1)), FaultKind::timeout,
               "more than 10000000 instructions");
  EXPECT_FAULT(outcome_of("t: .branchtargets x; brx.idx 1, t; x:", threads(1)),
               FaultKind::illegal_instruction, "branch 1 of a table of 1");
  Device device{lyk::str(header, R"(
.global .b8 message[4] = {120, 62, 48, 0};
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.visible .entry k() {
  .reg .b64 %rd<2>;
  mov.u64 %rd0, message;
  cvta.global.u64 %rd1, %rd0;
  { .param .b64 p0; st.param.b64 [p0], %rd1; .param .b64 p1; st.param.b64 [p1], %rd1;
    .param .b32 p2; st.param.b32 [p2], 17; .param .b64 p3; st.param.b64 [p3], %rd1;
    .param .b64 p4; st.param.b64 [p4], 1; call.uni __assertfail, (p0, p1, p2, p3, p4); }
})")};
  const auto fault = device.run("k", {}, Arguments{});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::assert_failed);
  EXPECT_NE(fault->text.find("'x>0' at 'x>0':17 in 'x>0'"), std::string::npos) << fault->text;
}

TEST(PtxCheck, LaunchesThatNoDeviceTakesAreRefused) {
  const auto refusal = [](const Launch& launch) { return outcome_of("ret;", launch).fault->text; };
  Launch launch = threads(1025);
  EXPECT_EQ(refusal(launch), "invalid launch: block (1025, 1, 1); kernel k");
  launch = threads(0);
  EXPECT_EQ(refusal(launch), "invalid launch: block (0, 1, 1); kernel k");
  launch = threads(1);
  launch.grid.y = 0;
  EXPECT_EQ(refusal(launch), "invalid launch: grid (1, 0, 1); kernel k");
  launch = threads(1);
  launch.dynamic_shared_bytes = shared_bytes_max;
  EXPECT_EQ(refusal(launch), "invalid launch: 512 + 262144 bytes of shared memory; kernel k");
  Device device{kernel("ret;")};
  EXPECT_EQ(device.run("k", threads(1), Arguments{1})->text,
            "invalid launch: 4 bytes of parameters, the kernel takes 8; kernel k");
}

TEST(PtxCheck, SeedsChangeTheOrderAndRepeatIt) {
  // Each thread appends its number: the order of threads shows.
  constexpr const char* append =
      "atom.global.add.u32 %r1, [%p], 1; mad.wide.u32 %rd1, %r1, 4, %p; st.global.u32 [%rd1+4], "
      "%t;";
  Launch launch = threads(48);
  launch.checks.race = false;
  const auto order = [&](std::uint64_t seed) {
    launch.seed = seed;
    return outcome_of(append, launch).memory;
  };
  const std::vector<std::uint32_t> plain = order(0);
  for (std::uint32_t i = 0; i < 48; ++i)
    EXPECT_EQ(plain[i + 1], i);
  EXPECT_NE(order(1), plain);
  EXPECT_NE(order(1), order(2));
  EXPECT_EQ(order(1), order(1));
  EXPECT_EQ(order(1)[0], 48U);
}

TEST(PtxCheck, SeedsChangeTheOrderOfBlocks) {
  constexpr const char* append =
      "mov.u32 %r2, %ctaid.x; atom.global.add.u32 %r1, [%p], 1; mad.wide.u32 %rd1, %r1, 4, %p; "
      "st.global.u32 [%rd1+4], %r2;";
  Launch launch = threads(1);
  launch.grid.x = 60;
  launch.checks.race = false;
  launch.seed = 5;
  const std::vector<std::uint32_t> mixed = outcome_of(append, launch).memory;
  std::vector<std::uint32_t> seen(60);
  bool ascending = true;
  for (std::uint32_t i = 0; i < 60; ++i) {
    ++seen.at(mixed[i + 1]);
    ascending = ascending && mixed[i + 1] == i;
  }
  EXPECT_EQ(seen, std::vector<std::uint32_t>(60, 1));
  EXPECT_FALSE(ascending);
}

}  // namespace
}  // namespace softcuda::ptx::testing
