#include "daemon/process.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "proto/limits.hpp"

namespace lyk::daemon {
namespace {

// Sealed images, fetches with their sockets and files, SQLite, git, the log.
constexpr std::size_t own_descriptors = limits::images_in_memory_max + 512;

}  // namespace

void hold_other_signals(Keyboard keyboard) {
  ::sigset_t mask{};
  (void)::sigemptyset(&mask);  // these fail for numbers that are no signals only
  (void)::sigaddset(&mask, SIGHUP);
  if (keyboard == Keyboard::is_our_callers)
    (void)::sigaddset(&mask, SIGINT);
  (void)::pthread_sigmask(SIG_BLOCK, &mask, nullptr);  // fails for a wrong first argument only
}

Result<UniqueFd> take_signals() {
  ::sigset_t mask{};
  (void)::sigemptyset(&mask);  // these fail for numbers that are no signals only
  for (const int number : {SIGTERM, SIGINT, SIGHUP})
    (void)::sigaddset(&mask, number);
  if (const int number = ::pthread_sigmask(SIG_BLOCK, &mask, nullptr); number != 0)
    return os_error(number, "block signals");
  UniqueFd fd{::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!fd)
    return os_error(errno, "create a signalfd");
  return fd;
}

Wish read_wish(int signals, Keyboard keyboard) {
  ::signalfd_siginfo received{};
  if (::read(signals, &received, sizeof received) != static_cast<ssize_t>(sizeof received))
    return Wish::none;
  const auto number = static_cast<int>(received.ssi_signo);
  if (number == SIGTERM)
    return Wish::stop;
  if (keyboard == Keyboard::is_our_callers)
    return Wish::none;
  return number == SIGHUP ? Wish::reload : Wish::stop;
}

std::size_t make_room_for_connections(std::size_t connections) {
  ::rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return connections;  // accept tells when there is no room
  const ::rlim_t wanted = connections + own_descriptors;
  if (limit.rlim_cur < wanted) {
    ::rlimit raised{.rlim_cur = wanted, .rlim_max = std::max(limit.rlim_max, wanted)};
    if (::setrlimit(RLIMIT_NOFILE, &raised) != 0) {
      // Not ours to raise: then as far as it goes.
      raised = {.rlim_cur = std::min(wanted, limit.rlim_max), .rlim_max = limit.rlim_max};
      (void)::setrlimit(RLIMIT_NOFILE, &raised);  // the line below looks at what came of it
    }
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
      return connections;
  }
  if (limit.rlim_cur >= wanted)
    return connections;
  return std::max<std::size_t>(limit.rlim_cur / 2, 1);
}

void keep_memory_small() {
  (void)::mallopt(M_ARENA_MAX, 2);  // 0 would mean that the default stays, which is no error
  (void)::mallopt(M_TRIM_THRESHOLD, static_cast<int>(256 * limits::kib));
  (void)::mallopt(M_MMAP_THRESHOLD, static_cast<int>(256 * limits::kib));
}

}  // namespace lyk::daemon
