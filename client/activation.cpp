#include "client/activation.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "client/own_file.hpp"
#include "client/shortage.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

// ---- the program

constexpr std::string_view program_name = "libreyolo-kernelsd";

std::string_view parent_of(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}

std::string_view last_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// ---- the two children
//
// execve gives every process back the exit signal SIGCHLD, so a child of the host that becomes the
// service would be one that the host's handler and its waitpid(-1) see. Hence two steps, as in
// every double fork, but without a copy of the host's memory (which may be pinned, or tens of
// gigabytes):
//
//   host thread --clone, exit signal 0--> usher --clone--> service: execve
//
// Both share the host's memory and suspend who made them until execve or exit (CLONE_VFORK), so
// what they write is seen without a pipe. The usher leaves at once and the service goes to init. A
// child with exit signal 0 is one that only a wait with __WCLONE or __WALL finds, and it sends
// nothing. (A host that is process 1 or a subreaper is handed the service, as it is every orphan.)
//
// In between nothing may be done that is not safe in a signal handler, and no state of libc
// changed: its memory is the host's. Hence raw system calls.

// glibc's clone by its other name: ThreadSanitizer wraps the usual one, and takes every child for
// one with a memory of its own.
extern "C" int bare_clone(
    int (*run)(void*), void* stack_top, int flags, void* argument, ...) noexcept __asm__("__clone");

constexpr std::size_t stack_bytes = std::size_t{32} * 1024;
constexpr int service_fd = 3;

struct Start {
  const char* program = nullptr;
  char* const* arguments = nullptr;
  char* const* variables = nullptr;
  char* pid_digits = nullptr;  // within `variables`: zeros, room for a pid
  int socket = -1;             // this and the next two above service_fd
  int null = -1;
  int standard_error = -1;
  unsigned fds_max = 0;
  std::byte* service_stack_top = nullptr;
  int service = -1;
  int error = 0;
};

// What the kernel takes for sigaction: a handler, flags, a restorer and a mask, all of them nought.
constexpr std::array<unsigned long, 8> default_action{};
constexpr std::size_t kernel_sigset_bytes = 8;

void write_pid(char* digits, long pid) {
  std::array<char, 20> reversed;
  std::size_t count = 0;
  for (; pid > 0; pid /= 10)
    reversed[count++] = static_cast<char>('0' + pid % 10);
  while (count > 0)
    *digits++ = reversed[--count];
}

void close_from(unsigned first, unsigned fds_max) {
  if (::syscall(SYS_close_range, first, ~0U, 0) == 0)
    return;
  for (unsigned fd = first; fd < fds_max; ++fd)  // before Linux 5.9
    (void)::syscall(SYS_close, fd);              // most are not open
}

// Sanitizers keep their own books of stacks and descriptors, which two processes cannot share.
#if defined(__GNUC__)
#  define LYK_BARE __attribute__((no_sanitize("address", "thread", "undefined"), noinline))
#endif

LYK_BARE bool set_up_descriptors(const Start& start) {
  const std::array<std::pair<int, int>, 4> moves{{{start.null, STDIN_FILENO},
                                                  {start.null, STDOUT_FILENO},
                                                  {start.standard_error, STDERR_FILENO},
                                                  {start.socket, service_fd}}};
  for (const auto& [from, to] : moves)
    if (::syscall(SYS_dup3, from, to, 0) < 0)
      return false;
  close_from(service_fd + 1, start.fds_max);
  return true;
}

LYK_BARE int run_service(void* argument) {
  auto& start = *static_cast<Start*>(argument);
  for (int number = 1; number < NSIG; ++number)  // SIGKILL and SIGSTOP refuse, and need none
    (void)::syscall(SYS_rt_sigaction, number, default_action.data(), nullptr, kernel_sigset_bytes);
  (void)::syscall(SYS_setsid);  // a new process leads no group: it cannot fail
  write_pid(start.pid_digits, ::syscall(SYS_getpid));
  if (set_up_descriptors(start)) {
    constexpr std::array<unsigned long, 2> none{};
    (void)::syscall(SYS_rt_sigprocmask, SIG_SETMASK, none.data(), nullptr, kernel_sigset_bytes);
    (void)::syscall(SYS_execve, start.program, start.arguments, start.variables);
  }
  start.error = errno;
  return 127;
}

LYK_BARE int usher(void* argument) {
  auto& start = *static_cast<Start*>(argument);
  start.service =
      bare_clone(run_service, start.service_stack_top, CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
  if (start.service < 0)
    start.error = errno;
  else if (start.error != 0)  // it has ended already: leave init nothing to do
    (void)::syscall(SYS_wait4, start.service, nullptr, 0, nullptr);
  return 0;
}

// ---- the host's side

struct Unmap {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const noexcept { (void)::munmap(memory, bytes); }
};
using Mapping = std::unique_ptr<std::byte, Unmap>;

Result<Mapping> map_stacks() {
  constexpr std::size_t bytes = 2 * stack_bytes;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED)
    return passing_error(errno, "map stacks");
  return Mapping{static_cast<std::byte*>(memory), Unmap{bytes}};
}

// Out of the way of descriptors 0 to 3, wherever a host without standard streams would put it.
Result<UniqueFd> above_service_fd(UniqueFd fd, std::string_view what) {
  if (!fd)
    return passing_error(errno, what);
  if (fd.get() > service_fd)
    return fd;
  UniqueFd moved{::fcntl(fd.get(), F_DUPFD_CLOEXEC, service_fd + 1)};
  if (!moved)
    return passing_error(errno, what);
  return moved;
}

