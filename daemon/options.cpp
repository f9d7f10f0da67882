#include "daemon/options.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "proto/text.hpp"

namespace lyk::daemon {
namespace {

// A flag says something by being there; a setting takes the next argument, or what follows its `=`.
struct Flag {
  std::string_view name;
  void (*apply)(Options&);
};
struct Setting {
  std::string_view name;
  void (*apply)(Options&, std::string_view value);
};

constexpr std::array<Flag, 6> flags{{
    {"--help", [](Options& options) { options.action = Action::help; }},
    {"-h", [](Options& options) { options.action = Action::help; }},
    {"--version", [](Options& options) { options.action = Action::version; }},
    {"--system", [](Options& options) { options.mode = wire::Mode::system; }},
    {"--user", [](Options& options) { options.mode = wire::Mode::user; }},
    {"--verbose", [](Options& options) { options.threshold = Level::debug; }},
}};

constexpr std::array<Setting, 4> settings{{
    {"--socket",
     [](Options& options, std::string_view value) { options.overrides.socket = value; }},
    {"--config",
     [](Options& options, std::string_view value) { options.overrides.config = value; }},
    {"--cache", [](Options& options, std::string_view value) { options.overrides.cache = value; }},
    {"--pins",
     [](Options& options, std::string_view value) { options.overrides.pins.emplace_back(value); }},
}};

// The value of a setting, out of its own argument or the next one, which is then taken too.
Result<std::string_view> value_of(std::span<const std::string_view> arguments, std::size_t& index) {
  const std::string_view argument = arguments[index];
  const std::size_t equals = argument.find('=');
  std::string_view value;
  if (equals != std::string_view::npos)
    value = argument.substr(equals + 1);
  else if (index + 1 < arguments.size())
    value = arguments[++index];
  if (value.empty())
    return Error{Code::invalid_argument,
                 str("argument ", argument.substr(0, equals), ": needs a path")};
  return value;
}

Error unknown(std::string_view argument) {
  std::array<std::string_view, flags.size() + settings.size()> known;
  std::size_t count = 0;
  for (const Flag& flag : flags)
    known[count++] = flag.name;
  for (const Setting& setting : settings)
    known[count++] = setting.name;
  const std::string_view near = nearest(argument, known);
  return Error{Code::invalid_argument, str("argument ", quoted(argument), ": not known",
                                           near.empty() ? std::string{"; --help shows what is"}
                                                        : str("; did you mean ", near, "?"))};
}

}  // namespace

Result<Options> parse_options(std::span<const std::string_view> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::string_view name = argument.substr(0, argument.find('='));
    const auto* flag = std::find_if(flags.begin(), flags.end(),
                                    [&](const Flag& known) { return known.name == argument; });
    const auto* setting = std::find_if(settings.begin(), settings.end(),
                                       [&](const Setting& known) { return known.name == name; });
    if (flag != flags.end()) {
      flag->apply(options);
    } else if (setting != settings.end()) {
      LYK_TRY_ASSIGN(const std::string_view value, value_of(arguments, i));
      setting->apply(options, value);
    } else {
      return unknown(argument);
    }
  }
  return options;
}

const std::string_view help_text =
    R"(libreyolo-kernelsd: keeps proven GPU kernels and hands them to every process of this machine.

Usage: libreyolo-kernelsd [--system | --user] [--socket PATH] [--config FILE]
                          [--cache DIR] [--pins DIR]... [--verbose]

  --system       serve everybody: /etc, /var/cache and /run/libreyolo-kernels, nobody's environment
  --user         serve the user who starts it (the default): the XDG folders and the environment
  --socket PATH  listen here; else where systemd or the mode says
  --config FILE  read this daemon.toml instead of the mode's
  --cache DIR    keep files here instead of in the mode's folder
  --pins DIR     read pins from here instead of from the mode's folders; later ones win
  --verbose      log every request
  --version      print the version
  --help         print this

Started with a connection on descriptor 3 (LISTEN_FDS=1) it serves that alone, and ends with it.
SIGHUP reads the configuration and the pins again; SIGTERM stops when running requests are done.

Example: )" LYK_PROGRAM_FOLDER
    R"(/libreyolo-kernelsd --user --socket /tmp/kernels.socket --pins ./pins.d
Manual:  libreyolo-kernelsd(8)
)";

}  // namespace lyk::daemon
