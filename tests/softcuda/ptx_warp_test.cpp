// What the threads of a warp and of a block do together. Expected values follow from the
// definitions in the PTX manual.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "proto/text.hpp"
#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

// Runs `code`, which gets its lane in %lane and leaves a word in %d (or a predicate in %q), in one
// block, and gives the words of all threads.
std::vector<std::uint32_t> words_of(std::string_view code, std::uint32_t threads) {
  std::vector<std::uint32_t> first;
  for (const std::uint64_t seed :
       {std::uint64_t{0}, std::uint64_t{3}}) {  // the order must not matter
    Device device{lyk::str(header, R"(
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<9>, %d, %lane, %t; .reg .b64 %p, %tw, %w; .reg .pred %q, %odd; .reg .f32 %f<3>;
  ld.param.u64 %p, [p];
  mov.u32 %t, %tid.x;
  mov.u32 %lane, %laneid;
  mad.wide.u32 %tw, %t, 4, %p;
  and.b32 %r0, %t, 1;
  setp.ne.u32 %odd, %r0, 0;
  setp.ne.u32 %q, %r0, %r0;
  mov.u32 %d, 0;
)",
                           code, R"(
  @%q or.b32 %d, %d, 0x80000000;
  st.global.u32 [%tw], %d;
})")};
    const Address out = device.put(std::vector<std::uint32_t>(threads, 0xdead));
    Launch launch;
    launch.block.x = threads;
    launch.seed = seed;
    device.run_well("k", launch, Arguments{out});
    const std::vector<std::uint32_t> words = device.get<std::uint32_t>(out, threads);
    if (seed == 0)
      first = words;
    EXPECT_EQ(words, first) << code;
  }
  return first;
}

