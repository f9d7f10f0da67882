// One run of crash_child under fault_io.so (tests/fakes/fault_io.c tells what each setting does).
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace lyk::cache::test {

// In memory where there is such a place: a run makes hundreds of fsyncs.
inline std::filesystem::path fast_folder() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

class FastFolder {
public:
  FastFolder() {
    std::string pattern = (fast_folder() / "lyk_crash.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      std::abort();
    path_ = pattern;
  }
  ~FastFolder() {
    std::error_code ignored;  // what is left in memory is small
    std::filesystem::remove_all(path_, ignored);
  }
  FastFolder(const FastFolder&) = delete;
  FastFolder& operator=(const FastFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

struct Fault {
  int at = 0;
  std::string action = "0";
  std::string no_locks = "0";  // flock and record locks
  std::string no_flock = "0";
  std::string unreadable = {};       // part of a path
  std::filesystem::path count = {};  // file for the number of changes; empty: not wanted
};

struct Ended {
  bool killed = false;
  int exit_code = 0;
  std::string printed;  // the code, if it was refused
};

inline Ended run_child(const std::string& scenario,
                       const std::filesystem::path& root,
                       const Fault& fault) {
  std::array<int, 2> pipe_ends{};
  if (::pipe2(pipe_ends.data(), O_CLOEXEC) != 0)
    std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe_ends[1], STDOUT_FILENO);
    ::setenv("LD_PRELOAD", LYK_FAULT_IO, 1);
    ::setenv("FAULT_IO_ROOT", root.c_str(), 1);
    ::setenv("FAULT_IO_AT", std::to_string(fault.at).c_str(), 1);
    ::setenv("FAULT_IO_ACTION", fault.action.c_str(), 1);
    ::setenv("FAULT_IO_COUNT", fault.count.c_str(), 1);
    ::setenv("FAULT_IO_UNREADABLE", fault.unreadable.c_str(), 1);
    ::setenv("FAULT_IO_NO_FLOCK", fault.no_flock.c_str(), 1);
    ::setenv("FAULT_IO_NO_LOCKS", fault.no_locks.c_str(), 1);
    ::execl(LYK_CRASH_CHILD, LYK_CRASH_CHILD, scenario.c_str(), root.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  Ended ended;
  std::array<char, 256> buffer{};
  ssize_t got = 0;
  while ((got = ::read(pipe_ends[0], buffer.data(), buffer.size())) > 0)
    ended.printed.append(buffer.data(), static_cast<std::size_t>(got));
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  ended.killed = WIFSIGNALED(status);
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

}  // namespace lyk::cache::test
