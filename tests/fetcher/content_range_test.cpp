#include "fetcher/content_range.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lyk::fetcher {
namespace {

struct Case {
  int status;
  const char* content_range;
  std::optional<std::uint64_t> total;
  RangeVerdict verdict;
};

// Each row answers a request for the bytes from 100 on.
TEST(ContentRange, JudgesEveryAnswerToARequestForTheRest) {
  for (const Case& each :
       std::vector<Case>{{206, "bytes 100-199/200", 200, RangeVerdict::append},
                         {206, "bytes 100-199/200", std::nullopt, RangeVerdict::append},
                         {206, "bytes 100-199/*", 200, RangeVerdict::append},
                         {206, "bytes 100-149/200", 200, RangeVerdict::append},
                         {200, "", 200, RangeVerdict::start_over},
                         {200, "bytes 100-199/200", 200, RangeVerdict::start_over},
                         {206, "bytes 0-199/200", 200, RangeVerdict::useless},
                         {206, "bytes 99-199/200", 200, RangeVerdict::useless},
                         {206, "bytes 101-199/200", 200, RangeVerdict::useless},
                         {206, "bytes 100-200/201", 200, RangeVerdict::useless},
                         {206, "bytes 100-200/*", 200, RangeVerdict::useless},
                         {206, "bytes 100-199/199", std::nullopt, RangeVerdict::useless},
                         {206, "", 200, RangeVerdict::useless},
                         {206, "multipart", 200, RangeVerdict::useless}})
    EXPECT_EQ(judge_range(each.status, each.content_range, 100, each.total), each.verdict)
        << each.status << ' ' << each.content_range;
}

TEST(ContentRange, ParsesStrictly) {
  const auto range = parse_content_range("bytes 5-9/10");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 5U);
  EXPECT_EQ(range->last, 9U);
  EXPECT_EQ(range->total, 10U);
  EXPECT_EQ(parse_content_range("bytes 5-9/*")->total, std::nullopt);
  for (const char* bad : {"", "bytes", "bytes */10", "bytes 5-/10", "bytes -9/10", "bytes 9-5/10",
                          "bytes 5-9/", "bytes 5-9/9", "bytes 5-9/10 ", "items 5-9/10",
                          "bytes 5 - 9/10", "bytes 5-99999999999999999999/*"})
    EXPECT_FALSE(parse_content_range(bad)) << bad;
}

}  // namespace
}  // namespace lyk::fetcher
