#include "client/line.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lyk::client {
namespace {

TEST(Line, IsOneLineOfPrintableUtf8) {
  const struct {
    std::string_view text;
    std::string_view line;
  } rows[] = {
      {"", ""},
      {"as it is", "as it is"},
      {"two\nlines\r\n\tand more", "two lines   and more"},
      {"\x1b[31mred\x7f", "?[31mred?"},
      {"gr\xc3\xb6\xc3\x9f"
       "er",
       "gr\xc3\xb6\xc3\x9f"
       "er"},
      {"\xc2\x9b"
       "31m",
       "?31m"},
      {"broken \xc3", "broken ?"},
      {{"a\0b", 3}, "a?b"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(Line{row.text}.view(), row.line);
}

TEST(Line, IsCutBetweenCharacters) {
  const std::string room(limits::line_bytes_max - 1, 'x');
  Line line{room + "\xc3\xb6 and more"};
  EXPECT_EQ(line.view(), room);
  EXPECT_EQ(line.add("y").view(), room);
  EXPECT_EQ(std::string_view{line.c_str()}, room);
  line.clear();
  EXPECT_TRUE(line.empty());
  EXPECT_EQ(line.add("a").add("b").view(), "ab");
}

}  // namespace
}  // namespace lyk::client
