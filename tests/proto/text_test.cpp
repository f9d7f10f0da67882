#include "proto/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iomanip>  // std::quoted must not be taken for ours
#include <limits>
#include <string>
#include <string_view>

namespace lyk {
namespace {

using namespace std::string_view_literals;

TEST(Str, ConcatenatesTextCharactersAndIntegers) {
  EXPECT_EQ(str("a", std::string{"b"}, "c"sv, 'd', 1, -2, std::uint64_t{3}), "abcd1-23");
  EXPECT_EQ(str(), "");
}

TEST(Quoted, ShowsForeignTextWithoutLettingItAct) {
  EXPECT_EQ(quoted("plain text"), "'plain text'");
  EXPECT_EQ(quoted("it's \\ \n\x1b[31m\xc3\xa9"sv), "'it\\x27s \\x5c \\x0a\\x1b[31m\\xc3\\xa9'");
  EXPECT_EQ(quoted(std::string{"a string"}), "'a string'");
}

TEST(Quoted, CutsLongText) {
  EXPECT_EQ(quoted(std::string(121, 'x')), "'" + std::string(120, 'x') + "...'");
  EXPECT_EQ(quoted(std::string(120, 'x')), "'" + std::string(120, 'x') + "'");
}

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("slot", "slto"), 1U) << "neighbours exchanged";
  EXPECT_EQ(edit_distance("ab", "ba"), 1U);
  EXPECT_EQ(edit_distance("abc", "cab"), 2U);
}

TEST(Nearest, FindsWhatATypingErrorMeant) {
  constexpr std::array known{"repo"sv, "revision"sv, "repo_types"sv, "license"sv};
  EXPECT_EQ(nearest("repos", known), "repo");
  EXPECT_EQ(nearest("revison", known), "revision");
  EXPECT_EQ(nearest("licence", known), "license");
  EXPECT_EQ(nearest("rpeo", known), "repo");
  EXPECT_EQ(nearest("something_else", known), "");
  EXPECT_EQ(nearest("re", known), "") << "half of it would be wrong";
  EXPECT_EQ(nearest("parity", std::array{"verify"sv, "pin"sv}), "") << "another word";
  EXPECT_EQ(nearest("x", std::array<std::string_view, 0>{}), "");
}

TEST(Text, TheShortestNumberReadsAsTheSame) {
  EXPECT_EQ(shortest(0), "0");
  EXPECT_EQ(shortest(1.5), "1.5");
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(1.1920928955078125e-07), "1.1920928955078125e-07");
  EXPECT_EQ(shortest(-std::numeric_limits<double>::denorm_min()), "-5e-324");
  EXPECT_EQ(shortest(std::numeric_limits<double>::infinity()), "inf");
}

}  // namespace
}  // namespace lyk