bool goes_to_the_service(std::string_view variable) {
  // What systemd tells a service of its own: the host may be one.
  static constexpr std::array<std::string_view, 6> of_the_host{
      "LISTEN_PID=",    "LISTEN_FDS=",   "LISTEN_FDNAMES=",
      "NOTIFY_SOCKET=", "WATCHDOG_PID=", "WATCHDOG_USEC="};
  return std::none_of(of_the_host.begin(), of_the_host.end(),
                      [&](std::string_view name) { return variable.starts_with(name); });
}

std::vector<std::string> service_variables(const Environment& environment) {
  std::vector<std::string> out{std::string{"LISTEN_PID="} + std::string(20, '\0'), "LISTEN_FDS=1",
                               "LISTEN_FDNAMES=varlink"};
  std::copy_if(environment.variables.begin(), environment.variables.end(), std::back_inserter(out),
               goes_to_the_service);
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& string : strings)
    out.push_back(string.data());
  out.push_back(nullptr);
  return out;
}

// What the service writes to standard error goes where the host's goes, but not into a pipe: its
// reader waits for the last writer, and the service may outlive the host by a fetch.
Result<UniqueFd> service_standard_error() {
  struct stat status {};
  const bool is_usable = ::fstat(STDERR_FILENO, &status) == 0 && !S_ISFIFO(status.st_mode) &&
                         !S_ISSOCK(status.st_mode);
  return above_service_fd(is_usable ? UniqueFd{::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)}
                                    : UniqueFd{::open("/dev/null", O_WRONLY | O_CLOEXEC)},
                          "open standard error");
}

unsigned open_files_max() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX)
    return 65'536;
  return static_cast<unsigned>(limit.rlim_cur);
}

// No handler of the host may run in a child that shares its memory.
Result<void> run_usher(Start& start, std::byte* stack_top) {
  sigset_t all;
  sigset_t before;
  (void)::sigfillset(&all);  // these two cannot fail
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int pid = bare_clone(usher, stack_top, CLONE_VM | CLONE_VFORK, &start);
  const int number = errno;
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0)
    return passing_error(number, "clone");
  // By its own id only; raw, because the wrapper is a cancellation point. If a wait of the host
  // that asked for everything (__WALL) was faster, there is nothing left to do.
  while (::syscall(SYS_wait4, pid, nullptr, __WCLONE, nullptr) < 0 && errno == EINTR) {
  }
  return {};
}

}  // namespace

std::vector<std::string> program_places(std::string_view folder) {
  std::vector<std::string> out{str(folder, "/", program_name)};
  // lib, lib64, or Debian's lib/x86_64-linux-gnu; anything else has no bin of its own.
  std::string_view prefix;
  const auto is_lib = [](std::string_view name) { return name == "lib" || name == "lib64"; };
  if (is_lib(last_of(folder)) || last_of(folder) == "bin")
    prefix = parent_of(folder);
  else if (is_lib(last_of(parent_of(folder))))
    prefix = parent_of(parent_of(folder));
  else
    return out;
  for (const std::string_view place : {"bin", "libexec", "libexec/libreyolo-kernels"})
    if (std::string path = str(prefix, "/", place, "/", program_name); path != out.front())
      out.push_back(std::move(path));
  return out;
}

Result<std::string> find_program(const Settings& settings) {
  if (!settings.program.empty())
    return settings.program;
  std::vector<std::string> places;
  if (const std::string file = own_file(); !file.empty())
    places = program_places(parent_of(file));
  places.emplace_back(LYK_SERVICE_PROGRAM);
  for (const std::string& place : places)
    if (::access(place.c_str(), X_OK) == 0)
      return place;
  return Error{Code::network,
               str("there is no ", quoted(places.front()), " nor ", quoted(places.back()),
                   " to start (LIBREYOLO_KERNELS_EXEC=/path "
                   "names another)")};
}

Result<UniqueFd> activate(const std::string& program, const Environment& environment) {
  std::array<int, 2> pair{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return passing_error(errno, "make a socket pair");
  UniqueFd ours{pair[0]};
  LYK_TRY_ASSIGN(const UniqueFd theirs, above_service_fd(UniqueFd{pair[1]}, "duplicate a socket"));
  LYK_TRY_ASSIGN(
      const UniqueFd null,
      above_service_fd(UniqueFd{::open("/dev/null", O_RDWR | O_CLOEXEC)}, "open '/dev/null'"));
  LYK_TRY_ASSIGN(const UniqueFd standard_error, service_standard_error());
  LYK_TRY_ASSIGN(const Mapping stacks, map_stacks());

  std::vector<std::string> argument_texts{program};
  std::vector<std::string> variable_texts = service_variables(environment);
  const std::vector<char*> arguments = pointers_to(argument_texts);
  const std::vector<char*> variables = pointers_to(variable_texts);
  Start start{.program = program.c_str(),
              .arguments = arguments.data(),
              .variables = variables.data(),
              .pid_digits = variables.front() + std::string_view{"LISTEN_PID="}.size(),
              .socket = theirs.get(),
              .null = null.get(),
              .standard_error = standard_error.get(),
              .fds_max = open_files_max(),
              .service_stack_top = stacks.get() + 2 * stack_bytes};
  LYK_TRY(run_usher(start, stacks.get() + stack_bytes));
  if (is_shortage(start.error))
    return passing_error(start.error, str("start ", quoted(program)));
  if (start.error != 0)
    return Error{Code::network, os_error(start.error, str("start ", quoted(program))).message};
  return ours;
}

}  // namespace lyk::client
