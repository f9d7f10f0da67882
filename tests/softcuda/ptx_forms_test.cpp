// Which words PTX knows together, and what a module must be to use them. ptxas 13.0 says the same
// of every row.
#include <gtest/gtest.h>

#include <string>

#include "proto/text.hpp"
#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

// With registers of every size, whose names are %h, %r, %rd, %f, %e and %p.
std::string refusal_on(std::string_view head, std::string_view code) {
  return refusal_of(
      with_body(lyk::str(".reg .b16 %h<9>; .reg .f64 %e<9>; .reg .b8 %x<9>; ", code), head));
}

std::string head_of(std::string_view version, std::string_view target) {
  return lyk::str(".version ", version, "\n.target ", target, "\n.address_size 64\n");
}

TEST(PtxForms, NameTheFirstWordThatTheInstructionNeverHas) {
  EXPECT_EQ(refusal_on(header, "add.f32.x %f1, %f2, %f2;"),
            "ptx line 5: unknown instruction 'add.f32.x': '.x' is not known here");
  EXPECT_EQ(refusal_on(header, "rem.f32 %f1, %f2, %f2;"),
            "ptx line 5: unknown instruction 'rem.f32': '.f32' is not known here");
  EXPECT_EQ(refusal_on(header, "ld.global.L1::banana.f32 %f1, [%rd1];"),
            "ptx line 5: unknown instruction 'ld.global.L1::banana.f32': '.L1::banana' is not "
            "known here");
}

TEST(PtxForms, OfArithmeticAreThoseOfTheManual) {
  for (const std::string_view code : {
           "fma.f32 %f1, %f2, %f2, %f2;",
           "mad.f32 %f1, %f2, %f2, %f2;",
           "div.f32 %f1, %f2, %f2;",
           "rcp.f32 %f1, %f2;",
           "sqrt.f32 %f1, %f2;",
           "sad.f32 %f1, %f2, %f2, %f2;",
           "add.NaN.f32 %f1, %f2, %f2;",
           "add.xorsign.abs.f32 %f1, %f2, %f2;",
           "add.sat.bf16x2 %r1, %r2, %r2;",
           "add.rz.f16 %h1, %h2, %h2;",
           "mul.ftz.bf16x2 %r1, %r2, %r2;",
           "sub.relu.f16x2 %r1, %r2, %r2;",
           "sub.u16x2 %r1, %r2, %r2;",
           "sub.s16x2 %r1, %r2, %r2;",
           "min.rn.f32 %f1, %f2, %f2;",
           "min.f64 %e1, %e2, %e2, %e2;",
           "min.xorsign.f32 %f1, %f2, %f2;",
           "min.xorsign.abs.f32 %f1, %f2, %f2, %f2;",
           "max.ftz.bf16 %h1, %h2, %h2;",
           "max.sat.f32 %f1, %f2, %f2;",
           "max.relu.u16x2 %r1, %r2, %r2;",
           "neg.rn.f32 %f1, %f2;",
           "neg.u32 %r1, %r2;",
           "abs.u64 %rd1, %rd2;",
           "abs.sat.f32 %f1, %f2;",
           "neg.sat.f16x2 %r1, %r2;",
           "abs.ftz.bf16x2 %r1, %r2;",
           "div.rn.sat.f32 %f1, %f2, %f2;",
           "ex2.approx.bf16 %h1, %h2;",
           "ex2.approx.ftz.f16x2 %r1, %r2;",
           "tanh.approx.ftz.f32 %f1, %f2;",
           "tanh.approx.ftz.bf16 %h1, %h2;",
           "lg2.approx.f16 %h1, %h2;",
           "rcp.approx.f64 %e1, %e2;",
           "mul.s32.lo %r1, %r2, %r2;",
           "mad.cc.lo.u32 %r1, %r2, %r2, %r2;",
           "shf.clamp.l.b32 %r1, %r2, %r2, 1;",
           "shl.u32 %r1, %r2, 1;",
           "popc.u32 %r1, %r2;",
       })
    EXPECT_TRUE(refusal_on(header, code).starts_with("ptx line 5: unknown instruction '"))
        << code << ": " << refusal_on(header, code);
}

