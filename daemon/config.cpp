#include "daemon/config.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include "fetcher/small_file.hpp"
#include "fetcher/toml.hpp"
#include "proto/ownership.hpp"
#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

constexpr std::string_view product = "libreyolo-kernels";
constexpr std::array<std::string_view, 7> config_keys{
    "endpoint", "mirrors", "cache_max_bytes", "image_cache_max_bytes",
    "ca_file",  "proxy",   "token_file"};
// The switches that may only take away: they reach the system service too, from its unit.
constexpr std::array<std::string_view, 3> offline_variables{
    "LIBREYOLO_HUB_KERNELS", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"};

std::string value_of(const fetcher::Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string{} : found->second;
}

Result<void> read_bytes_key(const fetcher::TomlTable& table,
                            std::string_view key,
                            std::uint64_t& out) {
  LYK_TRY_ASSIGN(const std::optional<std::int64_t> value, table.integer(key));
  if (!value)
    return {};
  if (*value < 0)
    return table.error_at(key, "a number of bytes is not negative");
  out = static_cast<std::uint64_t>(*value);
  return {};
}

Result<void> check_url(const fetcher::TomlTable& table,
                       std::string_view key,
                       const std::string& text) {
  if (auto url = fetcher::Url::parse(text); !url)
    return table.error_at(key, url.error().message);
  return {};
}

Result<void> check_absolute(const fetcher::TomlTable& table,
                            std::string_view key,
                            const std::optional<std::string>& path) {
  if (path && !path->starts_with('/'))
    return table.error_at(key, "a path begins with '/'");
  return {};
}

// $VARIABLE/libreyolo-kernels, or $HOME/<below_home>/libreyolo-kernels. The XDG specification says
// to ignore a relative value.
Result<std::filesystem::path> user_folder(const fetcher::Environment& environment,
                                          std::string_view variable,
                                          std::string_view below_home) {
  if (const std::string value = value_of(environment, variable); value.starts_with('/'))
    return std::filesystem::path{value} / product;
  const std::string home = value_of(environment, "HOME");
  if (!home.starts_with('/'))
    return Error{
        Code::invalid_argument,
        str("neither ", variable, " nor HOME is set to a path, so there is no place for a user's ",
            "files; set one of them")};
  return std::filesystem::path{home} / below_home / product;
}

std::filesystem::path user_socket(const fetcher::Environment& environment) {
  const std::string runtime = value_of(environment, "XDG_RUNTIME_DIR");
  if (!runtime.starts_with('/'))
    return {};
  return std::filesystem::path{runtime} / product / "socket";
}

}  // namespace

Result<Config> parse_config(std::string_view toml, std::string_view source_name) {
  LYK_TRY_ASSIGN(const fetcher::TomlTable table,
                 fetcher::TomlTable::parse(toml, source_name, limits::config_bytes_max));
  LYK_TRY(table.only(config_keys));
  Config config;
  LYK_TRY_ASSIGN(config.endpoint, table.text("endpoint"));
  if (config.endpoint)
    LYK_TRY(check_url(table, "endpoint", *config.endpoint));
  LYK_TRY_ASSIGN(std::optional<std::vector<std::string>> mirrors, table.texts("mirrors"));
  config.mirrors = std::move(mirrors).value_or(std::vector<std::string>{});
  for (const std::string& mirror : config.mirrors)
    LYK_TRY(check_url(table, "mirrors", mirror));
  LYK_TRY(read_bytes_key(table, "cache_max_bytes", config.cache_bytes_max));
  LYK_TRY(read_bytes_key(table, "image_cache_max_bytes", config.image_cache_bytes_max));
  LYK_TRY_ASSIGN(config.ca_file, table.text("ca_file"));
  LYK_TRY(check_absolute(table, "ca_file", config.ca_file));
  LYK_TRY_ASSIGN(config.proxy, table.text("proxy"));
  LYK_TRY_ASSIGN(config.token_file, table.text("token_file"));
  LYK_TRY(check_absolute(table, "token_file", config.token_file));
  return config;
}

