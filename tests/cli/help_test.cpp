#include "cli/help.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/cli/cli_run.hpp"

namespace lyk::cli {
namespace {

using test::expect_golden;
using test::run_cli;

TEST(Help, OfTheProgramListsEveryCommand) {
  const auto ran = run_cli({"--help"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  expect_golden("cli/help.txt", ran.out);
  for (const Command* command : commands())
    EXPECT_NE(ran.out.find("\n  " + std::string{command->name} + ' '), std::string::npos)
        << command->name;
}

TEST(Help, IsWhatTheGoldenFilesSay) {
  for (const Command* command : commands()) {
    const auto ran = run_cli({std::string{command->name}, "--help"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.err, "");
    expect_golden("cli/help_" + std::string{command->name} + ".txt", ran.out);
    EXPECT_EQ(run_cli({"help", std::string{command->name}}).out, ran.out);
    EXPECT_EQ(run_cli({std::string{command->name}, "-h", "a", "b", "c"}).out, ran.out);
  }
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// An example that the program itself refuses would be worse than none.
TEST(Help, EveryCommandHasExamplesThatItsOwnParserAccepts) {
  for (const Command* command : commands()) {
    ASSERT_FALSE(command->examples.empty()) << command->name;
    for (const Example& example : command->examples) {
      std::vector<std::string> words = split_words(example.words);
      ASSERT_EQ(words.front(), command->name);
      words.erase(words.begin());
      words.erase(std::find(words.begin(), words.end(), ">"), words.end());  // the shell's part
      const auto arguments = parse_arguments(command->options, words);
      ASSERT_TRUE(arguments) << example.words << ": " << arguments.error().message;
      EXPECT_TRUE(check_positionals(*arguments, command->positionals)) << example.words;
      EXPECT_FALSE(example.what.empty());
    }
  }
}

TEST(Help, LinesFitIntoATerminal) {
  std::string all = program_help();
  for (const Command* command : commands())
    all += command_help(*command);
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = all.find('\n', begin);
    EXPECT_LE(end - begin, 120U) << all.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(Help, NoCommandRedefinesACommonOption) {
  for (const Command* command : commands()) {
    std::set<std::string_view> names;
    for (const Option& option : common_options())
      names.insert(option.name);
    for (const Option& option : command->options)
      EXPECT_TRUE(names.insert(option.name).second) << command->name << ' ' << option.name;
  }
}

// They come with later releases; until then a user who tries one is told so by its absence.
TEST(Help, CommandsOfLaterReleasesAreNotThere) {
  for (const char* name : {"export", "import"}) {
    EXPECT_EQ(find_command(name), nullptr);
    EXPECT_EQ(run_cli({name}).exit_code, 2);
    EXPECT_EQ(program_help().find("\n  " + std::string{name} + ' '), std::string::npos);
  }
}

TEST(Help, WithoutACommandItGoesToStderr) {
  const auto ran = run_cli({});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, program_help());
}

TEST(Help, VersionIsOneLine) {
  const auto ran = run_cli({"--version"});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, "libreyolo-kernels " LYK_VERSION "\n");
}

}  // namespace
}  // namespace lyk::cli