TEST(PtxForms, OfConversionsAreThoseOfTheManual) {
  for (const std::string_view code : {
           "cvt.f32.s32 %f1, %r1;",
           "cvt.ftz.u32.u64 %r1, %rd1;",
           "cvt.sat.s32.u8 %r1, %h1;",
           "cvt.sat.u64.u64 %rd1, %rd2;",
           "cvt.rn.f64.f32 %rd1, %f1;",
           "cvt.rn.relu.f32.s32 %f1, %r1;",
           "cvt.rn.bf16.u8 %h1, %h2;",
           "cvt.rzi.s8.bf16 %h1, %h2;",
           "cvt.rm.relu.bf16.f32 %h1, %f1;",
           "cvt.rn.sat.bf16.f32 %h1, %f1;",
           "cvt.rna.f16x2.f32 %r1, %f1, %f2;",
           "cvt.rn.sat.bf16x2.f32 %r1, %f1, %f2;",
           "cvt.tf32.f32 %r1, %f1;",
           "cvt.rn.e4m3x2.f32 %h1, %f1, %f2;",
           "cvt.rn.satfinite.e4m3x2.bf16x2 %h1, %r1;",
           "cvt.rn.bf16x2.e4m3x2 %r1, %h1;",
           "cvt.rn.satfinite.e2m3x2.f16x2 %h1, %r1;",
           "cvt.rn.ue8m0x2.f32 %h1, %f1, %f2;",
       })
    EXPECT_TRUE(refusal_on(header, code).starts_with("ptx line 5: unknown instruction '"))
        << code << ": " << refusal_on(header, code);
}

TEST(PtxForms, OfComparisonsAreThoseOfTheManual) {
  for (const std::string_view code : {
           "setp.eq.ftz.s32 %p1, %r1, %r2;",
           "setp.lo.s32 %p1, %r1, %r2;",
           "setp.lt.b32 %p1, %r1, %r2;",
           "setp.ltu.u32 %p1, %r1, %r2;",
           "setp.eq.pred %p1, %p1, %p2;",
           "set.eq.f32.f16 %f1, %h1, %h2;",
           "set.eq.u16.f32 %h1, %f1, %f2;",
           "set.eq.f16x2.f32 %r1, %f1, %f2;",
           "set.lt.f16.f16x2 %h1, %r1, %r2;",
           "set.hi.u32.s32 %r1, %r1, %r2;",
           "set.eq.ftz.u32.s32 %r1, %r1, %r2;",
           "selp.f16 %h1, %h1, %h2, %p1;",
           "selp.pred %p1, %p1, %p2, %p1;",
           "slct.f16.s32 %h1, %h1, %h2, %r1;",
           "slct.ftz.f32.s32 %f1, %f1, %f2, %r1;",
           "slct.pred.f32 %p1, %p1, %p2, %f1;",
           "mov.f16 %h1, %h2;",
           "mov.u16x2 %r1, %r2;",
           "mov.b8 %x1, %x2;",
       })
    EXPECT_TRUE(refusal_on(header, code).starts_with("ptx line 5: unknown instruction '"))
        << code << ": " << refusal_on(header, code);
}

