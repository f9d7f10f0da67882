#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace lyk::cli {

namespace {

Colours colours_of(int fd, const Preferences& preferences) {
  return !preferences.plain_text && ::isatty(fd) == 1 ? Colours::on : Colours::off;
}

}  // namespace

Terminal look_at_terminal(const Preferences& preferences) {
  Terminal terminal{.out_fd = STDOUT_FILENO, .error_fd = STDERR_FILENO};
  terminal.out_colours = colours_of(terminal.out_fd, preferences);
  terminal.error_colours = colours_of(terminal.error_fd, preferences);
  if (!preferences.dumb_terminal && ::isatty(terminal.error_fd) == 1) {
    terminal.progress = ProgressStyle::redraw;
    winsize size{};
    if (::ioctl(terminal.error_fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0)
      terminal.columns = size.ws_col;
  }
  return terminal;
}

}  // namespace lyk::cli
