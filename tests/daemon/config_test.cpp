#include "daemon/config.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <utility>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace lyk::daemon {
namespace {

using fetcher::Environment;

TEST(Config, AnEmptyFileIsTheDefaults) {
  const auto config = parse_config("", "daemon.toml");
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->endpoint);
  EXPECT_TRUE(config->mirrors.empty());
  EXPECT_EQ(config->cache_bytes_max, limits::cache_bytes_max_default);
  EXPECT_EQ(config->image_cache_bytes_max, limits::image_cache_bytes_max_default);
}

TEST(Config, EveryKeyIsRead) {
  const auto config = parse_config(R"(
endpoint = "https://hub.example"
mirrors = ["https://a.example", "https://b.example/kernels"]
cache_max_bytes = 1_000_000
image_cache_max_bytes = 0
ca_file = "/etc/ca.pem"
proxy = "http://proxy.example:3128"
token_file = "/etc/token"
)",
                                   "daemon.toml");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->endpoint, "https://hub.example");
  EXPECT_EQ(config->mirrors.size(), 2U);
  EXPECT_EQ(config->cache_bytes_max, 1'000'000U);
  EXPECT_EQ(config->image_cache_bytes_max, 0U);
  EXPECT_EQ(config->ca_file, "/etc/ca.pem");
  EXPECT_EQ(config->proxy, "http://proxy.example:3128");
  EXPECT_EQ(config->token_file, "/etc/token");
}

TEST(Config, MistakesAreRefusedWithTheirLine) {
  const std::vector<std::pair<std::string_view, std::string_view>> rows{
      {"endpont = \"https://x\"", "daemon.toml:1"},
      {"\nendpoint = 3", "daemon.toml:2"},
      {"endpoint = \"ftp://x\"", "daemon.toml:1"},
      {"mirrors = \"https://x\"", "daemon.toml:1"},
      {"mirrors = [\"x\"]", "daemon.toml:1"},
      {"cache_max_bytes = -1", "daemon.toml:1: cache_max_bytes: a number of bytes is not negative"},
      {"cache_max_bytes = \"2GiB\"", "daemon.toml:1"},
      {"ca_file = \"ca.pem\"", "daemon.toml:1: ca_file: a path begins with '/'"},
      {"token_file = \"token\"", "daemon.toml:1: token_file: a path begins with '/'"},
      {"= 3", "daemon.toml:1"},
      {"endpoint = \"\xff\"", "daemon.toml"},
  };
  for (const auto& [text, message] : rows) {
    const auto config = parse_config(text, "daemon.toml");
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().code, Code::invalid_argument) << text;
    EXPECT_TRUE(config.error().message.starts_with(message)) << config.error().message;
  }
}

TEST(Config, AMisspeltKeyIsToldTheRightOne) {
  const auto config = parse_config("cache_max_byte = 3", "daemon.toml");
  ASSERT_FALSE(config);
  EXPECT_NE(config.error().message.find("cache_max_bytes"), std::string::npos)
      << config.error().message;
}

class ConfigFile : public ::testing::Test {
protected:
  void write(std::string_view text, mode_t mode = 0644) {
    std::ofstream{path()} << text;
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
  }
  std::string path() const { return folder_ / "daemon.toml"; }

  test::TempDir folder_;
};

TEST_F(ConfigFile, MayBeMissingUnlessItWasNamed) {
  EXPECT_TRUE(load_config(path(), MissingFile::is_empty, ::geteuid()));
  const auto named = load_config(path(), MissingFile::is_an_error, ::geteuid());
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().message, "open '" + path() + "': No such file or directory");
}