TEST(PtxForms, OfMemoryAccessesAreThoseOfTheManual) {
  for (const std::string_view code : {
           "ld.global.f16x2 %r1, [%rd1];",
           "ld.global.wb.u32 %r1, [%rd1];",
           "ld.global.noftz.u32 %r1, [%rd1];",
           "ld.global.ca.cg.u32 %r1, [%rd1];",
           "ld.global.L2::foo.u32 %r1, [%rd1];",
           "ld.global.ca.L1::evict_last.u32 %r1, [%rd1];",
           "ld.global.L2::evict_last.u32 %r1, [%rd1];",
           "ld.shared.L1::no_allocate.u32 %r1, [%rd1];",
           "ld.shared.nc.u32 %r1, [%rd1];",
           "ld.shared.v8.u32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];",
           "ld.const.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd1];",
           "ld.relaxed.global.u32 %r1, [%rd1];",
           "ld.gpu.global.u32 %r1, [%rd1];",
           "ld.release.gpu.global.u32 %r1, [%rd1];",
           "ld.mmio.relaxed.gpu.global.u32 %r1, [%rd1];",
           "ld.volatile.ca.global.u32 %r1, [%rd1];",
           "ld.volatile.local.u32 %r1, [%rd1];",
           "ld.weak.global.nc.u32 %r1, [%rd1];",
           "ldu.shared.f32 %f1, [%rd1];",
           "st.const.u32 [%rd1], %r1;",
           "st.global.ca.u32 [%rd1], %r1;",
           "st.global.nc.u32 [%rd1], %r1;",
           "st.global.L2::64B.u32 [%rd1], %r1;",
           "st.acquire.gpu.global.u32 [%rd1], %r1;",
           "prefetch.shared.L1 [%rd1];",
           "atom.global.add.s64 %rd1, [%rd2], %rd1;",
           "atom.local.add.u32 %r1, [%rd1], %r2;",
           "atom.global.add.f16x2 %r1, [%rd1], %r2;",
           ("atom.global.add.noftz.v8.f16x2 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1], "
            "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8};"),
           "atom.shared.add.v2.f32 {%f1, %f2}, [%rd1], {%f1, %f2};",
           "atom.shared.add.L2::cache_hint.u32 %r1, [%rd1], %r2, %rd2;",
           "atom.global.cas.L2::cache_hint.b32 %r1, [%rd1], %r2, %r3, %rd2;",
           "red.global.add.noftz.f32 [%rd1], %f1;",
           "red.global.exch.b32 [%rd1], %r1;",
           "red.acquire.gpu.global.add.u32 [%rd1], %r1;",
           "bar.sync.aligned 0;",
           "fence.proxy.generic;",
           "redux.sync.abs.min.s32 %r1, %r2, -1;",
       })
    EXPECT_TRUE(refusal_on(header, code).starts_with("ptx line 5: unknown instruction '"))
        << code << ": " << refusal_on(header, code);
}

TEST(PtxForms, TakeModifiersInAnyOrder) {
  for (const std::string_view code : {
           "add.sat.ftz.f32 %f1, %f2, %f2;",
           "add.f32.rn %f1, %f2, %f2;",
           "max.s32.relu %r1, %r2, %r2;",
           "max.relu.s16x2 %r1, %r2, %r2;",
           "cvt.rn.relu.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
           "setp.eq.ftz.and.f32 %p1, %f1, %f2, %p2;",
           "ld.relaxed.mmio.sys.global.u32 %r1, [%rd1];",
           "ld.volatile.shared.u32 %r1, [%rd1];",
           "ld.acquire.gpu.global.u32 %r1, [%rd1];",
           "ld.L2::128B.global.L1::no_allocate.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];",
           "ld.global.nc.L1::no_allocate.u32 %r1, [%rd1];",
           "ld.weak.global.cg.u32 %r1, [%rd1];",
           "ld.const.u32 %r1, [%rd1];",
           "ld.shared::cluster.u32 %r1, [%rd1];",
           "ld.shared.v8.u16 {%h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8}, [%rd1];",
           "st.release.sys.global.u32 [%rd1], %r1;",
           "st.relaxed.gpu.u32 [%rd1], %r1;",
           "st.volatile.u32 [%rd1], %r1;",
           "st.global.cs.u32 [%rd1], %r1;",
           "atom.add.relaxed.gpu.global.u32 %r1, [%rd1], %r2;",
           "atom.acq_rel.global.cas.b16 %h1, [%rd1], %h2, %h3;",
           "red.global.add.L2::cache_hint.v2.f32 [%rd1], {%f1, %f2}, %rd2;",
           "fence.gpu.acq_rel;",
       })
    EXPECT_EQ(refusal_on(header, code), "taken") << code;
}

