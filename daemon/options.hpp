// The command line of libreyolo-kernelsd. Thread rule: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "daemon/config.hpp"
#include "daemon/log.hpp"
#include "proto/methods.hpp"
#include "proto/result.hpp"

namespace lyk::daemon {

enum class Action { serve, help, version };

struct Options {
  Action action = Action::serve;
  std::optional<wire::Mode> mode;  // absent: told from how we were started
  Overrides overrides;
  std::optional<Level> threshold;
};

// The arguments without the program's name. invalid_argument names the argument, and the nearest
// one that exists.
Result<Options> parse_options(std::span<const std::string_view> arguments);

extern const std::string_view help_text;

}  // namespace lyk::daemon