TEST_F(ConfigFile, IsReadWhole) {
  write("# " + std::string(10'000, 'x') + "\ncache_max_bytes = 5\n");
  const auto config = load_config(path(), MissingFile::is_empty, ::geteuid());
  ASSERT_TRUE(config);
  EXPECT_EQ(config->cache_bytes_max, 5U);
}

TEST_F(ConfigFile, ThatOthersMayWriteIsRefused) {
  write("", 0666);
  const auto config = load_config(path(), MissingFile::is_empty, ::geteuid());
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, Code::refused);
}

TEST_F(ConfigFile, OfAnotherUserIsRefused) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "only root can give a file away";
  write("");
  ASSERT_EQ(::chown(path().c_str(), 12'345, 12'345), 0);
  EXPECT_FALSE(load_config(path(), MissingFile::is_empty, 0));
  EXPECT_TRUE(load_config(path(), MissingFile::is_empty, 12'345));
}

TEST_F(ConfigFile, ThatIsAPipeIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  const auto config = load_config(path(), MissingFile::is_empty, ::geteuid());
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message, "open '" + path() + "': not a regular file");
}

TEST_F(ConfigFile, OfEndlessLengthIsRefused) {
  write(std::string(limits::config_bytes_max + 1, '#'));
  const auto config = load_config(path(), MissingFile::is_empty, ::geteuid());
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, Code::invalid_argument);
}

TEST(Places, OfTheSystemServiceDoNotDependOnAnyEnvironment) {
  const auto places = places_of(wire::Mode::system,
                                {{"HOME", "/h"},
                                 {"XDG_CONFIG_HOME", "/c"},
                                 {"XDG_CACHE_HOME", "/k"},
                                 {"XDG_RUNTIME_DIR", "/r"}},
                                {});
  ASSERT_TRUE(places);
  EXPECT_EQ(places->config, "/etc/libreyolo-kernels/daemon.toml");
  EXPECT_EQ(places->cache, "/var/cache/libreyolo-kernels");
  EXPECT_EQ(places->socket, "/run/libreyolo-kernels/socket");
  ASSERT_EQ(places->pins.size(), 2U);
  EXPECT_TRUE(places->pins[0].string().ends_with("/share/libreyolo-kernels/pins.d"));
  EXPECT_EQ(places->pins[1], "/etc/libreyolo-kernels/pins.d");
}

TEST(Places, OfAUserAreTheXdgFolders) {
  const auto places = places_of(wire::Mode::user,
                                {{"HOME", "/h"},
                                 {"XDG_CONFIG_HOME", "/c"},
                                 {"XDG_CACHE_HOME", "/k"},
                                 {"XDG_RUNTIME_DIR", "/r"}},
                                {});
  ASSERT_TRUE(places);
  EXPECT_EQ(places->config, "/c/libreyolo-kernels/daemon.toml");
  EXPECT_EQ(places->cache, "/k/libreyolo-kernels");
  EXPECT_EQ(places->socket, "/r/libreyolo-kernels/socket");
  EXPECT_EQ(places->pins.back(), "/c/libreyolo-kernels/pins.d");
}

TEST(Places, OfAUserFallBackToTheHomeFolder) {
  const auto places = places_of(wire::Mode::private_instance,
                                {{"HOME", "/h"}, {"XDG_CONFIG_HOME", "relative"}}, {});
  ASSERT_TRUE(places);
  EXPECT_EQ(places->config, "/h/.config/libreyolo-kernels/daemon.toml");
  EXPECT_EQ(places->cache, "/h/.cache/libreyolo-kernels");
  EXPECT_TRUE(places->socket.empty());
}

TEST(Places, AUserWithoutAHomeIsToldWhatToSet) {
  const auto places = places_of(wire::Mode::user, {}, {});
  ASSERT_FALSE(places);
  EXPECT_EQ(places.error().code, Code::invalid_argument);
  EXPECT_NE(places.error().message.find("XDG_CONFIG_HOME"), std::string::npos);
}

