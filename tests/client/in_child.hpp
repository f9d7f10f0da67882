// Runs a part of a test in a child process: the stand-in driver reads its environment once in a
// process, keeps what happened to it for good, and a lost context cannot be had back.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace lyk::test {

// The thread sanitizer starts no thread in the child of a process that had several, and takes a
// mutex or a thread that the child inherited for a mistake: what such children do is for the other
// presets.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool is_thread_sanitizer = true;
#else
inline constexpr bool is_thread_sanitizer = false;
#endif

// The address sanitizer's allocator is not made for fork: a lock of it that another thread holds at
// that moment stays locked in the child, which waits for it when it allocates.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_address_sanitizer = true;
#else
inline constexpr bool is_address_sanitizer = false;
#endif
inline constexpr const char* forks_among_threads =
    "it forks while another thread may hold a lock of the address sanitizer's allocator";

using Variables = std::vector<std::pair<std::string, std::string>>;

// What `body` returns in a child that has these variables: empty is well, anything else says what
// is not. How the child ended is said too, if it did not end well.
inline std::string in_child(const Variables& variables, const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::close(ends[0]);
    for (const auto& [name, value] : variables)
      (void)::setenv(name.c_str(), value.c_str(), 1);
    std::string said;
    try {
      said = body();
    } catch (const std::exception& exception) {
      said = std::string{"exception: "} + exception.what();
    }
    const char* rest = said.data();
    std::size_t left = said.size();
    while (left != 0) {
      const ssize_t written = ::write(ends[1], rest, left);
      if (written <= 0)
        ::_exit(2);
      rest += written;
      left -= static_cast<std::size_t>(written);
    }
    // Without destructors of the test program: what the child inherited is not its own.
    ::_exit(0);
  }
  (void)::close(ends[1]);
  std::string said;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    said.append(buffer.data(), static_cast<std::size_t>(count));
  (void)::close(ends[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child)
    std::abort();
  if (WIFSIGNALED(status))
    said += " (killed by signal " + std::to_string(WTERMSIG(status)) + ")";
  else if (WEXITSTATUS(status) != 0)
    said += " (exited with " + std::to_string(WEXITSTATUS(status)) + ")";
  return said;
}

}  // namespace lyk::test
