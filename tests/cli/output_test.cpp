#include "cli/output.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace lyk::cli {
namespace {

TEST(Output, NothingThatATerminalObeysIsPrinted) {
  EXPECT_EQ(printable("plain, \xc3\xbc and \xe2\x82\xac"), "plain, \xc3\xbc and \xe2\x82\xac");
  EXPECT_EQ(printable("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(printable("a\nb\tc\r\x7f"), "a\\x0ab\\x09c\\x0d\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");  // C1: CSI as one character
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable(std::string_view{"\0x", 2}), "\\x00x");
  EXPECT_EQ(printable(""), "");
}

// NOLINTBEGIN(misc-misleading-bidirectional): such characters are what the test is about
TEST(Output, NothingThatHidesOrTurnsTextAroundIsPrinted) {
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\xe2\\x80\\xaeb");  // U+202E: what follows is shown backwards
  const std::vector<std::string_view> table{"\xc2\xad",     "\xd8\x9c",        "\xe2\x80\x8b",
                                            "\xe2\x80\x8f", "\xe2\x80\xa8",    "\xe2\x80\xa9",
                                            "\xe2\x80\xaa", "\xe2\x81\xa6",    "\xe2\x81\xa9",
                                            "\xef\xbb\xbf", "\xf3\xa0\x81\xa1"};
  for (const std::string_view hidden : table)
    EXPECT_TRUE(printable(hidden).starts_with("\\x")) << printable(hidden);
  EXPECT_EQ(printable("\xe2\x80\x90\xe2\x80\xa7\xf0\x9f\x98\x80"),
            "\xe2\x80\x90\xe2\x80\xa7\xf0\x9f\x98\x80");  // beside the ranges
}
// NOLINTEND(misc-misleading-bidirectional)

TEST(Output, WidthCountsCharactersNotBytes) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("\xc3\xbc\xe2\x82\xac"), 2U);
  EXPECT_EQ(display_width(""), 0U);
}

TEST(Output, SizesHaveTheUnitThatFits) {
  struct Row {
    std::uint64_t bytes;
    std::string_view text;
  };
  const std::vector<Row> table{{0, "0 B"},
                               {1, "1 B"},
                               {1023, "1023 B"},
                               {1024, "1.0 KiB"},
                               {1536, "1.5 KiB"},
                               {10189, "10.0 KiB"},
                               {1048524, "1023.9 KiB"},
                               {1048525, "1.0 MiB"},
                               {1048576, "1.0 MiB"},
                               {84934656, "81.0 MiB"},
                               {2147483648, "2.0 GiB"},
                               {1099511627775, "1.0 TiB"},
                               {18446744073709551615U, "16777216.0 TiB"}};
  for (const Row& row : table)
    EXPECT_EQ(human_bytes(row.bytes), row.text) << row.bytes;
}

TEST(Output, NumbersAgreeWithTheirNouns) {
  EXPECT_EQ(counted(0, "file"), "0 files");
  EXPECT_EQ(counted(1, "file"), "1 file");
  EXPECT_EQ(counted(2, "file"), "2 files");
}

TEST(Output, DurationsHaveTwoUnits) {
  EXPECT_EQ(human_seconds(0), "0 s");
  EXPECT_EQ(human_seconds(59), "59 s");
  EXPECT_EQ(human_seconds(61), "1 min 1 s");
  EXPECT_EQ(human_seconds(2 * 3600 + 300), "2 h 5 min");
  EXPECT_EQ(human_seconds(3 * 86400 + 4 * 3600 + 59), "3 d 4 h");
}

TEST(Output, ColoursAreOnlyThereWhenTheyAreOn) {
  EXPECT_EQ(painted("x", Paint::red, Colours::off), "x");
  EXPECT_EQ(painted("x", Paint::red, Colours::on), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(painted("x", Paint::none, Colours::on), "x");
  EXPECT_EQ(painted("", Paint::red, Colours::on), "");
}

Table example() {
  Table table{{{"NAME"}, {"SIZE", Align::right}, {"STATE"}}};
  table.add({{"a"}, {"12 B"}, {"cached", Paint::green}});
  table.add({{"l\xc3\xa4nger"}, {"1.0 MiB"}, {""}});
  return table;
}

TEST(Output, TablesAlignTheirColumns) {
  EXPECT_EQ(example().render(Colours::off),
            "NAME       SIZE  STATE\n"
            "a          12 B  cached\n"
            "l\xc3\xa4nger  1.0 MiB\n");
  EXPECT_EQ(example().render(Colours::off, "  ").substr(0, 8), "  NAME  ");
}

TEST(Output, ColoursDoNotMoveColumns) {
  const std::string text = example().render(Colours::on);
  EXPECT_NE(text.find("a          12 B  \x1b[32mcached\x1b[0m\n"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("\x1b[1mNAME\x1b[0m       ")) << text;
}

TEST(Output, FactsHaveTheirValuesUnderEachOther) {
  Facts facts;
  facts.add("slot", "nms");
  facts.add("in the store", "1 file");
  facts.add("note", "");
  EXPECT_EQ(facts.render(Colours::off),
            "slot:          nms\n"
            "in the store:  1 file\n"
            "note:\n");
}

TEST(Output, HashesAreShortened) {
  EXPECT_EQ(short_hash("0123456789abcdef"), "0123456789ab");
  EXPECT_EQ(short_hash("01"), "01");
}

}  // namespace
}  // namespace lyk::cli
