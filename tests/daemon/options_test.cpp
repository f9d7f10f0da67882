#include "daemon/options.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lyk::daemon {
namespace {

Result<Options> parse(const std::vector<std::string_view>& arguments) {
  return parse_options(arguments);
}

TEST(Options, NothingIsWantedByDefault) {
  const auto options = parse({});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->action, Action::serve);
  EXPECT_FALSE(options->mode);
  EXPECT_FALSE(options->overrides.socket);
  EXPECT_TRUE(options->overrides.pins.empty());
  EXPECT_FALSE(options->threshold);
}

TEST(Options, PathsComeAsNextArgumentOrAfterAnEqualsSign) {
  const auto options = parse({"--system", "--socket", "/s", "--config=/c=d", "--cache", "/k",
                              "--pins", "/p", "--pins=/q", "--verbose"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->mode, wire::Mode::system);
  EXPECT_EQ(options->overrides.socket, "/s");
  EXPECT_EQ(options->overrides.config, "/c=d");
  EXPECT_EQ(options->overrides.cache, "/k");
  EXPECT_EQ(options->overrides.pins, (std::vector<std::filesystem::path>{"/p", "/q"}));
  EXPECT_EQ(options->threshold, Level::debug);
}

TEST(Options, HelpAndVersionAreActions) {
  EXPECT_EQ(parse({"--help"})->action, Action::help);
  EXPECT_EQ(parse({"-h"})->action, Action::help);
  EXPECT_EQ(parse({"--version"})->action, Action::version);
}

TEST(Options, MistakesAreNamed) {
  const std::vector<std::pair<std::vector<std::string_view>, std::string_view>> rows{
      {{"--sokcet", "/s"}, "argument '--sokcet': not known; did you mean --socket?"},
      {{"--quite-another-thing"},
       "argument '--quite-another-thing': not known; --help shows what is"},
      {{"--socket"}, "argument --socket: needs a path"},
      {{"--pins="}, "argument --pins: needs a path"},
      {{"--system=yes"}, "argument '--system=yes': not known; did you mean --system?"},
      {{"extra"}, "argument 'extra': not known; --help shows what is"},
  };
  for (const auto& [arguments, message] : rows) {
    const auto options = parse(arguments);
    ASSERT_FALSE(options) << message;
    EXPECT_EQ(options.error().code, Code::invalid_argument);
    EXPECT_EQ(options.error().message, message);
  }
}

TEST(Options, TheHelpNamesEveryOptionAndShowsAnExample) {
  for (const std::string_view option : {"--system", "--user", "--socket", "--config", "--cache",
                                        "--pins", "--verbose", "--version", "--help", "Example:"})
    EXPECT_NE(help_text.find(option), std::string_view::npos) << option;
}

}  // namespace
}  // namespace lyk::daemon
