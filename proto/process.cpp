#include "proto/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace lyk {

void occupy_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0)
      continue;
    // The lowest free number is `fd`, since those below it are taken. Without /dev/null nothing can
    // be done, and the number stays free.
    [[maybe_unused]] const int opened =
        ::open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

void ignore_signals_of_writes() {
  struct sigaction ignoring {};
  ignoring.sa_handler = SIG_IGN;
  (void)::sigemptyset(&ignoring.sa_mask);  // cannot fail
  for (const int number : {SIGPIPE, SIGXFSZ})
    (void)::sigaction(number, &ignoring, nullptr);  // fails for a number that is no signal only
}

}  // namespace lyk
