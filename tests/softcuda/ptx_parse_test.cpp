// What the parser takes, and what it refuses: by line and name.
#include <gtest/gtest.h>

#include <string>

#include "proto/text.hpp"
#include "tests/softcuda/ptx_fixture.hpp"

namespace softcuda::ptx::testing {
namespace {

TEST(PtxParse, RefusesUnknownInstructionsByNameAndLine) {
  EXPECT_EQ(refusal_of(with_body("foo.f32 %f1, %f2;")),
            "ptx line 5: unknown instruction 'foo.f32'");
  EXPECT_EQ(refusal_of(with_body("add.f32.x %f1, %f2, %f2;")),
            "ptx line 5: unknown instruction 'add.f32.x': '.x' is not known here");
  EXPECT_EQ(refusal_of(with_body("add.rn.s32 %r1, %r2, %r3;")),
            "ptx line 5: unknown instruction 'add.rn.s32'");
  EXPECT_EQ(refusal_of(with_body("\n\nwgmma.fence.sync.aligned;")),
            "ptx line 7: unknown instruction 'wgmma.fence.sync.aligned'");
  EXPECT_EQ(refusal_of(with_body("cvt.f32.s32 %f1, %r1;")),
            "ptx line 5: unknown instruction 'cvt.f32.s32'");
  EXPECT_EQ(refusal_of(with_body("shfl.down.b32 %r1, %r2, 1, 31;")),
            "ptx line 5: unknown instruction 'shfl.down.b32'");
}

TEST(PtxParse, RefusesOperandsThatDoNotFit) {
  EXPECT_NE(refusal_of(with_body("setp %p1, %r1, %r2;")), "taken");
  EXPECT_EQ(refusal_of(with_body("add.s32 %r1, %r2;")),
            "ptx line 5: 'add.s32' needs more operands");
  EXPECT_EQ(refusal_of(with_body("add.s32 %r1, %r2, %r3, %r4;")),
            "ptx line 5: 'add.s32' has too many operands");
  EXPECT_EQ(refusal_of(with_body("add.s32 %r1, %r2, %nobody;")),
            "ptx line 5: unknown name '%nobody'");
  EXPECT_EQ(refusal_of(with_body("add.s32 %r1, %r2, %r9;")), "ptx line 5: unknown name '%r9'");
  EXPECT_EQ(refusal_of(with_body("add.s32 %r1, %r2, %rd1;")),
            "ptx line 5: 'add.s32' takes .s32, '%rd1' is .b64");
  EXPECT_EQ(refusal_of(with_body("add.s32 5, %r2, %r3;")),
            "ptx line 5: the result of 'add.s32' needs a register");
  EXPECT_EQ(refusal_of(with_body("ld.global.u32 %r1, %rd1;")),
            "ptx line 5: 'ld.global.u32' needs an address in brackets");
  EXPECT_EQ(refusal_of(with_body("st.param.u64 [p], %rd1;")),
            "ptx line 5: a kernel cannot write its parameters");
  EXPECT_EQ(refusal_of(with_body("ld.global.v2.u32 {%r1}, [%rd1];")),
            "ptx line 5: the vector has another number of elements than the instruction");
  EXPECT_EQ(refusal_of(with_body("@%r1 ret;")), "ptx line 5: '%r1' is no predicate");
  EXPECT_EQ(refusal_of(with_body("and.b32 %r1, !%r2, %r3;")),
            "ptx line 5: '!' before an operand of 'and.b32'");
}

TEST(PtxParse, RefusesWholeNumbersForFloats) {
  EXPECT_EQ(refusal_of(with_body("add.f32 %f1, %f2, 1;")),
            "ptx line 5: a whole number where 'add.f32' takes .f32");
  EXPECT_EQ(refusal_of(with_body("st.global.f64 [%rd1], 0;")),
            "ptx line 5: a whole number where 'st.global.f64' takes .f64");
  EXPECT_EQ(refusal_of(with_body("add.f16x2 %r1, %r2, 0;")),
            "ptx line 5: a whole number where 'add.f16x2' takes .f16x2");
  EXPECT_EQ(refusal_of(with_body("mov.b32 %f1, 1;")), "taken");
}

TEST(PtxParse, RefusesRegistersOfAnotherKind) {
  const auto refusal = [](std::string_view code) {
    return refusal_of(with_body(lyk::str(".reg .b16 %h<3>; .reg .f64 %fd<3>; ", code)));
  };
  EXPECT_EQ(refusal("add.s32 %r1, %f1, 1;"), "ptx line 5: 'add.s32' takes .s32, '%f1' is .f32");
  EXPECT_EQ(refusal("mov.u32 %f1, %r1;"), "ptx line 5: 'mov.u32' takes .u32, '%f1' is .f32");
  EXPECT_EQ(refusal("ld.global.u32 %f1, [%rd1];"),
            "ptx line 5: 'ld.global.u32' takes .u32, '%f1' is .f32");
  EXPECT_EQ(refusal("ld.global.f32 %fd1, [%rd1];"),
            "ptx line 5: 'ld.global.f32' takes .f32, '%fd1' is .f64");
  EXPECT_EQ(refusal("ld.global.u32 %r1, [%fd1];"),
            "ptx line 5: 'ld.global.u32' takes .u64, '%fd1' is .f64");
  EXPECT_EQ(refusal("cvt.rn.bf16.f32 %r1, %f1;"),
            "ptx line 5: 'cvt.rn.bf16.f32' takes .bf16, '%r1' is .b32");
  EXPECT_EQ(refusal("and.b32 %p1, %r1, %r2;"), "ptx line 5: 'and.b32' takes .b32, '%p1' is .pred");
  EXPECT_EQ(refusal(".reg .bf16 %x;"), "ptx line 5: a register type expected, not '.bf16'");
  EXPECT_EQ(refusal(".reg .f32x2 %x;"), "ptx line 5: a register type expected, not '.f32x2'");
  for (const std::string_view code :
       {"and.b32 %f1, %f1, %r2;", "mov.b32 %f1, %r1;", "ld.global.b32 %f1, [%rd1];",
        "ld.global.b16 %f1, [%rd1];", "ld.global.f32 %rd2, [%rd1];", "cvt.rn.f16.f32 %r1, %f1;",
        "ld.global.u8 %rd2, [%rd1];", ".reg .f16x2 %x; add.f16x2 %x, %x, %r1;",
        ".reg .s32 %x; add.u32 %r1, %x, %x;", "shfl.sync.up.b32 %f1, %f2, 1, 0, -1;"})
    EXPECT_EQ(refusal(code), "taken") << code;
}

TEST(PtxParse, RefusesRealNumbersForIntegers) {
  EXPECT_EQ(refusal_of(with_body("add.s32 %r1, %r1, 1.5;")),
            "ptx line 5: a real number where 'add.s32' takes .s32");
  EXPECT_EQ(refusal_of(with_body("mov.b32 %r1, 0d3ff0000000000000;")),
            "ptx line 5: a real number where 'mov.b32' takes .b32");
  EXPECT_EQ(refusal_of(with_body("add.f16x2 %r1, %r1, 0f3f800000;")),
            "ptx line 5: a real number where 'add.f16x2' takes .f16x2");
  for (const std::string_view code :
       {"mov.b32 %r1, 0f3f800000;", "mov.b64 %rd1, 1.5;", "add.f32 %f1, %f1, 1.5;"})
    EXPECT_EQ(refusal_of(with_body(code)), "taken") << code;
}

TEST(PtxParse, OnlyMovesAndConversionsReadSpecialRegisters) {
  EXPECT_EQ(refusal_of(with_body("add.u32 %r1, %tid.x, 1;")),
            "ptx line 5: 'add.u32' reads '%tid.x': only mov and cvt can");
  EXPECT_EQ(refusal_of(with_body("mov.u64 %rd1, %tid.x;")),
            "ptx line 5: 'mov.u64' takes .u64, '%tid.x' is .u32");
  EXPECT_EQ(refusal_of(with_body("mov.u32 %r1, %clock64;")),
            "ptx line 5: 'mov.u32' takes .u32, '%clock64' is .u64");
  EXPECT_EQ(refusal_of(lyk::str(".version 7.7\n.target sm_80\n",
                                ".entry k() { .reg .b32 %r; mov.u32 %r, %clusterid.x; }")),
            "ptx line 3: 'mov.u32' needs sm_90, the target is sm_80");
  for (const std::string_view code :
       {"cvt.u64.u32 %rd1, %tid.x;", "mov.u64 %rd1, %clock64;", "mov.u64 %rd1, %gridid;",
        ".reg .u16 %x; mov.u16 %x, %ntid.y;", "mov.pred %p1, %is_explicit_cluster;"})
    EXPECT_EQ(refusal_of(with_body(code)), "taken") << code;
}

TEST(PtxParse, RefusesBarriersThatThereAreNot) {
  EXPECT_EQ(refusal_of(with_body("bar.sync 16;")), "ptx line 5: barrier 16 of 16");
  EXPECT_EQ(refusal_of(with_body("bar.sync 0, 33;")),
            "ptx line 5: a barrier for 33 threads: no whole warps");
  EXPECT_EQ(refusal_of(with_body("bar.arrive 0;")), "ptx line 5: unknown instruction 'bar.arrive'");
  EXPECT_EQ(refusal_of(with_body("match.any.sync.b32 %r1|%p1, %r2, -1;")),
            "ptx line 5: match.any has one result");
}

TEST(PtxParse, RefusesNamesThatAreNowhereOrTwice) {
  EXPECT_EQ(refusal_of(with_body("bra there;")), "ptx line 5: no label 'there' here");
  EXPECT_EQ(refusal_of(with_body("a: a: ret;")), "ptx line 5: label 'a' is placed twice");
  EXPECT_EQ(refusal_of(with_body(".reg .b32 x; .reg .f32 x;")),
            "ptx line 5: 'x' is declared twice");
  EXPECT_EQ(refusal_of(with_body("call.uni nobody;")),
            "ptx line 5: call of 'nobody', which this module does not define");
  EXPECT_EQ(
      refusal_of(lyk::str(header, ".extern .func malloc();\n.entry k() { call.uni malloc; }")),
      "ptx line 5: call of 'malloc', which this module does not define");
  EXPECT_EQ(refusal_of(lyk::str(header, ".extern .global .b32 x;\n")),
            "ptx line 4: 'x' lies in another module");
  EXPECT_EQ(refusal_of(lyk::str(header, ".entry k() { ret; }\n.entry k() { ret; }\n")),
            "ptx line 5: 'k' is declared twice");
  EXPECT_EQ(refusal_of(with_body("brx.idx %r1, nowhere;")),
            "ptx line 5: no branch table 'nowhere'");
}

TEST(PtxParse, RefusesWhatIsNoPtx) {
  EXPECT_EQ(refusal_of(""), "ptx line 1: no .version or no .target: not a PTX module");
  EXPECT_EQ(refusal_of("\x7f"
                       "ELF"),
            "ptx line 1: unexpected character '\\x7f'");
  EXPECT_EQ(refusal_of(lyk::str(header, ".entry k() { add.s32")),
            "ptx line 4: an operand expected, not the end");
  EXPECT_EQ(refusal_of(lyk::str(header, ".entry k() { ")), "ptx line 4: '}' expected, not the end");
  EXPECT_EQ(refusal_of(lyk::str(header, "/* no end")), "ptx line 4: comment without end");
  EXPECT_EQ(refusal_of(lyk::str(header, ".file 1 \"no end")),
            "ptx line 4: text without closing quote");
  EXPECT_EQ(refusal_of(with_body("mov.u32 %r1, 12x;")), "ptx line 5: bad number '12x'");
  EXPECT_EQ(refusal_of(with_body("mov.f32 %f1, 0f3f8;")), "ptx line 5: bad number '0f3f8'");
  EXPECT_EQ(refusal_of(".version 9.0\n.target sm_75\n.address_size 32\n"),
            "ptx line 3: .address_size 32: only 64 is known");
  EXPECT_EQ(refusal_of(lyk::str(header, ".texref t;\n")),
            "ptx line 4: unknown directive '.texref'");
  EXPECT_EQ(refusal_of(with_body(".reg .b32 %z<4000000000>;")),
            "ptx line 5: more than 131072 registers");
  EXPECT_EQ(refusal_of(lyk::str(header, ".global .b32 x[4000000000][4000000000];\n")),
            "ptx line 4: 'x' has more than 268435456 bytes");
}

TEST(PtxParse, DescribesTheModule) {
  const auto module = parse(lyk::str(header, R"(
.shared .align 8 .b8 common[24];
.global .align 8 .u64 table[2] = {generic(values)+4, 7};
.const .align 4 .f32 values[3] = {1.5, 0f40000000};
.visible .entry first(
  .param .u8 a,
  .param .u64 .ptr .global .align 4 b,
  .param .align 16 .b8 c[20])
.maxntid 32, 4
.minnctapersm 2
{
  .shared .align 16 .b8 own[8];
  .local .align 4 .b8 depot[12];
  ret;
}
.weak .entry second() .reqntid 64, 1, 1 { ret; }
)"));
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_EQ(module->version, "9.0");
  EXPECT_EQ(module->target, "sm_100a");
  EXPECT_EQ(module->address_size, 64U);
  ASSERT_EQ(module->kernels.size(), 2U);
  const Kernel& first = *module->kernel("first");
  ASSERT_EQ(first.parameters.size(), 3U);
  EXPECT_EQ(first.parameters[1].name, "b");
  EXPECT_EQ(first.parameters[1].offset, 8U);
  EXPECT_EQ(first.parameters[2].offset, 16U);
  EXPECT_EQ(first.parameters[2].bytes, 20U);
  EXPECT_EQ(first.parameters[2].alignment, 16U);
  EXPECT_EQ(first.parameter_bytes, 36U);
  EXPECT_EQ(first.static_shared_bytes, 40U);
  EXPECT_EQ(first.local_bytes, 12U);
  EXPECT_EQ(first.threads_max, 128U);
  EXPECT_FALSE(first.threads_required);
  EXPECT_EQ(module->kernel("second")->threads_required, (Dimensions{64, 1, 1}));
  EXPECT_EQ(module->kernel("third"), nullptr);
  ASSERT_EQ(module->variables.size(), 2U);
  EXPECT_EQ(module->variables[0].bytes, 16U);
  ASSERT_EQ(module->variables[0].references.size(), 1U);
  EXPECT_EQ(module->variables[0].references[0].variable, "values");
  EXPECT_EQ(module->variables[0].references[0].addend, 4U);
}

TEST(PtxParse, TakesWhatCompilersWriteBesideCode) {
  const auto module = parse(lyk::str(header, R"(
.file 1 "a file.cu", 1, 2
.extern .func (.param .b32 result) vprintf(.param .b64 a, .param .b64 b);
.pragma "something";
.entry k(.param .u64 p) // a comment; with a semicolon
{
  .loc 1 2 3, function_name $L__info_string0, inlined_at 1 4 5
  /* a long
     comment */
  .pragma "nounroll";
  {.reg.b32 t; mov.b32 t, 1; }
  {.reg .b32 t; bra inner; inner: mov.b32 t, 2;}
  {.reg .b32 t; inner: mov.b32 t, 3;}
}
.section .debug_str { info: .b8 116,0 }
)"));
  EXPECT_TRUE(module) << module.error().message;
  EXPECT_TRUE(parse(lyk::str(header, std::string_view{"\0\0", 2})));
}

TEST(PtxParse, AnAddressOfWhatIsNowhereFailsAtLoading) {
  auto module = parse(lyk::str(header, ".global .u64 x = nowhere;\n"));
  ASSERT_TRUE(module);
  Memory memory{1 << 20};
  const auto loaded =
      LoadedModule::load(std::make_shared<const Module>(*std::move(module)), memory);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message,
            "ptx: the initialiser of 'x' names 'nowhere', which is nowhere");
  EXPECT_EQ(memory.bytes_used(), 0U);
}

}  // namespace
}  // namespace softcuda::ptx::testing
