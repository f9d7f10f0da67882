#include "cli/process.hpp"

#include <unistd.h>

#include <csignal>
#include <string_view>

#include "proto/process.hpp"

namespace lyk::cli {

namespace {

// Async-signal-safe: write and _exit, and nothing that has to be undone. Whatever the kernel closes
// is closed, and a file that is being written holds the signal off (cli/file.cpp).
[[noreturn]] void end_with(std::string_view line, int signal_number) noexcept {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(128 + signal_number);
}

void end_program(int signal_number) noexcept {
  end_with("libreyolo-kernels: interrupted\n", signal_number);
}

// Below the line of progress, or the ^C, that the terminal shows.
void end_program_on_terminal(int signal_number) noexcept {
  end_with("\nlibreyolo-kernels: interrupted\n", signal_number);
}

void handle_signals() {
  struct sigaction ending {};
  ending.sa_handler = ::isatty(STDERR_FILENO) == 1 ? end_program_on_terminal : end_program;
  (void)::sigemptyset(&ending.sa_mask);  // cannot fail
  // sigaction fails only for a signal that does not exist.
  (void)::sigaction(SIGINT, &ending, nullptr);
  (void)::sigaction(SIGTERM, &ending, nullptr);
}

}  // namespace

void prepare_process() {
  occupy_standard_streams();
  ignore_signals_of_writes();
  handle_signals();
}

}  // namespace lyk::cli
