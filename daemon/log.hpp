// The daemon's journal: one line per event on stderr, with the priority that journald reads, the
// name of the event and key=value. Only the daemon logs; everything below it returns an Error.
//
//   <6>fetch.done slot=ms_deform_attn bytes=81920 ms=140
//
// error: we failed our duty. warning: refused or degraded, and `then` says what happens next. info:
// start, stop, one line per fetch, refusal and first hand-out of an image to a process. debug: the
// rest.
//
// Thread rule: a Log is an immutable value; lines of several threads do not mix, since each is one
// write.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "proto/digest.hpp"

namespace lyk::daemon {

enum class Level { error = 3, warning = 4, info = 6, debug = 7 };  // as syslog has them

// The events, each logged at one place.
namespace event {
inline constexpr std::string_view start = "daemon.start";
inline constexpr std::string_view ready = "daemon.ready";
inline constexpr std::string_view stopping = "daemon.stopping";
inline constexpr std::string_view stop = "daemon.stop";
inline constexpr std::string_view reload = "daemon.reload";
inline constexpr std::string_view config_refused = "config.refused";
inline constexpr std::string_view pin_refused = "pin.refused";
inline constexpr std::string_view accept_failed = "accept.failed";
inline constexpr std::string_view connection_open = "connection.open";
inline constexpr std::string_view connection_refused = "connection.refused";
inline constexpr std::string_view connection_broken = "connection.broken";
inline constexpr std::string_view call = "call";
inline constexpr std::string_view call_refused = "call.refused";
inline constexpr std::string_view call_failed = "call.failed";
inline constexpr std::string_view resolve_done = "resolve.done";
inline constexpr std::string_view fetch_start = "fetch.start";
inline constexpr std::string_view fetch_done = "fetch.done";
inline constexpr std::string_view fetch_failed = "fetch.failed";
inline constexpr std::string_view fetch_warning = "fetch.warning";
inline constexpr std::string_view quarantine = "store.quarantine";
inline constexpr std::string_view store_gone = "store.gone";
inline constexpr std::string_view store_changed = "store.changed";
inline constexpr std::string_view internal = "internal";
}  // namespace event

struct Field {
  std::string_view key;
  std::string value;

  Field(std::string_view name, std::string_view text) : key(name), value(text) {}
  Field(std::string_view name, const char* text) : key(name), value(text) {}
  template <std::integral T>
  Field(std::string_view name, T number) : key(name), value(std::to_string(number)) {}
};

// The line without its newline. A value with anything but plain characters is quoted; quotes,
// backslashes and control characters inside are escaped, so that a line stays one line.
std::string format_line(Level level, std::string_view event, std::initializer_list<Field> fields);

class Log {
public:
  Log(int fd, Level threshold) : fd_(fd), threshold_(threshold) {}

  void write(Level level, std::string_view event, std::initializer_list<Field> fields) const;
  void error(std::string_view event, std::initializer_list<Field> fields) const {
    write(Level::error, event, fields);
  }
  void warning(std::string_view event, std::initializer_list<Field> fields) const {
    write(Level::warning, event, fields);
  }
  void info(std::string_view event, std::initializer_list<Field> fields) const {
    write(Level::info, event, fields);
  }
  void debug(std::string_view event, std::initializer_list<Field> fields) const {
    write(Level::debug, event, fields);
  }
  // A digest as this threshold shows it: whole at debug, the first 12 digits else.
  std::string shown(const Digest& digest) const;

private:
  int fd_;  // borrowed: stderr
  Level threshold_;
};

}  // namespace lyk::daemon
