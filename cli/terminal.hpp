// What the three standard streams are: the one place that asks. Everything else takes the answer.
// Thread rule: values.
#pragma once

#include <cstddef>

#include "cli/preferences.hpp"

namespace lyk::cli {

enum class Colours { off, on };

// How progress is shown: one line that is drawn anew, one line for each file, or not at all.
enum class ProgressStyle { redraw, lines, none };

struct Terminal {
  int out_fd = 1;
  int error_fd = 2;
  Colours out_colours = Colours::off;
  Colours error_colours = Colours::off;
  ProgressStyle progress = ProgressStyle::lines;
  std::size_t columns = 80;  // of stderr, where progress is drawn
};

// Asks isatty and the window size of stdout and stderr.
Terminal look_at_terminal(const Preferences& preferences);

}  // namespace lyk::cli
