#include "cli/options.hpp"

#include <gtest/gtest.h>

#include <array>

namespace lyk::cli {
namespace {

constexpr std::array<Option, 4> options{{
    {.name = "arch", .value = "ARCH", .help = "", .repeat = Repeat::many},
    {.name = "output", .value = "FILE", .help = ""},
    {.name = "force", .value = "", .help = ""},
    {.name = "level", .value = "N", .help = "", .letter = 'l'},
}};

Result<Arguments> parse(std::vector<std::string> words) {
  return parse_arguments(options, words);
}

std::string refusal(std::vector<std::string> words) {
  const auto parsed = parse(std::move(words));
  if (parsed)
    return "";
  EXPECT_EQ(parsed.error().code, Code::invalid_argument);
  return parsed.error().message;
}

TEST(Options, AreTakenInAnyOrderAmongPositionals) {
  const auto parsed = parse({"one", "--output", "file", "two", "--force", "--json"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->positionals(), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(parsed->value("output"), "file");
  EXPECT_TRUE(parsed->has("force"));
  EXPECT_TRUE(parsed->has("json"));
  EXPECT_FALSE(parsed->has("quiet"));
  EXPECT_EQ(parsed->value("level"), std::nullopt);
}

TEST(Options, ValuesMayFollowAnEqualSignOrALetter) {
  const auto parsed = parse({"--output=a=b", "-l", "3", "-q"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->value("output"), "a=b");
  EXPECT_EQ(parsed->value("level"), "3");
  EXPECT_TRUE(parsed->has("quiet"));
}

TEST(Options, ValuesAndPositionalsKeepTheirCommas) {
  const auto parsed = parse({"a,b", "--output", "c,d", "--arch", "9.0,8.0", "--arch", "7.5"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->positionals(), std::vector<std::string>{"a,b"});
  EXPECT_EQ(parsed->value("output"), "c,d");
  EXPECT_EQ(parsed->values("arch"), (std::vector<std::string>{"9.0,8.0", "7.5"}));
}

TEST(Options, WhatFollowsTwoDashesIsPositional) {
  const auto parsed = parse({"--force", "--", "--output", "-x"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->positionals(), (std::vector<std::string>{"--output", "-x"}));
}

TEST(Options, ASingleDashIsAValueAndAPositional) {
  const auto parsed = parse({"--output", "-", "-"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->value("output"), "-");
  EXPECT_EQ(parsed->positionals(), std::vector<std::string>{"-"});
}

struct Refused {
  std::vector<std::string> words;
  std::string message;
};

TEST(Options, WrongWordsAreRefusedByName) {
  const std::vector<Refused> table{
      {{"--arhc", "9.0"}, "unknown option '--arhc': did you mean --arch?"},
      {{"--arhc=9.0"}, "unknown option '--arhc': did you mean --arch?"},
      {{"--outputs=x"}, "unknown option '--outputs': did you mean --output?"},
      {{"-z"}, "unknown option '-z'"},
      {{"--completely-else"}, "unknown option '--completely-else'"},
      {{"--positional", "x"}, "unknown option '--positional'"},
      {{"--output"}, "option '--output' needs a value"},
      {{"--output", "a", "--output", "b"}, "option --output is given twice"},
      {{"--output", ""}, "option --output has an empty value"},
      {{"--output=a\nb"}, "option --output has a value with a line break"},
      {{"--output="}, "option --output has an empty value"},
      {{"--arch", "9.0", "--arch", ""}, "option --arch has an empty value"},
      {{"--force=yes"}, "option --force takes no value"},
      {{"--json=1"}, "option --json takes no value"},
      {{"--\x1b[31m"}, "unknown option '--\\x1b[31m'"},
  };
  for (const Refused& row : table)
    EXPECT_EQ(refusal(row.words), row.message);
}

TEST(Options, AFlagGivenTwiceIsGivenOnce) {
  EXPECT_TRUE(parse({"--force", "--force"}));
}

TEST(Options, AnEmptyWordIsAPositional) {
  const auto parsed = parse({""});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->positionals(), std::vector<std::string>{""});
}

TEST(Options, PositionalsAreCounted) {
  const auto none = parse({});
  const auto two = parse({"a", "b"});
  ASSERT_TRUE(none && two);
  EXPECT_EQ(check_positionals(*none, {1, 1, "SLOT"}).error().message, "missing argument: SLOT");
  EXPECT_EQ(check_positionals(*two, {0, 1, "[SLOT]"}).error().message, "unexpected argument 'b'");
  EXPECT_TRUE(check_positionals(*two, {1, 2, "SLOT..."}));
}

TEST(Options, SizesHaveBinarySuffixes) {
  struct Row {
    std::string_view text;
    std::uint64_t bytes;
  };
  const std::vector<Row> table{{"0", 0},
                               {"4096", 4096},
                               {"12B", 12},
                               {"1K", 1024},
                               {"3KiB", 3072},
                               {"2KB", 2048},
                               {"64M", 67108864},
                               {"2GiB", 2147483648},
                               {"1T", 1099511627776},
                               {"18446744073709551615", 18446744073709551615U}};
  for (const Row& row : table) {
    const auto bytes = parse_bytes(row.text);
    ASSERT_TRUE(bytes) << row.text;
    EXPECT_EQ(*bytes, row.bytes) << row.text;
  }
  for (const std::string_view text : {"", "x", "-1", "1.5G", "3X", "3Gi", "3iB", " 3", "3 ", "+3",
                                      "18446744073709551616", "17179869184G", "0x10"})
    EXPECT_FALSE(parse_bytes(text)) << text;
}

TEST(Options, ListsAreSplitAtCommasAndHaveNoEmptyPart) {
  EXPECT_EQ(*split_list(std::vector<std::string>{"a,b", "c"}),
            (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(split_list(std::vector<std::string>{})->empty());
  for (const char* text : {"", ",", "a,", ",a", "a,,b"})
    EXPECT_FALSE(split_list(std::vector<std::string>{text})) << text;
}

}  // namespace
}  // namespace lyk::cli
