// What the command line itself takes from the environment. Where the service is found, and how long
// a process waits for an image, is read by client/settings.
// Thread rule: values.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "client/settings.hpp"

namespace lyk::cli {

struct Preferences {
  // Why only what is cached may be used: "HF_HUB_OFFLINE=1". Absent: the network may be asked.
  std::optional<std::string> offline_because;
  bool plain_text = false;                           // NO_COLOR is set, or TERM=dumb: no colours
  bool dumb_terminal = false;                        // TERM=dumb: no line is drawn anew either
  std::optional<std::filesystem::path> config_home;  // $XDG_CONFIG_HOME, else ~/.config
};

Preferences read_preferences(const client::Environment& environment);

}  // namespace lyk::cli