void expect_lanes(std::string_view code, const std::function<std::uint32_t(std::uint32_t)>& word) {
  const std::vector<std::uint32_t> words = words_of(code, 64);
  for (std::uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(words[i], word(i % 32)) << code << " lane " << i % 32;
}

constexpr std::uint32_t holds = 0x80000000;  // the predicate's bit in a word

TEST(PtxWarp, ShufflesReadTheLaneThatTheModeNames) {
  expect_lanes("shfl.sync.bfly.b32 %d|%q, %lane, 1, 31, -1;",
               [](std::uint32_t lane) { return (lane ^ 1) | holds; });
  expect_lanes("shfl.sync.idx.b32 %d, %lane, 5, 31, -1;", [](std::uint32_t) { return 5; });
  expect_lanes("shfl.sync.up.b32 %d|%q, %lane, 3, 0, -1;",
               [](std::uint32_t lane) { return lane >= 3 ? (lane - 3) | holds : lane; });
  expect_lanes("shfl.sync.down.b32 %d|%q, %lane, 3, 31, -1;",
               [](std::uint32_t lane) { return lane + 3 <= 31 ? (lane + 3) | holds : lane; });
  // Segments of 8: the mask of c is 0x18, its end 7.
  expect_lanes("shfl.sync.down.b32 %d|%q, %lane, 3, 0x1807, -1;",
               [](std::uint32_t lane) { return lane % 8 + 3 <= 7 ? (lane + 3) | holds : lane; });
  expect_lanes("shfl.sync.up.b32 %d|%q, %lane, 3, 0x1800, -1;",
               [](std::uint32_t lane) { return lane % 8 >= 3 ? (lane - 3) | holds : lane; });
  expect_lanes("shfl.sync.idx.b32 %d|%q, %lane, 10, 0x1807, -1;",
               [](std::uint32_t lane) { return (lane / 8 * 8 + 2) | holds; });
}

TEST(PtxWarp, VotesCountTheMembers) {
  expect_lanes("vote.sync.all.pred %q, %odd, -1;", [](std::uint32_t) { return 0; });
  expect_lanes("vote.sync.any.pred %q, %odd, -1;", [](std::uint32_t) { return holds; });
  expect_lanes("vote.sync.uni.pred %q, %odd, -1;", [](std::uint32_t) { return 0; });
  expect_lanes("vote.sync.ballot.b32 %d, %odd, -1;", [](std::uint32_t) { return 0xaaaaaaaa; });
  expect_lanes("vote.sync.ballot.b32 %d, !%odd, -1;", [](std::uint32_t) { return 0x55555555; });
  expect_lanes("@%odd vote.sync.all.pred %q, %odd, 0xaaaaaaaa;",
               [](std::uint32_t lane) { return lane % 2 == 1 ? holds : 0; });
}

TEST(PtxWarp, MatchesFindEqualValues) {
  expect_lanes("and.b32 %r1, %lane, 3; match.any.sync.b32 %d, %r1, -1;",
               [](std::uint32_t lane) { return 0x11111111U << lane % 4; });
  expect_lanes("match.all.sync.b32 %d|%q, %lane, -1;", [](std::uint32_t) { return 0; });
  const std::vector<std::uint32_t> all =
      words_of("mov.u64 %w, 7; match.all.sync.b64 %d, %w, 0xf;", 4);
  EXPECT_EQ(all, std::vector<std::uint32_t>(4, 0xf));
}

TEST(PtxWarp, ReductionsCombineTheMembers) {
  expect_lanes("redux.sync.add.u32 %d, %lane, -1;", [](std::uint32_t) { return 31 * 32 / 2; });
  expect_lanes("sub.s32 %r1, %lane, 5; redux.sync.min.s32 %d, %r1, -1;",
               [](std::uint32_t) { return 0xfffffffb; });
  expect_lanes("sub.s32 %r1, %lane, 5; redux.sync.max.u32 %d, %r1, -1;",
               [](std::uint32_t) { return 0xffffffff; });
  expect_lanes("redux.sync.xor.b32 %d, %lane, -1;", [](std::uint32_t) { return 0; });
  expect_lanes("redux.sync.or.b32 %d, %lane, -1;", [](std::uint32_t) { return 31; });
  expect_lanes("redux.sync.and.b32 %d, %lane, -1;", [](std::uint32_t) { return 0; });
  expect_lanes("cvt.rn.f32.u32 %f1, %lane; redux.sync.max.f32 %f2, %f1, -1; mov.b32 %d, %f2;",
               [](std::uint32_t) { return 0x41f80000; });
}

TEST(PtxWarp, KnowsWhoIsThere) {
  expect_lanes("activemask.b32 %d;", [](std::uint32_t) { return 0xffffffff; });
  expect_lanes("@!%odd bra over; activemask.b32 %d; over:",
               [](std::uint32_t lane) { return lane % 2 == 1 ? 0xaaaaaaaa : 0; });
  expect_lanes("elect.sync %d|%q, -1;", [](std::uint32_t lane) { return lane == 0 ? holds : 0; });
  expect_lanes("mov.u32 %d, %lanemask_lt;", [](std::uint32_t lane) { return (1U << lane) - 1; });
  expect_lanes("mov.u32 %d, %lanemask_ge;", [](std::uint32_t lane) { return ~0U << lane; });
}

TEST(PtxWarp, AWarpMayBeShort) {
  EXPECT_EQ(words_of("redux.sync.add.u32 %d, %lane, -1;", 5), std::vector<std::uint32_t>(5, 10));
}

TEST(PtxWarp, BarriersReduceOverTheBlock) {
  const std::vector<std::uint32_t> count = words_of("bar.red.popc.u32 %d, 0, %odd;", 96);
  EXPECT_EQ(count, std::vector<std::uint32_t>(96, 48));
  EXPECT_EQ(words_of("bar.red.and.pred %q, 0, %odd;", 96), std::vector<std::uint32_t>(96, 0));
  EXPECT_EQ(words_of("bar.red.or.pred %q, 0, %odd;", 96), std::vector<std::uint32_t>(96, holds));
  EXPECT_EQ(
      words_of("barrier.sync.aligned 3, 96; barrier.cta.red.popc.aligned.u32 %d, 1, 96, !%odd;",
               96),
      std::vector<std::uint32_t>(96, 48));
}

TEST(PtxWarp, PartOfABlockMeetsAtANamedBarrier) {
  // The first warp arrives and goes on, the second waits for it.
  EXPECT_EQ(
      words_of("setp.lt.u32 %q, %t, 32; @%q bar.arrive 2, 64; @!%q bar.sync 2, 64; mov.u32 %d, "
               "1; setp.ne.u32 %q, %d, 1;",
               64),
      std::vector<std::uint32_t>(64, 1));
}

TEST(PtxWarp, AThreadThatSpinsSeesWhatAnotherWrites) {
  const std::vector<std::uint32_t> words = words_of(
      "setp.ne.u32 %q, %t, 0; @%q bra write; spin: ld.volatile.global.u32 %r1, [%p+4]; "
      "setp.eq.u32 %q, %r1, 0xdead; @%q bra spin; mov.u32 %d, %r1; bra done; write: "
      "mov.u32 %d, 9; setp.ne.u32 %q, %d, 9; done:",
      2);
  EXPECT_EQ(words, std::vector<std::uint32_t>(2, 9));
}

}  // namespace
}  // namespace softcuda::ptx::testing
