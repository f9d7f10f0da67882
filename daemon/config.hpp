// daemon.toml and the places of a mode: what the one who runs the daemon decided. docs/daemon.md
// says what each key means.
//
// Parsing is strict: an unknown key is a typing error. The system service reads its own file alone;
// a user's instance also has the environment of whoever started it, which wins over the file, since
// it is about this one run. Thread rule: values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fetcher/settings.hpp"
#include "proto/limits.hpp"
#include "proto/methods.hpp"
#include "proto/result.hpp"

namespace lyk::daemon {

struct Config {
  std::optional<std::string> endpoint;
  std::vector<std::string> mirrors;
  std::uint64_t cache_bytes_max = limits::cache_bytes_max_default;
  std::uint64_t image_cache_bytes_max = limits::image_cache_bytes_max_default;
  std::optional<std::string> ca_file;
  std::optional<std::string> proxy;
  std::optional<std::string> token_file;
};

// `source_name` is the file's name, for messages. Fails with invalid_argument.
Result<Config> parse_config(std::string_view toml, std::string_view source_name);

enum class MissingFile { is_an_error, is_empty };

// Reads the file. refused: somebody else than root and `own_uid` owns it or may write it.
Result<Config> load_config(const std::filesystem::path& path, MissingFile missing, uid_t own_uid);

// What the command line may say instead of the places of a mode.
struct Overrides {
  std::optional<std::filesystem::path> config;
  std::optional<std::filesystem::path> cache;
  std::vector<std::filesystem::path> pins;
  std::optional<std::filesystem::path> socket;
};

struct Places {
  std::filesystem::path config;
  MissingFile missing_config = MissingFile::is_empty;
  std::filesystem::path cache;
  std::vector<std::filesystem::path> pins;  // later ones win
  std::filesystem::path socket;             // empty: there is no place for one
};

// DESIGN sections 4, 5 and 9. invalid_argument: a user's mode without HOME and without the XDG
// variable that would do instead.
Result<Places> places_of(wire::Mode mode,
                         const fetcher::Environment& environment,
                         const Overrides& overrides);

// How the network is reached. In system mode only the switches that forbid the network are read
// from the environment: they can take away, not give.
Result<fetcher::Settings> settings_of(wire::Mode mode,
                                      const fetcher::Environment& environment,
                                      const Config& config,
                                      const std::filesystem::path& config_path);

}  // namespace lyk::daemon