Result<Config> load_config(const std::filesystem::path& path, MissingFile missing, uid_t own_uid) {
  const std::string name = path.string();
  const std::string what = str("open ", quoted(name));
  LYK_TRY_ASSIGN(const std::optional<fetcher::RegularFile> file,
                 fetcher::open_regular_file(name, what));
  if (!file) {
    if (missing == MissingFile::is_empty)
      return Config{};
    return os_error(ENOENT, what);
  }
  LYK_TRY(check_ownership(file->status, name, own_uid));
  LYK_TRY_ASSIGN(const std::string text,
                 fetcher::read_small_file(file->fd.get(), limits::config_bytes_max, quoted(name)));
  if (text.size() > limits::config_bytes_max)
    return Error{Code::invalid_argument,
                 str(name, ": larger than ", limits::config_bytes_max, " bytes")};
  return parse_config(text, name);
}

Result<Places> places_of(wire::Mode mode,
                         const fetcher::Environment& environment,
                         const Overrides& overrides) {
  Places places;
  places.pins = {LYK_PRODUCT_PINS, "/etc/libreyolo-kernels/pins.d"};
  if (mode == wire::Mode::system) {
    places.config = "/etc/libreyolo-kernels/daemon.toml";
    places.cache = "/var/cache/libreyolo-kernels";
    places.socket = "/run/libreyolo-kernels/socket";
  } else {
    if (!overrides.config || overrides.pins.empty()) {
      LYK_TRY_ASSIGN(const std::filesystem::path own,
                     user_folder(environment, "XDG_CONFIG_HOME", ".config"));
      places.config = own / "daemon.toml";
      places.pins.push_back(own / "pins.d");
    }
    if (!overrides.cache) {
      LYK_TRY_ASSIGN(places.cache, user_folder(environment, "XDG_CACHE_HOME", ".cache"));
    }
    places.socket = user_socket(environment);
  }
  if (overrides.config) {
    places.config = *overrides.config;
    places.missing_config = MissingFile::is_an_error;
  }
  if (overrides.cache)
    places.cache = *overrides.cache;
  if (!overrides.pins.empty())
    places.pins = overrides.pins;
  if (overrides.socket)
    places.socket = *overrides.socket;
  return places;
}

Result<fetcher::Settings> settings_of(wire::Mode mode,
                                      const fetcher::Environment& environment,
                                      const Config& config,
                                      const std::filesystem::path& config_path) {
  fetcher::Environment visible;
  if (mode == wire::Mode::system) {
    for (const std::string_view variable : offline_variables)
      if (const auto found = environment.find(variable); found != environment.end())
        visible.insert(*found);
  } else {
    visible = environment;
  }
  LYK_TRY_ASSIGN(fetcher::Settings settings, fetcher::settings_from_environment(visible));
  if (config.endpoint && value_of(visible, "HF_ENDPOINT").empty()) {
    LYK_TRY_ASSIGN(settings.endpoint, fetcher::Url::parse(*config.endpoint));
  }
  for (const std::string& text : config.mirrors) {
    LYK_TRY_ASSIGN(fetcher::Url mirror, fetcher::Url::parse(text));
    settings.mirrors.push_back(std::move(mirror));
  }
  if (config.proxy && settings.proxies.http.empty() && settings.proxies.https.empty()) {
    settings.proxies.http = *config.proxy;
    settings.proxies.https = *config.proxy;
  }
  if (config.ca_file && settings.certificates.source.empty()) {
    settings.certificates.file = *config.ca_file;
    settings.certificates.source = str("ca_file in ", config_path.string());
  }
  if (config.token_file && settings.token.value.empty()) {
    LYK_TRY_ASSIGN(settings.token, fetcher::read_token_file(*config.token_file));
    if (settings.token.value.empty())
      return Error{Code::invalid_argument, str("token_file in ", config_path.string(),
                                               ": there is no file ", quoted(*config.token_file))};
  }
  return settings;
}

}  // namespace lyk::daemon
