#include "cli/preferences.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "proto/text.hpp"

namespace lyk::cli {

namespace {

using Words = std::array<std::string_view, 4>;

// The words of huggingface_hub (facts hub-protocol 5): everything else, "y" and "2" too, is false.
constexpr Words truthy{"1", "on", "yes", "true"};
constexpr Words off{"0", "off", "no", "false"};

bool is_one_of(const Words& words, std::string_view value) {
  std::string lower{value};
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(words.begin(), words.end(), lower) != words.end();
}

std::optional<std::string> read_offline(const client::Environment& environment) {
  const auto as_set = [&](std::string_view name) {
    return str(name, '=', environment.value(name));
  };
  if (is_one_of(off, environment.value("LIBREYOLO_HUB_KERNELS")))
    return as_set("LIBREYOLO_HUB_KERNELS");
  const auto hub = environment.value("HF_HUB_OFFLINE");
  if (is_one_of(truthy, hub))
    return as_set("HF_HUB_OFFLINE");
  // The older name counts only where the newer one says nothing.
  if (hub.empty() && is_one_of(truthy, environment.value("TRANSFORMERS_OFFLINE")))
    return as_set("TRANSFORMERS_OFFLINE");
  return std::nullopt;
}

std::optional<std::filesystem::path> read_config_home(const client::Environment& environment) {
  // The XDG specification: a relative path there is to be ignored.
  if (const auto xdg = environment.value("XDG_CONFIG_HOME"); xdg.starts_with('/'))
    return std::filesystem::path{xdg};
  if (const auto home = environment.value("HOME"); home.starts_with('/'))
    return std::filesystem::path{home} / ".config";
  return std::nullopt;
}

}  // namespace

Preferences read_preferences(const client::Environment& environment) {
  const bool dumb = environment.value("TERM") == "dumb";
  return {.offline_because = read_offline(environment),
          .plain_text = dumb || !environment.value("NO_COLOR").empty(),
          .dumb_terminal = dumb,
          .config_home = read_config_home(environment)};
}

}  // namespace lyk::cli
