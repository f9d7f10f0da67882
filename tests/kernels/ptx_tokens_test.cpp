#include "kernels/image/ptx_tokens.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace lyk::image {
namespace {

TEST(PtxTokens, CutsWordsAndSkipsCommentsAndPreprocessorLines) {
  PtxTokens tokens{"# 1 \"x.cu\"\n.version/* a\n# b */9.0 // c\n%r1,name[3] \"a b\" #"};
  for (const std::string_view word :
       {".version", "9.0", "%r1", ",", "name", "[", "3", "]", "\"a b\"", "#", "", ""})
    EXPECT_EQ(tokens.next(), word);
}

TEST(PtxTokens, SkipsNestedBlocksAndNoticesTheirMissingEnd) {
  PtxTokens tokens{"{ { } \"}\" } after"};
  EXPECT_TRUE(tokens.take("{"));
  EXPECT_TRUE(tokens.skip_block('{', '}'));
  EXPECT_EQ(tokens.next(), "after");
  PtxTokens open{"{ { }"};
  EXPECT_TRUE(open.take("{"));
  EXPECT_FALSE(open.skip_block('{', '}'));
}

TEST(PtxTokens, PeeksAndTakesWithoutLosingAnything) {
  PtxTokens tokens{" /* a */ one two"};
  EXPECT_EQ(tokens.peek(), "one");
  EXPECT_FALSE(tokens.take("two"));
  EXPECT_TRUE(tokens.take("one"));
  EXPECT_TRUE(tokens.take("two"));
  EXPECT_FALSE(tokens.take("two"));
}

TEST(PtxTokens, EndsAtAnOpenCommentOrString) {
  EXPECT_EQ(PtxTokens{"/* a"}.next(), "");
  EXPECT_EQ(PtxTokens{"// a"}.next(), "");
  EXPECT_EQ(PtxTokens{"\"ab"}.next(), "\"ab");
}

}  // namespace
}  // namespace lyk::image