TEST(PtxForms, RefuseInstructionsThatTheTargetHasNot) {
  struct Row {
    const char* code;
    const char* target;  // the first that has it
    const char* before;
  };
  for (const Row& row : {
           Row{"redux.sync.add.u32 %r1, %r2, -1;", "sm_80", "sm_75"},
           Row{"redux.sync.min.f32 %f1, %f2, -1;", "sm_100f", "sm_120a"},
           Row{"fma.rn.bf16x2 %r1, %r2, %r2, %r2;", "sm_80", "sm_75"},
           Row{"add.bf16x2 %r1, %r2, %r2;", "sm_90", "sm_89"},
           Row{"add.f16x2 %r1, %r2, %r2;", "sm_53", "sm_52"},
           Row{"min.f16x2 %r1, %r2, %r2;", "sm_80", "sm_75"},
           Row{"max.NaN.f32 %f1, %f2, %f2;", "sm_80", "sm_75"},
           Row{"max.xorsign.abs.f32 %f1, %f2, %f2;", "sm_86", "sm_80"},
           Row{"max.f32 %f1, %f2, %f2, %f2;", "sm_100", "sm_90a"},
           Row{"max.relu.s32 %r1, %r2, %r2;", "sm_90", "sm_89"},
           Row{"add.s16x2 %r1, %r2, %r2;", "sm_90", "sm_89"},
           Row{"add.f32x2 %rd1, %rd2, %rd2;", "sm_100", "sm_90a"},
           Row{"tanh.approx.f32 %f1, %f2;", "sm_75", "sm_72"},
           Row{"cvt.rn.bf16x2.f32 %r1, %f1, %f2;", "sm_80", "sm_75"},
           Row{"cvt.rna.tf32.f32 %r1, %f1;", "sm_80", "sm_75"},
           Row{"cvt.rn.f16x2.e4m3x2 %r1, %h1;", "sm_89", "sm_86"},
           Row{"cvt.rp.ue8m0x2.f32 %h1, %f1, %f2;", "sm_100a", "sm_120"},
           Row{"cvt.rn.satfinite.e2m1x2.f32 %x1, %f1, %f2;", "sm_100a", "sm_103"},
           Row{"ld.global.L2::256B.u32 %r1, [%rd1];", "sm_80", "sm_75"},
           Row{"ld.relaxed.cluster.global.u32 %r1, [%rd1];", "sm_90", "sm_89"},
           Row{"ld.global.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd1];", "sm_100", "sm_90a"},
           Row{"atom.global.add.noftz.bf16x2 %r1, [%rd1], %r2;", "sm_90", "sm_89"},
           Row{"red.global.add.v2.f32 [%rd1], {%f1, %f2};", "sm_90", "sm_89"},
           Row{"griddepcontrol.wait;", "sm_90", "sm_89"},
       }) {
    const std::string_view code = row.code;
    EXPECT_EQ(refusal_on(head_of("9.0", row.target), code), "taken") << code;
    EXPECT_EQ(refusal_on(head_of("9.0", row.before), code),
              lyk::str("ptx line 5: '", code.substr(0, code.find_first_of(" ;")), "' needs ",
                       row.target, ", the target is ", row.before));
  }
  for (const std::string_view target : {"sm_103a", "sm_103f", "sm_120a", "sm_121f"})
    EXPECT_EQ(refusal_on(head_of("9.0", target), "cvt.rn.f16x2.e2m1x2 %r1, %x1;"), "taken");
}

