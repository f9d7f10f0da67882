#include "client/settings.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "proto/limits.hpp"

namespace lyk::client {
namespace {

Result<Settings> parse(std::vector<std::string> variables) {
  return parse_settings(Environment{std::move(variables)});
}

TEST(Settings, AnEmptyEnvironmentAllowsActivationAndKnowsOnlyTheSystemService) {
  const auto settings = parse({});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->socket, "");
  EXPECT_EQ(settings->system_socket, "/run/libreyolo-kernels/socket");
  EXPECT_EQ(settings->user_socket, "");
  EXPECT_EQ(settings->activation, Activation::allowed);
  EXPECT_EQ(settings->program, "");
  EXPECT_FALSE(settings->trusted_uid);
  EXPECT_FALSE(settings->wait);
  EXPECT_EQ(settings->hub_forbidden, "");
}

TEST(Settings, EveryVariableIsRead) {
  const auto settings =
      parse({"XDG_RUNTIME_DIR=/run/user/7", "LIBREYOLO_KERNELS_SOCKET=/s",
             "LIBREYOLO_KERNELS_EXEC=/opt/service", "LIBREYOLO_KERNELS_TRUST_UID=65534",
             "LIBREYOLO_KERNELS_WAIT=2", "LIBREYOLO_HUB_KERNELS= Off "});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->socket, "/s");
  EXPECT_EQ(settings->user_socket, "/run/user/7/libreyolo-kernels/socket");
  EXPECT_EQ(settings->program, "/opt/service");
  EXPECT_EQ(settings->trusted_uid, 65534U);
  EXPECT_EQ(settings->wait, std::chrono::seconds{2});
  EXPECT_EQ(settings->hub_forbidden, "LIBREYOLO_HUB_KERNELS=off");
}

TEST(Settings, AnEmptyValueIsAsGoodAsNone) {
  const auto settings =
      parse({"XDG_RUNTIME_DIR=", "LIBREYOLO_KERNELS_SOCKET=", "LIBREYOLO_KERNELS_EXEC=",
             "LIBREYOLO_KERNELS_TRUST_UID=", "LIBREYOLO_KERNELS_WAIT=", "LIBREYOLO_HUB_KERNELS="});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->user_socket, "");
  EXPECT_EQ(settings->activation, Activation::allowed);
  EXPECT_EQ(settings->hub_forbidden, "");
}

TEST(Settings, ZeroForbidsActivation) {
  const auto settings = parse({"LIBREYOLO_KERNELS_EXEC=0"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->activation, Activation::forbidden);
}

TEST(Settings, NamesWithTheSameBeginningAreOthers) {
  const auto settings = parse({"LIBREYOLO_KERNELS_SOCKETS=/a", "LIBREYOLO_KERNELS_SOCKET=/b"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->socket, "/b");
}

TEST(Settings, ARelativeRuntimeFolderIsIgnoredAsXdgSays) {
  const auto settings = parse({"XDG_RUNTIME_DIR=run"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->user_socket, "");
}

TEST(Settings, AWaitBeyondTheLongestIsTheLongest) {
  const auto settings = parse({"LIBREYOLO_KERNELS_WAIT=18446744073709551615"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->wait, limits::resolve_wait_max);
}

TEST(Settings, OnlyTheWordsForNoForbidTheHub) {
  for (const char* word : {"0", "false", "off", "no", "FALSE", "\tNo\n"})
    EXPECT_NE(parse({std::string{"LIBREYOLO_HUB_KERNELS="} + word})->hub_forbidden, "") << word;
  for (const char* word : {"1", "yes", "00", "n", " ", "nope"})
    EXPECT_EQ(parse({std::string{"LIBREYOLO_HUB_KERNELS="} + word})->hub_forbidden, "") << word;
}

TEST(Settings, AValueThatMeansNothingIsRefusedByItsName) {
  struct Row {
    const char* variable;
    const char* value;
    const char* text;
  };
  const std::vector<Row> rows{
      {"LIBREYOLO_KERNELS_SOCKET", "socket",
       "LIBREYOLO_KERNELS_SOCKET 'socket': not an absolute path"},
      {"LIBREYOLO_KERNELS_EXEC", "1", "LIBREYOLO_KERNELS_EXEC '1': not 0 or an absolute path"},
      {"LIBREYOLO_KERNELS_EXEC", "libreyolo-kernelsd",
       "LIBREYOLO_KERNELS_EXEC 'libreyolo-kernelsd': not 0 or an absolute path"},
      {"LIBREYOLO_KERNELS_TRUST_UID", "root", "LIBREYOLO_KERNELS_TRUST_UID 'root': not a user id"},
      {"LIBREYOLO_KERNELS_TRUST_UID", "4294967295",
       "LIBREYOLO_KERNELS_TRUST_UID '4294967295': not a user id"},
      {"LIBREYOLO_KERNELS_WAIT", "soon", "LIBREYOLO_KERNELS_WAIT 'soon': not a number of seconds"},
      {"LIBREYOLO_KERNELS_WAIT", "-1", "LIBREYOLO_KERNELS_WAIT '-1': not a number of seconds"},
  };
  for (const auto& row : rows) {
    const auto settings = parse({std::string{row.variable} + "=" + row.value});
    ASSERT_FALSE(settings) << row.variable << "=" << row.value;
    EXPECT_EQ(settings.error().code, Code::invalid_argument);
    EXPECT_EQ(settings.error().message, row.text);
  }
}

TEST(Environment, OfTheProcessHasWhatGetenvHas) {
  const auto environment = Environment::of_process();
  EXPECT_EQ(environment.value("PATH"), std::getenv("PATH"));
  EXPECT_EQ(environment.value("LYK_NOT_SET"), "");
}

}  // namespace
}  // namespace lyk::client
