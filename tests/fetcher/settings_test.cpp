#include "fetcher/settings.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "proto/text.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::fetcher {
namespace {

namespace fs = std::filesystem;

Settings settings(const Environment& environment) {
  auto result = settings_from_environment(environment);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? *result : Settings::defaults();
}

TEST(Settings, AnEmptyEnvironmentGivesTheDefaults) {
  const Settings all = settings({});
  EXPECT_EQ(all.endpoint.text(), "https://huggingface.co/");
  EXPECT_TRUE(all.token.value.empty());
  EXPECT_TRUE(all.proxies.http.empty() && all.proxies.https.empty());
  EXPECT_TRUE(all.certificates.file.empty() && all.certificates.folder.empty());
  EXPECT_FALSE(all.offline);
  EXPECT_TRUE(all.hf_caches.empty());
  EXPECT_EQ(all.stall_timeout, limits::stall_timeout);
}

TEST(Settings, TheEndpointMayBeReplaced) {
  EXPECT_EQ(settings({{"HF_ENDPOINT", "http://mirror:8080/hf/"}}).endpoint.below("/a").text(),
            "http://mirror:8080/hf/a");
  const auto bad = settings_from_environment({{"HF_ENDPOINT", "mirror"}});
  ASSERT_FALSE(bad);
  EXPECT_TRUE(bad.error().message.starts_with("HF_ENDPOINT: ")) << bad.error().message;
}

TEST(Settings, TheTokenComesFromTheFirstPlaceThatHasOne) {
  const test::TempDir folder;
  std::ofstream{folder / "token"} << "hf_file\n";
  std::ofstream{folder / "other"} << "  hf_other \r\n";
  Environment environment{{"HF_HOME", folder.path().string()}};
  EXPECT_EQ(settings(environment).token.value, "hf_file");
  EXPECT_EQ(settings(environment).token.source, folder / "token");
  environment["HF_TOKEN_PATH"] = folder / "other";
  EXPECT_EQ(settings(environment).token.value, "hf_other");
  environment["HUGGING_FACE_HUB_TOKEN"] = "hf_legacy";
  EXPECT_EQ(settings(environment).token.value, "hf_legacy");
  environment["HF_TOKEN"] = " hf_new\n";
  EXPECT_EQ(settings(environment).token.value, "hf_new");
  EXPECT_EQ(settings(environment).token.source, "HF_TOKEN");
  environment["HF_TOKEN"] = "  ";
  EXPECT_EQ(settings(environment).token.source, "HUGGING_FACE_HUB_TOKEN");
  environment["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "yes";
  EXPECT_TRUE(settings(environment).token.value.empty());
}

TEST(Settings, ATokenFileThatIsNotThereIsNoToken) {
  EXPECT_TRUE(settings({{"HF_HOME", "/nowhere"}}).token.value.empty());
  EXPECT_TRUE(settings({{"HOME", "/dev/null"}}).token.value.empty());
}

TEST(Settings, ATokenFileThatIsNoFileIsRefusedAtOnce) {
  const test::TempDir folder;
  const std::string pipe = folder / "token";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto refused = settings_from_environment({{"HF_TOKEN_PATH", pipe}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "token file '" + pipe + "': not a regular file");
}

TEST(Settings, ABadTokenIsRefusedWithoutBeingShown) {
  const auto bad = settings_from_environment({{"HF_TOKEN", "hf_se cret\x01"}});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "token from HF_TOKEN: it has a character that no token has");
}

TEST(Settings, HomeAndVariablesAreExpandedInPaths) {
  const Settings all = settings({{"HOME", "/home/a"},
                                 {"X", "/x"},
                                 {"KERNELS_CACHE", "/k"},
                                 {"HF_HUB_CACHE", "$X/${X}/$NO/~"},
                                 {"HUGGINGFACE_HUB_CACHE", "/legacy"}});
  EXPECT_EQ(all.hf_caches, (std::vector<fs::path>{"/k", "/x//x/$NO/~"}));
  EXPECT_EQ(settings({{"HOME", "/home/a"}, {"HF_HOME", "~/hf"}}).hf_caches,
            std::vector<fs::path>{"/home/a/hf/hub"});
  EXPECT_EQ(settings({{"HOME", "/home/a"}}).hf_caches,
            std::vector<fs::path>{"/home/a/.cache/huggingface/hub"});
  EXPECT_EQ(settings({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/c"}}).hf_caches,
            std::vector<fs::path>{"/c/huggingface/hub"});
  EXPECT_EQ(settings({{"HUGGINGFACE_HUB_CACHE", "/legacy"}}).hf_caches,
            std::vector<fs::path>{"/legacy"});
}

TEST(Settings, OfflineIsReadAsTheEcosystemDoes) {
  EXPECT_EQ(settings({{"HF_HUB_OFFLINE", "1"}}).offline, "HF_HUB_OFFLINE=1");
  EXPECT_EQ(settings({{"HF_HUB_OFFLINE", "True"}}).offline, "HF_HUB_OFFLINE=True");
  EXPECT_FALSE(settings({{"HF_HUB_OFFLINE", "y"}}).offline);
  EXPECT_EQ(settings({{"TRANSFORMERS_OFFLINE", "on"}}).offline, "TRANSFORMERS_OFFLINE=on");
  EXPECT_FALSE(settings({{"HF_HUB_OFFLINE", "0"}, {"TRANSFORMERS_OFFLINE", "1"}}).offline);
  EXPECT_EQ(settings({{"LIBREYOLO_HUB_KERNELS", "off"}}).offline, "LIBREYOLO_HUB_KERNELS=off");
  EXPECT_FALSE(settings({{"LIBREYOLO_HUB_KERNELS", "1"}}).offline);
}

TEST(Settings, ProxiesComeInBothCases) {
  const Settings all = settings({{"http_proxy", "a:1"},
                                 {"HTTP_PROXY", "b:1"},
                                 {"HTTPS_PROXY", "c:1"},
                                 {"NO_PROXY", "localhost,.lan"}});
  EXPECT_EQ(all.proxies.http, "a:1");
  EXPECT_EQ(all.proxies.https, "c:1");
  EXPECT_EQ(all.proxies.no_proxy, "localhost,.lan");
  EXPECT_EQ(settings({{"ALL_PROXY", "d:1"}}).proxies.https, "d:1");
  EXPECT_EQ(settings({{"ALL_PROXY", "d:1"}, {"http_proxy", "a:1"}}).proxies.http, "a:1");
}

TEST(Settings, AProxyThatARequestCouldHaveSetIsNotTaken) {
  EXPECT_EQ(settings({{"HTTP_PROXY", "evil:1"}, {"REQUEST_METHOD", "GET"}}).proxies.http, "");
}

TEST(Settings, CertificatesComeFromTheFirstVariableThatIsSet) {
  Environment environment{{"SSL_CERT_DIR", "/dir"}};
  EXPECT_EQ(settings(environment).certificates.folder, "/dir");
  environment["SSL_CERT_FILE"] = "/file.pem";
  EXPECT_EQ(settings(environment).certificates.file, "/file.pem");
  EXPECT_EQ(settings(environment).certificates.folder, "");
  environment["CURL_CA_BUNDLE"] = "/curl.pem";
  EXPECT_EQ(settings(environment).certificates.source, "CURL_CA_BUNDLE");
  environment["REQUESTS_CA_BUNDLE"] = "/requests.pem";
  EXPECT_EQ(settings(environment).certificates.file, "/requests.pem");
  EXPECT_EQ(settings(environment).certificates.source, "REQUESTS_CA_BUNDLE");
}

TEST(Settings, ACertificateBundleMayBeAFolder) {
  const test::TempDir folder;
  EXPECT_EQ(settings({{"REQUESTS_CA_BUNDLE", folder.path().string()}}).certificates.folder,
            folder.path().string());
}

TEST(Settings, TimeoutsAreWholeSecondsAndZeroIsTheDefault) {
  EXPECT_EQ(settings({{"HF_HUB_DOWNLOAD_TIMEOUT", "3"}}).stall_timeout, std::chrono::seconds{3});
  EXPECT_EQ(settings({{"HF_HUB_DOWNLOAD_TIMEOUT", "0"}}).stall_timeout, limits::stall_timeout);
  EXPECT_EQ(settings({{"HF_HUB_ETAG_TIMEOUT", "4"}}).connect_timeout, std::chrono::seconds{4});
  for (const char* bad : {"x", "1.5", "-1", "99999999"})
    EXPECT_FALSE(settings_from_environment({{"HF_HUB_DOWNLOAD_TIMEOUT", bad}})) << bad;
}

}  // namespace
}  // namespace lyk::fetcher