TEST(Places, TheCommandLineWins) {
  const auto places =
      places_of(wire::Mode::user, {},
                {.config = "/x.toml", .cache = "/x", .pins = {"/p", "/q"}, .socket = "/x.socket"});
  ASSERT_TRUE(places) << places.error().message;
  EXPECT_EQ(places->config, "/x.toml");
  EXPECT_EQ(places->missing_config, MissingFile::is_an_error);
  EXPECT_EQ(places->cache, "/x");
  EXPECT_EQ(places->pins, (std::vector<std::filesystem::path>{"/p", "/q"}));
  EXPECT_EQ(places->socket, "/x.socket");
}

fetcher::Settings settings(wire::Mode mode, const Environment& environment, const Config& config) {
  auto made = settings_of(mode, environment, config, "/etc/daemon.toml");
  EXPECT_TRUE(made);
  return made ? *made : fetcher::Settings::defaults();
}

Config full_config() {
  Config config;
  config.endpoint = "https://config.example";
  config.mirrors = {"https://mirror.example"};
  config.proxy = "http://config-proxy.example";
  config.ca_file = "/config-ca.pem";
  return config;
}

const Environment full_environment{{"HF_ENDPOINT", "https://env.example"},
                                   {"HF_TOKEN", "hf_secret"},
                                   {"https_proxy", "http://env-proxy.example"},
                                   {"SSL_CERT_FILE", "/env-ca.pem"},
                                   {"HOME", "/h"},
                                   {"HF_HUB_CACHE", "/env-cache"}};

TEST(NetworkSettings, OfTheSystemServiceComeFromItsConfigurationAlone) {
  const auto made = settings(wire::Mode::system, full_environment, full_config());
  EXPECT_EQ(made.endpoint.host(), "config.example");
  EXPECT_EQ(made.mirrors.size(), 1U);
  EXPECT_TRUE(made.token.value.empty());
  EXPECT_EQ(made.proxies.https, "http://config-proxy.example");
  EXPECT_EQ(made.certificates.file, "/config-ca.pem");
  EXPECT_EQ(made.certificates.source, "ca_file in /etc/daemon.toml");
  EXPECT_TRUE(made.hf_caches.empty());
}

TEST(NetworkSettings, TheEnvironmentOfAUserWinsOverTheFile) {
  const auto made = settings(wire::Mode::user, full_environment, full_config());
  EXPECT_EQ(made.endpoint.host(), "env.example");
  EXPECT_EQ(made.mirrors.size(), 1U);
  EXPECT_EQ(made.token.value, "hf_secret");
  EXPECT_EQ(made.proxies.https, "http://env-proxy.example");
  EXPECT_EQ(made.certificates.file, "/env-ca.pem");
}

TEST(NetworkSettings, TheFileServesAUserWhoseEnvironmentSaysNothing) {
  const auto made = settings(wire::Mode::user, {{"HOME", "/nowhere"}}, full_config());
  EXPECT_EQ(made.endpoint.host(), "config.example");
  EXPECT_EQ(made.proxies.http, "http://config-proxy.example");
  EXPECT_EQ(made.certificates.file, "/config-ca.pem");
}

TEST(NetworkSettings, TheSwitchesThatForbidTheNetworkReachEveryMode) {
  for (const wire::Mode mode : {wire::Mode::system, wire::Mode::user, wire::Mode::private_instance})
    for (const Environment& environment :
         {Environment{{"LIBREYOLO_HUB_KERNELS", "off"}}, Environment{{"HF_HUB_OFFLINE", "1"}},
          Environment{{"TRANSFORMERS_OFFLINE", "yes"}}})
      EXPECT_TRUE(settings(mode, environment, {}).offline) << environment.begin()->first;
  EXPECT_FALSE(settings(wire::Mode::system, {{"HF_HUB_OFFLINE", "0"}}, {}).offline);
}

TEST(NetworkSettings, ATokenFileThatIsNotThereIsAnError) {
  Config config;
  config.token_file = "/nowhere/token";
  const auto made = settings_of(wire::Mode::system, {}, config, "/etc/daemon.toml");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "token_file in /etc/daemon.toml: there is no file '/nowhere/token'");
}

}  // namespace
}  // namespace lyk::daemon
