#include "cli/json_document.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace lyk::cli {
namespace {

TEST(JsonDocument, IsIndentedAndEndsInANewline) {
  JsonDocument document;
  document.begin_object();
  document.member("text", "a\"b\\c\n\x1b");
  document.member("number", std::numeric_limits<std::uint64_t>::max());
  document.member("truth", true);
  document.member("nothing", std::optional<std::string>{});
  document.member("something", std::optional<std::string>{"x"});
  document.key("rows");
  document.begin_array();
  document.begin_object();
  document.member("n", std::uint32_t{1});
  document.end_object();
  document.end_array();
  document.end_object();
  EXPECT_EQ(std::move(document).finish(),
            "{\n"
            "  \"text\": \"a\\\"b\\\\c\\n\\u001b\",\n"
            "  \"number\": 18446744073709551615,\n"
            "  \"truth\": true,\n"
            "  \"nothing\": null,\n"
            "  \"something\": \"x\",\n"
            "  \"rows\": [\n"
            "    {\n"
            "      \"n\": 1\n"
            "    }\n"
            "  ]\n"
            "}\n");
}

TEST(JsonDocument, EmptyContainersStayOnTheirLine) {
  JsonDocument document;
  document.begin_object();
  document.key("list");
  document.begin_array();
  document.end_array();
  document.key("object");
  document.begin_object();
  document.end_object();
  document.member("texts", std::vector<std::string>{});
  document.end_object();
  EXPECT_EQ(std::move(document).finish(),
            "{\n  \"list\": [],\n  \"object\": {},\n  \"texts\": []\n}\n");
}

TEST(JsonDocument, WhatIsInlineStaysInlineBelow) {
  JsonDocument document;
  document.begin_array(Layout::inline_values);
  for (const std::uint32_t offset : {0U, 8U}) {
    document.begin_array();
    document.value(offset);
    document.value(std::uint32_t{4});
    document.end_array();
  }
  document.end_array();
  EXPECT_EQ(std::move(document).finish(), "[[0, 4], [8, 4]]\n");
}

TEST(JsonDocument, ATextThatIsNotUtf8IsStillAJsonText) {
  JsonDocument document;
  document.value(std::string_view{"a\xff"});
  EXPECT_EQ(std::move(document).finish(), "\"a\xef\xbf\xbd\"\n");
}

TEST(JsonDocumentDeathTest, MisuseAborts) {
  EXPECT_DEATH(
      {
        JsonDocument document;
        document.begin_object();
        (void)std::move(document).finish();
      },
      "check failed");
  EXPECT_DEATH(
      {
        JsonDocument document;
        document.begin_array();
        document.key("x");
      },
      "check failed");
  EXPECT_DEATH(
      {
        JsonDocument document;
        document.begin_array();
        document.end_object();
      },
      "check failed");
}

}  // namespace
}  // namespace lyk::cli
