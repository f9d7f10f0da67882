#include "kernels/image/ptx.hpp"

#include <gtest/gtest.h>

#include "image_builder.hpp"

namespace lyk::image::test {
namespace {

constexpr std::string_view head = ".version 8.4\n.target sm_80\n.address_size 64\n";

Result<Ptx> parse(std::string_view rest) {
  return parse_ptx(std::string{head} + std::string{rest});
}

TEST(Ptx, IsRecognisedBehindCommentsAndBlanks) {
  EXPECT_TRUE(is_ptx("//\n// Generated\n//\n\n.version 9.0"));
  EXPECT_TRUE(is_ptx("\n\n\n\n.version 9.0"));
  EXPECT_TRUE(is_ptx("/* .target */ .version 9.0"));
  EXPECT_FALSE(is_ptx(".target sm_90"));
  EXPECT_FALSE(is_ptx(""));
  EXPECT_FALSE(is_ptx("version 9.0"));
}

TEST(Ptx, ReadsVersionTargetAndKernels) {
  const auto ptx = parse_ptx(ptx_text("sm_90a, debug", "8.7"));
  ASSERT_TRUE(ptx) << ptx.error().message;
  EXPECT_EQ(ptx->version, (CudaVersion{.major = 8, .minor = 7}));
  EXPECT_EQ(ptx->target.sm(), "sm_90a");
  EXPECT_EQ(ptx->kernels, std::vector<Kernel>{scale_kernel()});
}

TEST(Ptx, LaysOutParametersOfEveryTypeAsTheAbiDoes) {
  struct Row {
    std::string_view parameters;
    std::vector<Parameter> layout;
  };
  const std::vector<Row> rows{
      {"", {}},
      {".param .u8 a", {{0, 1}}},
      {".param .u8 a, .param .b16 b, .param .f16 c, .param .u32 d, .param .s64 e",
       {{0, 1}, {2, 2}, {4, 2}, {8, 4}, {16, 8}}},
      {".param .f64 a, .param .f32 b, .param .b8 c, .param .f64 d",
       {{0, 8}, {8, 4}, {12, 1}, {16, 8}}},
      {".param .align 8 .b8 a[24], .param .u32 b", {{0, 24}, {24, 4}}},
      {".param .u32 a, .param .align 16 .b8 b[32], .param .u8 c", {{0, 4}, {16, 32}, {48, 1}}},
      {".param .u8 a, .param .align 1 .b8 b[3], .param .u8 c", {{0, 1}, {1, 3}, {4, 1}}},
      {".param .u32 n, .param .u64 .ptr .global .align 16 p", {{0, 4}, {8, 8}}},
      {".param .u64 .ptr p, .param .u64 .ptr .shared .align 1 q", {{0, 8}, {8, 8}}},
      {".param .b32 a[4], .param .b128 v", {{0, 16}, {16, 16}}},
      {".param .texref t, .param .samplerref s, .param .surfref u", {{0, 8}, {8, 8}, {16, 8}}},
      {".param .f16x2 a, .param .bf16 b, .param .bf16x2 c", {{0, 4}, {4, 2}, {8, 4}}},
      {".param .align 4 .b8 nothing[0], .param .u32 n", {{0, 0}, {0, 4}}},
  };
  for (const Row& row : rows) {
    const auto ptx = parse(".visible .entry k(" + std::string{row.parameters} + ") { ret; }");
    ASSERT_TRUE(ptx) << row.parameters << ": " << ptx.error().message;
    ASSERT_EQ(ptx->kernels.size(), 1U);
    EXPECT_EQ(ptx->kernels[0].parameters, row.layout) << row.parameters;
  }
}

TEST(Ptx, FindsKernelsOnlyAtTheLevelOfTheModule) {
  const auto ptx = parse(
      ".extern .func f;\n"
      ".global .align 1 .b8 text[7] = {46, 101};\n"
      ".func (.param .b32 r) g(.param .b32 a) { .entry hidden() }\n"
      ".weak .entry a()\n.maxntid 256, 1, 1\n.minnctapersm 2\n{ @%p bra $L; $L: ret; }\n"
      ".section .debug_str { .b8 123 }\n"
      ".file 1 \"}{.entry\"\n"
      "// .entry commented()\n"
      ".entry b { ret; }\n");
  ASSERT_TRUE(ptx) << ptx.error().message;
  ASSERT_EQ(ptx->kernels.size(), 2U);
  EXPECT_EQ(ptx->kernels[0].symbol, "a");
  EXPECT_EQ(ptx->kernels[1].symbol, "b");
}

TEST(Ptx, AKernelMayBeDeclaredBeforeItsDefinitionButOnlyAlike) {
  const auto alike = parse(".extern .entry k(.param .u32 a);\n.entry k(.param .u32 a) { ret; }");
  ASSERT_TRUE(alike);
  EXPECT_EQ(alike->kernels.size(), 1U);
  EXPECT_FALSE(parse(".extern .entry k(.param .u32 a);\n.entry k(.param .u64 a) { ret; }"));
}

TEST(Ptx, RefusesWhatItCannotLayOut) {
  for (const std::string_view text : {
           ".entry",
           ".entry 9k()",
           ".entry \"k\"()",
           ".entry a.b()",
           ".entry \xff()",
           ".entry (",
           ".entry k(",
           ".entry k(.param",
           ".entry k(.param .u32",
           ".entry k(.param .u32 a",
           ".entry k(.param .u32 a,",
           ".entry k(.param .u32 a)) {",
           ".entry k(.param .u33 a)",
           ".entry k(.param a)",
           ".entry k(.reg .u32 a)",
           ".entry k(.param .align 3 .b8 a[4])",
           ".entry k(.param .align 0 .b8 a[4])",
           ".entry k(.param .b8 a[)",
           ".entry k(.param .b8 a[-1])",
           ".entry k(.param .b8 a[4 4])",
           ".entry k(.param .b64 a[99999999])",
           ".entry k(.param .b8 a[4294967296])",
           ".entry k {",
       })
    EXPECT_FALSE(parse(text)) << text;
}

TEST(Ptx, RefusesAHeadThatIsNotComplete) {
  for (const std::string_view text :
       {"", ".version", ".version nine", ".version 9.0", ".version 9.0 .target",
        ".version 9.0 .target gpu", ".version 9.0 .target sm_90 .address_size 32"})
    EXPECT_FALSE(parse_ptx(text)) << text;
  EXPECT_TRUE(parse_ptx(".version 9.0 .target sm_90"));
}

}  // namespace
}  // namespace lyk::image::test
