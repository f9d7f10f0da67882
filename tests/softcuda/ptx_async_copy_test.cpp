// cp.async: what a copy brings, and when. Expected values follow from the PTX manual.
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "proto/text.hpp"
#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

// Sixteen bytes at %s in shared memory, filled with 7s; `code` copies from %g; then they go to out.
std::string module_of(std::string_view code) {
  return lyk::str(header, R"(
.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)
{
  .reg .b64 %out, %g; .reg .b32 %s, %n, %r<4>; .reg .pred %p;
  .shared .align 16 .b8 tile[48];
  ld.param.u64 %out, [out]; ld.param.u64 %g, [in]; ld.param.u32 %n, [n];
  setp.ne.u32 %p, %n, 0;
  mov.u32 %s, tile;
  mov.u32 %r0, 7;
  st.shared.v4.u32 [%s], {%r0, %r0, %r0, %r0};
  )",
                  code, R"(
  ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%s];
  st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3};
})");
}

std::vector<std::uint32_t> words_after(std::string_view code, std::uint32_t n = 0) {
  Device device{module_of(code)};
  std::vector<std::uint32_t> values(8);
  std::iota(values.begin(), values.end(), 1);
  const Address in = device.put(values);
  const Address out = device.allocate<std::uint32_t>(4);
  device.run_well("k", {}, Arguments{out, in, n});
  return device.get<std::uint32_t>(out, 4);
}

std::optional<Fault> fault_of(std::string_view code) {
  Device device{module_of(code)};
  const Address in = device.allocate<std::uint32_t>(8);
  return device.run("k", {}, Arguments{device.allocate<std::uint32_t>(4), in, 0U});
}

using Words = std::vector<std::uint32_t>;

TEST(PtxAsyncCopy, BringsItsBytesWithTheWait) {
  EXPECT_EQ(words_after("cp.async.cg.shared.global [%s], [%g], 16; cp.async.wait_all;"),
            (Words{1, 2, 3, 4}));
  EXPECT_EQ(words_after("cp.async.ca.shared.global [%s+8], [%g+16], 8; cp.async.commit_group; "
                        "cp.async.wait_group 0;"),
            (Words{7, 7, 5, 6}));
  EXPECT_EQ(words_after("cp.async.ca.shared::cta.global.L2::128B [%s+12], [%g], 4; "
                        "cp.async.wait_all;"),
            (Words{7, 7, 7, 1}));
}

TEST(PtxAsyncCopy, LeavesTheOldBytesWhereNothingWaits) {
  EXPECT_EQ(words_after("cp.async.cg.shared.global [%s], [%g], 16;"), (Words{7, 7, 7, 7}));
  EXPECT_EQ(words_after("cp.async.cg.shared.global [%s], [%g], 16; cp.async.commit_group;"),
            (Words{7, 7, 7, 7}));
  EXPECT_EQ(words_after("cp.async.cg.shared.global [%s], [%g], 16; cp.async.wait_group 0;"),
            (Words{7, 7, 7, 7}))
      << "in no group yet";
}

TEST(PtxAsyncCopy, WaitsForAllGroupsButTheLastOnes) {
  constexpr std::string_view three =
      "cp.async.ca.shared.global [%s], [%g], 4; cp.async.commit_group; "
      "cp.async.ca.shared.global [%s+4], [%g+4], 4; cp.async.commit_group; "
      "cp.async.ca.shared.global [%s+8], [%g+8], 4; cp.async.commit_group; ";
  EXPECT_EQ(words_after(lyk::str(three, "cp.async.wait_group 3;")), (Words{7, 7, 7, 7}));
  EXPECT_EQ(words_after(lyk::str(three, "cp.async.wait_group 1;")), (Words{1, 2, 7, 7}));
  EXPECT_EQ(words_after(lyk::str(three, "cp.async.wait_group 0;")), (Words{1, 2, 3, 7}));
}

