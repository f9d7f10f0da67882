#include "proto/json_writer.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>

namespace lyk::wire {
namespace {

using namespace std::string_view_literals;

std::string json(std::string_view text) {
  std::string out;
  append_json(out, text);
  return out;
}

TEST(JsonWriter, EscapesWhatJsonDemands) {
  EXPECT_EQ(json(""), R"("")");
  EXPECT_EQ(json("plain"), R"("plain")");
  EXPECT_EQ(json(R"(a"b\c)"), R"("a\"b\\c")");
  EXPECT_EQ(json("\n\t\r\b\x1f\0"sv), R"("\n\t\r\u0008\u001f\u0000")");
  EXPECT_EQ(json("/\x7f"), "\"/\x7f\"");
}

TEST(JsonWriter, KeepsUtf8) {
  EXPECT_EQ(json("\u00e9\u20ac\U0001f600"), "\"\u00e9\u20ac\U0001f600\"");
}

TEST(JsonWriter, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(json("a\xff\u00e9\xc3"), "\"a\ufffd\u00e9\ufffd\"");
  EXPECT_EQ(json("\xed\xa0\x80"), "\"\ufffd\ufffd\ufffd\"") << "a surrogate";
  EXPECT_EQ(json("\xc0\xaf"), "\"\ufffd\ufffd\"") << "an overlong slash";
}

TEST(JsonWriter, WritesNumbersWhole) {
  std::string out;
  append_json(out, std::numeric_limits<std::int64_t>::min());
  out += ' ';
  append_json(out, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(out, "-9223372036854775808 18446744073709551615");
}

TEST(JsonObject, PutsCommasBetweenItsFields) {
  std::string out;
  JsonObject object{out};
  append_json(object.key("a"), std::uint64_t{1});
  JsonObject inner{object.key("b")};
  inner.close();
  append_json(object.key("c"), "x");
  object.close();
  EXPECT_EQ(out, R"({"a":1,"b":{},"c":"x"})");
}

}  // namespace
}  // namespace lyk::wire
