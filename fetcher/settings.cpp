#include "fetcher/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "fetcher/small_file.hpp"
#include "fetcher/white_space.hpp"
#include "proto/text.hpp"

namespace lyk::fetcher {

namespace {

constexpr std::size_t token_bytes_max = 4096;

// The value of a variable; empty if it is not set, which no variable here tells apart from empty.
std::string_view get(const Environment& environment, std::string_view name) {
  const auto at = environment.find(name);
  return at == environment.end() ? std::string_view{} : std::string_view{at->second};
}

// The first of `names` that is set: its name and value.
struct Setting {
  std::string_view name;
  std::string_view value;
};
template <std::size_t N>
Setting first_of(const Environment& environment, const std::array<std::string_view, N>& names) {
  for (const std::string_view name : names)
    if (const std::string_view value = get(environment, name); !value.empty())
      return {name, value};
  return {};
}

std::string upper(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return out;
}

// As huggingface_hub: everything else, `y` and `2` too, is false.
bool is_true(std::string_view value) {
  const std::string text = upper(value);
  return text == "1" || text == "ON" || text == "YES" || text == "TRUE";
}

// As LibreYOLO reads LIBREYOLO_HUB_KERNELS: these switch off, anything else does not.
bool is_off(std::string_view value) {
  const std::string text = upper(value);
  return text == "0" || text == "FALSE" || text == "OFF" || text == "NO";
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// `~` at the beginning and `$NAME` or `${NAME}` anywhere, as a shell would; unknown names stay.
std::string expand(std::string_view text, const Environment& environment) {
  std::string out;
  if (text == "~" || text.starts_with("~/")) {
    out = get(environment, "HOME");
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const auto dollar = std::min(text.find('$'), text.size());
    out += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty())
      break;
    const bool braces = text.starts_with("${");
    const std::size_t begin = braces ? 2 : 1;
    std::size_t end = begin;
    while (end < text.size() && is_name_char(text[end]))
      ++end;
    const bool closed = !braces || (end < text.size() && text[end] == '}');
    const auto at = environment.find(text.substr(begin, end - begin));
    const std::size_t length = end + (braces && closed ? 1 : 0);
    if (closed && at != environment.end())
      out += at->second;
    else
      out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

Result<Token> checked_token(std::string_view text, std::string source) {
  const std::string_view token = trim(text);
  const bool good =
      token.size() <= token_bytes_max &&
      std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!good)
    return Error{Code::invalid_argument,
                 str("token from ", source, ": it has a character that no token has")};
  if (token.empty())
    return Token{};
  return Token{std::string{token}, std::move(source)};
}

// $HF_HOME, or where it is by default; empty if there is no home at all.
std::string hf_home(const Environment& environment) {
  if (const std::string_view home = get(environment, "HF_HOME"); !home.empty())
    return expand(home, environment);
  if (const std::string_view cache = get(environment, "XDG_CACHE_HOME"); !cache.empty())
    return str(expand(cache, environment), "/huggingface");
  const std::string_view home = get(environment, "HOME");
  return home.empty() ? std::string{} : str(home, "/.cache/huggingface");
}

Result<Token> token_from(const Environment& environment) {
  if (is_true(get(environment, "HF_HUB_DISABLE_IMPLICIT_TOKEN")))
    return Token{};
  for (const std::string_view name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    LYK_TRY_ASSIGN(Token token, checked_token(get(environment, name), std::string{name}));
    if (!token.value.empty())
      return token;
  }
  if (const std::string_view path = get(environment, "HF_TOKEN_PATH"); !path.empty())
    return read_token_file(expand(path, environment));
  const std::string home = hf_home(environment);
  return home.empty() ? Token{} : read_token_file(home + "/token");
}

std::vector<std::filesystem::path> caches_from(const Environment& environment) {
  std::vector<std::filesystem::path> caches;
  if (const std::string_view own = get(environment, "KERNELS_CACHE"); !own.empty())
    caches.emplace_back(own);
  const auto hub = first_of(
      environment, std::array<std::string_view, 2>{"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"});
  if (!hub.value.empty())
    caches.emplace_back(expand(hub.value, environment));
  else if (const std::string home = hf_home(environment); !home.empty())
    caches.emplace_back(home + "/hub");
  return caches;
}

std::optional<std::string> offline_from(const Environment& environment) {
  if (const std::string_view value = get(environment, "LIBREYOLO_HUB_KERNELS"); is_off(value))
    return str("LIBREYOLO_HUB_KERNELS=", value);
  const auto offline = first_of(
      environment, std::array<std::string_view, 2>{"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"});
  if (is_true(offline.value))
    return str(offline.name, "=", offline.value);
  return std::nullopt;
}

Proxies proxies_from(const Environment& environment) {
  const auto value = [&](std::string_view lower) {
    const std::string name = upper(lower);
    // Set by a web server from a request's `Proxy` header, it would be an attacker's ("httpoxy").
    const bool from_request = name == "HTTP_PROXY" && environment.contains("REQUEST_METHOD");
    const std::string_view small = get(environment, lower);
    return std::string{small.empty() && !from_request ? get(environment, name) : small};
  };
  const std::string all = value("all_proxy");
  Proxies proxies{value("http_proxy"), value("https_proxy"), value("no_proxy")};
  if (proxies.http.empty())
    proxies.http = all;
  if (proxies.https.empty())
    proxies.https = all;
  return proxies;
}

// The bundles of the several HTTP libraries that people have set up for: the most special name
// first.
Certificates certificates_from(const Environment& environment) {
  const auto file = first_of(
      environment,
      std::array<std::string_view, 3>{"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"});
  if (!file.value.empty()) {
    std::error_code ignored;  // a path that cannot be looked at is told by curl, with its name
    if (std::filesystem::is_directory(file.value, ignored))  // REQUESTS_CA_BUNDLE may be a folder
      return {{}, std::string{file.value}, std::string{file.name}};
    return {std::string{file.value}, {}, std::string{file.name}};
  }
  if (const std::string_view folder = get(environment, "SSL_CERT_DIR"); !folder.empty())
    return {{}, std::string{folder}, "SSL_CERT_DIR"};
  return {};
}

// Whole seconds; not set, empty or 0 is the default.
Result<std::chrono::seconds> timeout_from(const Environment& environment,
                                          std::string_view name,
                                          std::chrono::seconds otherwise) {
  const std::string_view text = get(environment, name);
  if (text.empty())
    return otherwise;
  int value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || value < 0 ||
      value > 86400)
    return Error{Code::invalid_argument,
                 str(name, " ", quoted(text), ": it must be a whole number of seconds")};
  return value == 0 ? otherwise : std::chrono::seconds{value};
}

}  // namespace

Environment process_environment() {
  Environment environment;
  for (char** at = ::environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry{*at};
    const auto equals = entry.find('=');
    if (equals != std::string_view::npos)
      environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

Settings Settings::defaults() {
  auto endpoint = Url::parse("https://huggingface.co");
  LYK_CHECK(endpoint.has_value());
  Settings settings{std::move(*endpoint), {}, {}, {}, {}, {}, {}, {}};
  settings.user_agent = "libreyolo-kernels/" LYK_VERSION;
  return settings;
}

Result<Token> read_token_file(const std::filesystem::path& path) {
  const std::string what = str("token file ", quoted(path.string()));
  LYK_TRY_ASSIGN(const std::optional<RegularFile> file, open_regular_file(path.string(), what));
  if (!file)
    return Token{};
  LYK_TRY_ASSIGN(const std::string text,
                 read_small_file(file->fd.get(), token_bytes_max + 1, what));
  return checked_token(text, path.string());
}

Result<Settings> settings_from_environment(const Environment& environment) {
  Settings settings = Settings::defaults();
  if (const std::string_view endpoint = get(environment, "HF_ENDPOINT"); !endpoint.empty()) {
    auto url = Url::parse(endpoint);
    if (!url)
      return annotate(std::move(url).error(), "HF_ENDPOINT");
    settings.endpoint = std::move(*url);
  }
  LYK_TRY_ASSIGN(settings.token, token_from(environment));
  settings.proxies = proxies_from(environment);
  settings.certificates = certificates_from(environment);
  settings.offline = offline_from(environment);
  settings.hf_caches = caches_from(environment);
  LYK_TRY_ASSIGN(settings.connect_timeout,
                 timeout_from(environment, "HF_HUB_ETAG_TIMEOUT", settings.connect_timeout));
  LYK_TRY_ASSIGN(settings.stall_timeout,
                 timeout_from(environment, "HF_HUB_DOWNLOAD_TIMEOUT", settings.stall_timeout));
  return settings;
}

}  // namespace lyk::fetcher
