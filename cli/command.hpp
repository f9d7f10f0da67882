// A command is a row: name, help and a function from the words given to a report. Commands do not
// print: they return what goes to stdout, and only progress reaches stderr while they run.
// Thread rule: immutable tables; one command runs in a process.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "cli/preferences.hpp"
#include "cli/terminal.hpp"
#include "client/driver.hpp"
#include "client/settings.hpp"
#include "proto/result.hpp"

namespace lyk::cli {

struct Report {
  std::string text;                // for stdout: the whole answer, ending in a newline
  std::vector<std::string> notes;  // for stderr, one line each, unless --quiet
  int exit_code = 0;
  std::optional<Error> failure;  // told on stderr: a failure that has something to show on stdout
};

inline Report answer(std::string text) {
  Report report;
  report.text = std::move(text);
  return report;
}

struct Invocation {
  const Arguments& arguments;
  const client::Environment& environment;
  const Preferences& preferences;
  const Terminal& terminal;
  std::string_view driver_library;  // "libcuda.so.1"; tests have another

  bool json() const { return arguments.has("json"); }
  bool offline() const { return preferences.offline_because.has_value(); }
  Colours colours() const { return terminal.out_colours; }
  ProgressStyle progress() const {
    return arguments.has("quiet") ? ProgressStyle::none : terminal.progress;
  }
};

struct Example {
  std::string_view words;  // after the program's name
  std::string_view what;   // what it does, in a few words
};

struct Command {
  std::string_view name;
  std::string_view summary;  // one line, for the list of commands
  PositionalRange positionals;
  std::string_view description;  // a paragraph or more, lines broken by hand
  std::span<const Option> options;
  std::span<const Example> examples;
  Result<Report> (*run)(const Invocation& invocation);
};

// Every command, in the order in which help shows them.
std::span<const Command* const> commands();

// Null for an unknown name.
const Command* find_command(std::string_view name);

extern const Command fetch_command;
extern const Command resolve_command;
extern const Command inspect_command;
extern const Command list_command;
extern const Command info_command;
extern const Command pins_command;
extern const Command pin_command;
extern const Command verify_command;
extern const Command remove_command;
extern const Command prune_command;
extern const Command rebuild_index_command;
extern const Command status_command;
extern const Command doctor_command;
extern const Command parity_command;

}  // namespace lyk::cli
