#include "cli/preferences.hpp"

#include <gtest/gtest.h>

namespace lyk::cli {
namespace {

Preferences read(std::vector<std::string> variables) {
  client::Environment environment;
  environment.variables = std::move(variables);
  return read_preferences(environment);
}

TEST(Preferences, OfflineIsWhatTheEcosystemSays) {
  struct Row {
    std::vector<std::string> variables;
    std::optional<std::string> because;
  };
  const std::vector<Row> table{
      {{}, std::nullopt},
      {{"LIBREYOLO_HUB_KERNELS=0"}, "LIBREYOLO_HUB_KERNELS=0"},
      {{"LIBREYOLO_HUB_KERNELS=Off"}, "LIBREYOLO_HUB_KERNELS=Off"},
      {{"LIBREYOLO_HUB_KERNELS=false"}, "LIBREYOLO_HUB_KERNELS=false"},
      {{"LIBREYOLO_HUB_KERNELS=NO"}, "LIBREYOLO_HUB_KERNELS=NO"},
      {{"LIBREYOLO_HUB_KERNELS=1"}, std::nullopt},
      {{"LIBREYOLO_HUB_KERNELS="}, std::nullopt},
      {{"HF_HUB_OFFLINE=1"}, "HF_HUB_OFFLINE=1"},
      {{"HF_HUB_OFFLINE=Yes"}, "HF_HUB_OFFLINE=Yes"},
      {{"HF_HUB_OFFLINE=y"}, std::nullopt},
      {{"HF_HUB_OFFLINE=2"}, std::nullopt},
      {{"TRANSFORMERS_OFFLINE=1"}, "TRANSFORMERS_OFFLINE=1"},
      {{"TRANSFORMERS_OFFLINE=1", "HF_HUB_OFFLINE=0"}, std::nullopt},
      {{"TRANSFORMERS_OFFLINE=1", "HF_HUB_OFFLINE="}, "TRANSFORMERS_OFFLINE=1"},
  };
  for (const Row& row : table)
    EXPECT_EQ(read(row.variables).offline_because, row.because)
        << (row.variables.empty() ? "" : row.variables.front());
}

TEST(Preferences, NoColorAndDumbTerminals) {
  EXPECT_FALSE(read({}).plain_text);
  EXPECT_TRUE(read({"NO_COLOR=1"}).plain_text);
  EXPECT_FALSE(read({"NO_COLOR="}).plain_text);
  EXPECT_FALSE(read({"NO_COLOR=1"}).dumb_terminal);
  EXPECT_TRUE(read({"TERM=dumb"}).plain_text);
  EXPECT_TRUE(read({"TERM=dumb"}).dumb_terminal);
}

TEST(Preferences, TheConfigurationIsBelowXdgOrHome) {
  EXPECT_EQ(read({}).config_home, std::nullopt);
  EXPECT_EQ(read({"HOME=/home/ada"}).config_home, "/home/ada/.config");
  EXPECT_EQ(read({"HOME=/home/ada", "XDG_CONFIG_HOME=/c"}).config_home, "/c");
  EXPECT_EQ(read({"HOME=/home/ada", "XDG_CONFIG_HOME=relative"}).config_home, "/home/ada/.config");
  EXPECT_EQ(read({"HOME=relative"}).config_home, std::nullopt);
}

}  // namespace
}  // namespace lyk::cli
