#include "fetcher/url.hpp"

#include <gtest/gtest.h>

namespace lyk::fetcher {
namespace {

Url parsed(std::string_view text) {
  auto url = Url::parse(text);
  EXPECT_TRUE(url) << (url ? "" : url.error().message);
  return url ? *url : *Url::parse("http://failed");
}

TEST(Url, KeepsPathAndQueryByteForByte) {
  for (const char* text : {"https://huggingface.co/a/b%2Fc?x=%2F&y=+", "http://127.0.0.1:8080/"})
    EXPECT_EQ(parsed(text).text(), text);
  EXPECT_EQ(parsed("HTTPS://HuggingFace.CO:443/A?B").text(), "https://huggingface.co/A?B");
  EXPECT_EQ(parsed("http://h?q").text(), "http://h/?q");
  EXPECT_EQ(parsed("http://h/a#fragment").text(), "http://h/a");
  EXPECT_EQ(parsed("http://[::1]:8080/x").port(), 8080);
  EXPECT_EQ(parsed("http://h:/x").port(), 80);
}

TEST(Url, RefusesWhatAParserCouldReadInTwoWays) {
  for (const char* text : {"",
                           "/a",
                           "huggingface.co",
                           "ftp://h/",
                           "file:///etc/passwd",
                           "http:/h",
                           "http://",
                           "http:///x",
                           "http://user@h/",
                           "http://user:secret@h/",
                           "http://h:0/",
                           "http://h:65536/",
                           "http://h:80x/",
                           "http://h h/",
                           "http://h/a b",
                           "http://h/\x01",
                           "http://h/\xc3\xa4",
                           "http://h\\x/",
                           "http://[::1/",
                           "http://[]/",
                           "http://h%2f/",
                           "http://h/a\\b",
                           "javascript:1",
                           "http://h/<x>"})
    EXPECT_FALSE(Url::parse(text)) << text;
}

TEST(Url, NeverPutsAQueryOrPasswordIntoAMessage) {
  EXPECT_EQ(parsed("https://h/p?Signature=secret").redacted(), "https://h/p");
  for (const char* text :
       {"http://user:secret@h/", "http://h h/?secret", "foo:x?secret", "http://h:0/?secret"}) {
    const auto url = Url::parse(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().message.find("secret"), std::string::npos) << url.error().message;
  }
}

struct ResolveCase {
  const char* reference;
  const char* result;  // nullptr: refused
};

// RFC 3986 sections 5.4.1 and 5.4.2, with a base of ours.
TEST(Url, TellsTheSchemeOfAReference) {
  EXPECT_EQ(scheme_of("file:///etc/passwd"), "file");
  EXPECT_EQ(scheme_of("HTTPS://host/"), "HTTPS");
  EXPECT_EQ(scheme_of("/path:with/colon"), "");
  EXPECT_EQ(scheme_of("?a=b:c"), "");
  EXPECT_TRUE(is_web_scheme("HTTPS"));
  EXPECT_FALSE(is_web_scheme("ftp"));
}

TEST(Url, ResolvesReferencesAsTheRfcSays) {
  const Url base = parsed("http://a/b/c/d;p?q");
  for (const ResolveCase& each :
       std::vector<ResolveCase>{{"g", "http://a/b/c/g"},
                                {"./g", "http://a/b/c/g"},
                                {"g/", "http://a/b/c/g/"},
                                {"/g", "http://a/g"},
                                {"//g", "http://g/"},
                                {"?y", "http://a/b/c/d;p?y"},
                                {"g?y", "http://a/b/c/g?y"},
                                {"#s", "http://a/b/c/d;p?q"},
                                {"g#s", "http://a/b/c/g"},
                                {";x", "http://a/b/c/;x"},
                                {"", "http://a/b/c/d;p?q"},
                                {".", "http://a/b/c/"},
                                {"./", "http://a/b/c/"},
                                {"..", "http://a/b/"},
                                {"../", "http://a/b/"},
                                {"../g", "http://a/b/g"},
                                {"../..", "http://a/"},
                                {"../../g", "http://a/g"},
                                {"../../../../g", "http://a/g"},
                                {"/./g", "http://a/g"},
                                {"/../g", "http://a/g"},
                                {"g.", "http://a/b/c/g."},
                                {"..g", "http://a/b/c/..g"},
                                {"./g/.", "http://a/b/c/g/"},
                                {"g/../h", "http://a/b/c/h"},
                                {"g?y/./x", "http://a/b/c/g?y/./x"},
                                {"https://x/y?z", "https://x/y?z"},
                                {"/api/resolve-cache/a%2Fb?%2Fx=&etag=%22y%22",
                                 "http://a/api/resolve-cache/a%2Fb?%2Fx=&etag=%22y%22"},
                                {"g:h", nullptr},
                                {"file:///etc/passwd", nullptr},
                                {"//u:p@h/", nullptr},
                                {"a b", nullptr}}) {
    const auto url = base.resolve(each.reference);
    EXPECT_EQ(url ? url->text() : "refused", each.result == nullptr ? "refused" : each.result)
        << each.reference;
  }
}

TEST(Url, AnOriginIsSchemeHostAndPort) {
  const Url hub = parsed("https://huggingface.co/x");
  EXPECT_TRUE(hub.same_origin(parsed("https://HUGGINGFACE.co:443/y?z")));
  EXPECT_FALSE(hub.same_origin(parsed("http://huggingface.co/x")));
  EXPECT_FALSE(hub.same_origin(parsed("https://huggingface.co:8443/x")));
  EXPECT_FALSE(hub.same_origin(parsed("https://cdn.huggingface.co/x")));
}

TEST(Url, BelowAppendsToTheEndpointsPath) {
  EXPECT_EQ(parsed("https://h").below("/a?b").text(), "https://h/a?b");
  EXPECT_EQ(parsed("https://h/mirror/").below("/a").text(), "https://h/mirror/a");
}

TEST(Url, PercentEncodesAllButUnreservedCharacters) {
  EXPECT_EQ(percent_encode("a/b c+%~._-", Slash::kept), "a/b%20c%2B%25~._-");
  EXPECT_EQ(percent_encode("refs/pr/1", Slash::encoded), "refs%2Fpr%2F1");
  EXPECT_EQ(percent_encode("\xc3\xa4", Slash::kept), "%C3%A4");
}

}  // namespace
}  // namespace lyk::fetcher