TEST(PtxAsyncCopy, FillsWithZerosWhatTheSourceHasNot) {
  constexpr std::string_view code =
      "cp.async.cg.shared.global [%s], [%g], 16, %n; cp.async.wait_all;";
  EXPECT_EQ(words_after(code, 8), (Words{1, 2, 0, 0}));
  EXPECT_EQ(words_after(code, 0), (Words{0, 0, 0, 0}));
  EXPECT_EQ(words_after(code, 16), (Words{1, 2, 3, 4}));
  constexpr std::string_view ignoring =
      "cp.async.cg.shared.global [%s], [%g], 16, %p; cp.async.wait_all;";
  EXPECT_EQ(words_after(ignoring, 0), (Words{1, 2, 3, 4}));
  EXPECT_EQ(words_after(ignoring, 1), (Words{0, 0, 0, 0}));
}

TEST(PtxAsyncCopy, ReadsNoSourceThatIsNotCopied) {
  EXPECT_FALSE(fault_of("cp.async.cg.shared.global [%s], [4096], 16, 0; cp.async.wait_all;"));
}

TEST(PtxAsyncCopy, ChecksBothAddresses) {
  const auto kind_of = [](std::string_view code) {
    const auto fault = fault_of(code);
    return fault ? std::string{name_of(fault->kind)} : "none";
  };
  EXPECT_EQ(kind_of("cp.async.cg.shared.global [%s+8], [%g], 16; cp.async.wait_all;"),
            name_of(FaultKind::misaligned_address));
  EXPECT_EQ(kind_of("cp.async.cg.shared.global [%s], [%g+24], 16; cp.async.wait_all;"),
            name_of(FaultKind::illegal_address));
  EXPECT_EQ(kind_of("cp.async.cg.shared.global [%s+48], [%g], 16; cp.async.wait_all;"),
            name_of(FaultKind::illegal_address));
}

TEST(PtxAsyncCopy, HasTheSizesOfItsKind) {
  EXPECT_EQ(refusal_of(with_body("cp.async.cg.shared.global [%r1], [%rd1], 8;")),
            "ptx line 5: a copy of 8 bytes");
  EXPECT_EQ(refusal_of(with_body("cp.async.ca.shared.global [%r1], [%rd1], 2;")),
            "ptx line 5: a copy of 2 bytes");
  EXPECT_EQ(
      refusal_of(with_body("cp.async.bulk.commit_group;")),
      "ptx line 5: unknown instruction 'cp.async.bulk.commit_group': '.bulk' is not known here");
  for (const std::string_view code :
       {"cp.async.ca.shared.global [%r1], [%rd1], 8;",
        "cp.async.cg.shared.global.L2::cache_hint.L2::256B [%r1], [%rd1], 16, %r2, %rd2;",
        "cp.async.cg.shared.global.L2::cache_hint [%r1], [%rd1], 16, %rd2;"})
    EXPECT_EQ(refusal_of(with_body(code)), "taken") << code;
}

TEST(PtxAsyncCopy, HintsForCachesChangeNothing) {
  EXPECT_EQ(words_after("{ .reg .b64 %policy; createpolicy.fractional.L2::evict_first.b64 %policy, "
                        "1.0; prefetch.global.L2::evict_last [%g]; "
                        "applypriority.global.L2::evict_normal [%g], 128; "
                        "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%r0, %r1, %r2, %r3}, "
                        "[%g], %policy; st.shared.v4.u32 [%s], {%r0, %r1, %r2, %r3}; }"),
            (Words{1, 2, 3, 4}));
  for (const std::string_view code :
       {"createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, 0.5;",
        "createpolicy.range.global.L2::evict_last.b64 %rd1, [%rd2], %r1, 4096;",
        "createpolicy.cvt.L2.b64 %rd1, %rd2;", "prefetch.L1 [%rd1];", "prefetchu.L1 [%rd1];"})
    EXPECT_EQ(refusal_of(with_body(code)), "taken") << code;
}

}  // namespace
}  // namespace softcuda::ptx::testing