TEST(PtxForms, RefuseInstructionsThatTheVersionHasNot) {
  struct Row {
    const char* code;
    const char* target;
    const char* version;  // the first that has it
    const char* before;
  };
  for (const Row& row : {
           Row{"tanh.approx.f32 %f1, %f2;", "sm_75", "7.0", "6.5"},
           Row{"ex2.approx.f16 %h1, %h2;", "sm_75", "7.0", "6.5"},
           Row{"abs.f16x2 %r1, %r2;", "sm_75", "6.5", "6.4"},
           Row{"bmsk.clamp.b32 %r1, %r2, %r3;", "sm_75", "7.6", "7.5"},
           Row{"set.eq.u16.f16 %h1, %h1, %h2;", "sm_75", "6.5", "6.4"},
           Row{"cvt.rn.satfinite.f16.f32 %h1, %f1;", "sm_75", "8.1", "8.0"},
           Row{"cvt.f32.bf16 %f1, %h1;", "sm_80", "7.1", "7.0"},
           Row{"cvt.rn.satfinite.bf16x2.f32 %r1, %f1, %f2;", "sm_80", "8.1", "8.0"},
           Row{"cvt.rn.f16x2.e4m3x2 %r1, %h1;", "sm_89", "8.1", "8.0"},
           Row{"max.xorsign.abs.f32 %f1, %f2, %f2;", "sm_86", "7.2", "7.1"},
           Row{"add.u16x2 %r1, %r2, %r2;", "sm_90", "8.0", "7.8"},
           Row{"min.relu.s32 %r1, %r2, %r2;", "sm_90", "8.0", "7.8"},
           Row{"max.f32 %f1, %f2, %f2, %f2;", "sm_100", "8.8", "8.7"},
           Row{"ld.global.L1::no_allocate.u32 %r1, [%rd1];", "sm_75", "7.4", "7.3"},
           Row{"st.global.L2::cache_hint.u32 [%rd1], %r1, %rd2;", "sm_80", "7.4", "7.3"},
           Row{"ld.shared::cta.u32 %r1, [%rd1];", "sm_75", "7.8", "7.7"},
           Row{"ld.param::entry.u64 %rd1, [p];", "sm_75", "8.3", "8.2"},
           Row{"ld.mmio.relaxed.sys.global.u32 %r1, [%rd1];", "sm_75", "8.2", "8.1"},
           Row{"ld.global.v8.u32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];", "sm_100",
               "8.8", "8.7"},
           Row{"cvta.param.u64 %rd1, %rd2;", "sm_75", "7.7", "7.6"},
           Row{"isspacep.shared::cluster %p1, %rd1;", "sm_90", "7.8", nullptr},
           Row{"atom.global.add.v4.f32 {%f0, %f1, %f2, %f0}, [%rd1], {%f0, %f1, %f2, %f0};",
               "sm_90", "8.1", "8.0"},
           Row{"fence.proxy.alias;", "sm_75", "7.5", "7.4"},
           Row{"barrier.cta.sync 0;", "sm_75", "7.8", "7.7"},
           Row{"elect.sync %r1|%p1, -1;", "sm_90", "8.0", "7.8"},
       }) {
    const std::string_view code = row.code;
    EXPECT_EQ(refusal_on(head_of(row.version, row.target), code), "taken") << code;
    if (row.before == nullptr)
      continue;
    EXPECT_EQ(refusal_on(head_of(row.before, row.target), code),
              lyk::str("ptx line 5: '", code.substr(0, code.find_first_of(" ;")), "' needs PTX ",
                       row.version, ", the module is ", row.before));
  }
}

// What came to a newer target first.
TEST(PtxForms, TakeTheNeedThatThePlatformMeets) {
  constexpr std::string_view code = "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;";
  EXPECT_EQ(refusal_on(head_of("7.8", "sm_90"), code), "taken");
  EXPECT_EQ(refusal_on(head_of("8.1", "sm_89"), code), "taken");
  EXPECT_EQ(refusal_on(head_of("7.8", "sm_89"), code),
            "ptx line 5: 'cvt.rn.satfinite.e4m3x2.f32' needs PTX 8.1, the module is 7.8");
}

TEST(PtxForms, WideRegistersNeedAVersion) {
  EXPECT_EQ(refusal_on(head_of("8.3", "sm_75"), ".reg .b128 %q;"), "taken");
  EXPECT_EQ(refusal_on(head_of("8.2", "sm_75"), ".reg .b128 %q;"),
            "ptx line 5: .reg .b128 needs PTX 8.3, the module is 8.2");
}

TEST(PtxForms, TargetsNeedTheVersionThatBroughtThem) {
  const auto refusal = [](std::string_view version, std::string_view target) {
    return refusal_of(head_of(version, target));
  };
  EXPECT_EQ(refusal("6.3", "sm_75"), "taken");
  EXPECT_EQ(refusal("6.2", "sm_75"), "ptx line 2: .target sm_75 needs PTX 6.3, the module is 6.2");
  EXPECT_EQ(refusal("7.7", "sm_90"), "ptx line 2: .target sm_90 needs PTX 7.8, the module is 7.7");
  EXPECT_EQ(refusal("8.7", "sm_100f"),
            "ptx line 2: .target sm_100f needs PTX 8.8, the module is 8.7");
  EXPECT_EQ(refusal("9.0", "sm_120f, debug"), "taken");
  EXPECT_EQ(refusal("9.0", "sm_99"), "ptx line 2: unknown target 'sm_99'");
  EXPECT_EQ(refusal("9", "sm_75"), "ptx line 1: '9' as a version of PTX");
  EXPECT_EQ(refusal("9.x", "sm_75"), "ptx line 1: bad number '9.x'");
}

}  // namespace
}  // namespace softcuda::ptx::testing
