// The daemon as a child process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "proto/unique.hpp"

namespace lyk::daemon::test {

struct Ended {
  int exit_code = -1;  // -1: by a signal
  std::string output;  // stdout and stderr together
};

class Program {
public:
  enum class Streams { ours, closed };
  struct Setup {
    std::vector<std::string> arguments;
    std::vector<std::string> environment;  // "NAME=value"; nothing else is passed on
    int fd_3 = -1;                         // becomes descriptor 3, with LISTEN_FDS and LISTEN_PID
    Streams streams = Streams::ours;       // stdin as ours, and what is written is its output
  };
  explicit Program(const Setup& setup);
  ~Program();  // kills what still runs
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Reads its output until it holds `text`. False at its end.
  bool waits_until_it_says(const std::string& text);
  void signal(int number) const;
  Ended wait();
  // Where one of its descriptors leads; empty: it is closed.
  std::string descriptor(int fd) const;
  pid_t pid() const { return pid_; }

private:
  bool read_more();
  pid_t pid_ = -1;
  UniqueFd output_;
  std::string said_;
};

}  // namespace lyk::daemon::test
