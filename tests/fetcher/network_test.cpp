// Certificates and proxies: git and downloads reach the network in one and the same way.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>

#include "fetcher/fetch.hpp"
#include "proto/text.hpp"
#include "tests/fetcher/hub.hpp"

namespace lyk::fetcher {
namespace {

using namespace lyk::test;

class Network : public testing::Test {
protected:
  void start(const std::vector<std::string>& arguments) {
    hub = std::make_unique<FakeHub>(folder / "hub", arguments);
    context = context_for(hub->ready("url"));
    context->settings.stall_timeout = std::chrono::seconds{5};
  }
  void trust(const std::vector<std::string>& files) {
    std::ofstream bundle{folder / "bundle.pem"};
    for (const std::string& file : files)
      bundle << std::ifstream{file}.rdbuf();
    context->settings.certificates = {folder / "bundle.pem", {}, "SSL_CERT_FILE"};
  }
  std::string outcome() {
    const auto report = fetch(store, pin_of("kernels-community/deformable-detr", commit),
                              FetchOptions{*context, {}});
    return report ? "fetched" : report.error().message;
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  TempDir folder;
  GitId commit = make_repo(folder / "hub", {"--random", "images/a.cubin=70000"});
  std::unique_ptr<FakeHub> hub;
  std::optional<Context> context;
  cache::Store store = open_store(folder / "store");
};

TEST_F(Network, ACertificateOfAnOwnAuthorityIsTrustedWhenItIsGiven) {
  start({"--tls", folder / "tls"});
  trust({hub->ready("ca_file")});
  EXPECT_EQ(outcome(), "fetched");
}

TEST_F(Network, AnUnknownAuthorityIsRefusedAndNamed) {
  start({"--tls", folder / "tls"});
  const std::string said = outcome();
  EXPECT_TRUE(
      has(said, "the certificate of the server is not trusted by the system's certificates"))
      << said;
}

TEST_F(Network, AnotherAuthorityIsRefusedWithThePlaceThatWasLookedIn) {
  start({"--tls", folder / "tls", "--tls-untrusted"});
  trust({hub->ready("ca_file")});
  const std::string said = outcome();
  EXPECT_TRUE(has(said, str("is not trusted by SSL_CERT_FILE '", folder / "bundle.pem", "'")))
      << said;
  EXPECT_FALSE(has(said, "attempts")) << "trust does not come by asking again: " << said;
}

TEST_F(Network, ABundleThatIsNotThereIsNamed) {
  start({"--tls", folder / "tls"});
  context->settings.certificates = {"/nowhere/bundle.pem", {}, "SSL_CERT_FILE"};
  const std::string said = outcome();
  EXPECT_TRUE(has(said, "SSL_CERT_FILE '/nowhere/bundle.pem' cannot be used")) << said;
}

// Nobody ever writes into this pipe: a library that reads it would wait for ever.
TEST_F(Network, ABundleThatIsNoFileIsRefusedAtOnce) {
  start({"--tls", folder / "tls"});
  const std::string pipe = folder / "pipe.pem";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  context->settings.certificates = {pipe, {}, "SSL_CERT_FILE"};
  const std::string said = outcome();
  EXPECT_TRUE(has(said, str("SSL_CERT_FILE '", pipe, "' cannot be used: not a regular file")))
      << said;
}

TEST_F(Network, ARedirectFromHttpsToHttpIsRefused) {
  start({"--tls", folder / "tls", "--misbehave", "redirect-downgrade"});
  trust({hub->ready("ca_file")});
  const std::string said = outcome();
  EXPECT_TRUE(has(said, "from https to http refused")) << said;
}

TEST_F(Network, GitAndDownloadsGoThroughTheProxy) {
  start({"--proxy", "http"});
  context->settings.proxies.http = hub->ready("proxy_url");
  context->settings.endpoint = *Url::parse("http://hub.test");
  EXPECT_EQ(outcome(), "fetched");
}

TEST_F(Network, NoProxyIsAskedForHostsThatItExcepts) {
  start({"--proxy", "http"});
  context->settings.proxies.http = hub->ready("proxy_url");
  context->settings.proxies.no_proxy = "hub.test";
  context->settings.endpoint = *Url::parse("http://hub.test");
  const std::string said = outcome();
  EXPECT_TRUE(has(said, "Could not resolve host: hub.test")) << said;
}

TEST_F(Network, AProxyThatWantsALoginGetsItFromItsUrl) {
  start({"--proxy", "http", "--proxy-login", "ada:secret"});
  context->settings.endpoint = *Url::parse("http://hub.test");
  const std::string url = hub->ready("proxy_url");
  context->settings.proxies.http = str("http://ada:secret@", url.substr(url.rfind('/') + 1));
  EXPECT_EQ(outcome(), "fetched");
}

TEST_F(Network, AProxyWithoutItsLoginIsAnErrorWithoutSecrets) {
  start({"--proxy", "http", "--proxy-login", "ada:secret"});
  context->settings.endpoint = *Url::parse("http://hub.test");
  const std::string url = hub->ready("proxy_url");
  context->settings.proxies.http = str("http://ada:wrong@", url.substr(url.rfind('/') + 1));
  const std::string said = outcome();
  EXPECT_TRUE(has(said, "407")) << said;
  EXPECT_FALSE(has(said, "wrong")) << said;
}

TEST_F(Network, AnHttpsProxyIsTrustedByTheSameBundle) {
  start({"--tls", folder / "tls", "--proxy", "https"});
  context->settings.proxies.https = hub->ready("proxy_url");
  trust({hub->ready("ca_file"), hub->ready("proxy_ca_file")});
  EXPECT_EQ(outcome(), "fetched");
}

TEST_F(Network, TheErrorSaysThatItIsTheProxysCertificate) {
  start({"--tls", folder / "tls", "--proxy", "https"});
  context->settings.proxies.https = hub->ready("proxy_url");
  trust({hub->ready("ca_file")});
  const std::string said = outcome();
  EXPECT_TRUE(has(said, "the certificate of the proxy is not trusted")) << said;
}

}  // namespace
}  // namespace lyk::fetcher
