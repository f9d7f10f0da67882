// Progress of a fetch or a verification, for people. `Rate` and `progress_line` are pure: the time
// is an argument. `ProgressPrinter` writes to stderr: one line that is drawn anew on a terminal,
// one line for each file elsewhere. Thread rule: one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "cli/terminal.hpp"
#include "proto/methods.hpp"

namespace lyk::cli {

// Milliseconds since any fixed moment.
using Moment = std::chrono::milliseconds;

// Bytes per second over the last seconds, so that a change of speed shows soon and a pause between
// two reads does not.
class Rate {
public:
  void add(Moment now, std::uint64_t bytes_done);
  // Absent until there is half a second to tell from.
  std::optional<std::uint64_t> bytes_per_second() const;

private:
  struct Sample {
    Moment at;
    std::uint64_t bytes_done;
  };
  std::deque<Sample> samples_;
};

struct ProgressState {
  std::string_view subject;  // the slot, "store"
  std::string_view action;   // "proving", "downloading", "verifying"
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;  // 0: not known yet
  std::uint64_t files_done = 0;
  std::uint64_t files_total = 0;
  std::optional<std::uint64_t> bytes_per_second;
};

// One line of at most `columns` characters. What does not fit is left out, from the least
// important: bar, files, rate, time left.
std::string progress_line(const ProgressState& state, std::size_t columns);

// "0:07", "12:30", "1:02:03"; "--:--" beyond 99 hours.
std::string clock_time(std::uint64_t seconds);

class ProgressPrinter {
public:
  explicit ProgressPrinter(const Terminal& terminal, ProgressStyle style)
      : fd_(terminal.error_fd), columns_(terminal.columns), style_(style) {}
  ~ProgressPrinter() { clear(); }
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;
  ProgressPrinter(ProgressPrinter&&) = delete;
  ProgressPrinter& operator=(ProgressPrinter&&) = delete;

  void show(const wire::FetchProgress& progress, Moment now);
  void show(const wire::VerifyProgress& progress, Moment now);
  // A line of the caller's own, on a terminal only.
  void show_step(std::string_view line);
  // Takes the line away again, so that results and errors stand on lines of their own.
  void clear();

private:
  void redraw(ProgressState state, Moment now);
  void write(std::string_view text) const;

  int fd_;
  std::size_t columns_;
  ProgressStyle style_;
  Rate rate_;
  std::string rated_;      // whose bytes rate_ counts
  std::string last_line_;  // as drawn, or as the last line told
  std::optional<Moment> drawn_at_;
};

// The steady clock.
Moment now();

}  // namespace lyk::cli
