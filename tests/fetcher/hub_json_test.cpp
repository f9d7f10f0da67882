#include "fetcher/hub_json.hpp"

#include <gtest/gtest.h>

#include "proto/text.hpp"

namespace lyk::fetcher {
namespace {

const Pointer object{
    *Digest::parse("cbc376bc4b7547cfcf91b256f459bbfce4133c9f3bd98ff1cabec785f6860111"), 8};

std::string answer(std::string_view inner) {
  return str(R"({"transfer":"basic","objects":[{"oid":")", object.sha256.hex(), R"(","size":8,)",
             inner, "}]}");
}

std::string refusal(std::string_view json) {
  const auto action = parse_lfs_batch(json, object);
  return action ? "accepted" : action.error().message;
}

TEST(HubJson, FindsTheErrorTextInEachOfItsForms) {
  EXPECT_EQ(error_text(R"({"error":"text"})"), "text");
  EXPECT_EQ(error_text(R"({"error":["a","b"]})"), "a");
  EXPECT_EQ(error_text(R"({"errors":[{"message":"x"}]})"), "x");
  EXPECT_EQ(error_text(R"({"message":"m","request_id":"1"})"), "m");
  for (const char* nothing :
       {"", "x", "[]", "3", "{}", R"({"error":{}})", R"({"errors":[]})", R"({"error":[]})", "\xff"})
    EXPECT_EQ(error_text(nothing), "") << nothing;
}

TEST(HubJson, ReadsTheArchitecturesOfMetadata) {
  const auto archs =
      metadata_archs(R"({"backend":{"type":"cuda","archs":["9.0","8.0","9.0","x"]}})");
  ASSERT_EQ(archs.size(), 2U);
  EXPECT_EQ(archs[0].capability(), "8.0");
  EXPECT_EQ(metadata_archs(R"({"backend":{"archs":["9.0+PTX"]}})").size(), 1U);
  for (const char* nothing :
       {"", "{", "[]", R"({"backend":3})", R"({"backend":{"archs":3}})", R"({"backend":{}})"})
    EXPECT_TRUE(metadata_archs(nothing).empty()) << nothing;
}

TEST(HubJson, DeepNestingIsNothingAndCostsNothing) {
  EXPECT_EQ(error_text(std::string(1'000'000, '[')), "");
  EXPECT_EQ(error_text(std::string(1'000'000, '[') + std::string(1'000'000, ']')), "");
}

TEST(HubJson, FormatsTheBatchRequest) {
  EXPECT_EQ(
      lfs_batch_request(object),
      R"({"operation":"download","transfers":["basic"],"hash_algo":"sha256","objects":[{"oid":)"
      R"("cbc376bc4b7547cfcf91b256f459bbfce4133c9f3bd98ff1cabec785f6860111","size":8}]})");
}

TEST(HubJson, ReadsWhereAnObjectIs) {
  const auto action = parse_lfs_batch(
      answer(R"("actions":{"download":{"href":"https://h/x?y","header":{"X-A":"b"}}})"), object);
  ASSERT_TRUE(action) << action.error().message;
  EXPECT_EQ(action->href.text(), "https://h/x?y");
  ASSERT_EQ(action->headers.size(), 1U);
  EXPECT_EQ(action->headers[0].first, "X-A");
}

TEST(HubJson, RefusesABatchAnswerThatCannotBeFollowed) {
  EXPECT_EQ(refusal("x"), "lfs batch: the answer has no list of objects");
  EXPECT_EQ(refusal(R"({"objects":[]})"), "lfs batch: the answer lacks object cbc376bc4b75");
  EXPECT_EQ(refusal(R"({"transfer":"xet","objects":[]})"),
            "lfs batch: the transfer 'xet' was not offered");
  EXPECT_EQ(refusal(answer(R"("error":{"code":410,"message":"gone"})")),
            "lfs batch: object cbc376bc4b75: refused with 410 'gone'");
  EXPECT_EQ(refusal(answer(R"("x":1)")), "lfs batch: object cbc376bc4b75 has no download action");
  for (const char* href : {"file:///etc/passwd", "/relative", "https://u:p@h/", ""})
    EXPECT_NE(
        refusal(answer(str(R"("actions":{"download":{"href":")", href, R"("}})"))).find("url"),
        std::string::npos)
        << href;
}

TEST(HubJson, RefusesRequestHeadersThatAreNotTheAnswersToAskFor) {
  for (const char* header : {R"("A\r\nB":"c")", R"("A":"b\r\nC: d")", R"("Host":"x")",
                             R"("range":"bytes=0-")", R"("":"x")", R"("A":3)"})
    EXPECT_NE(refusal(answer(str(R"("actions":{"download":{"href":"https://h/","header":{)", header,
                                 "}}}")))
                  .find("cannot be sent"),
              std::string::npos)
        << header;
}

}  // namespace
}  // namespace lyk::fetcher
