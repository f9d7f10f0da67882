// What exec activation starts in the tests: a service that answers Resolve with an image and Status
// with what it finds about itself, one `name=value` a line in the field `version`.
//
//   exec_service                 on descriptor 3, as a client starts it
//   exec_service --listen PATH   on a socket; prints a character when it listens
//
// LYK_TEST_SERVICE=exit in the environment: it leaves before it answers.
#include <dirent.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "proto/channel.hpp"
#include "proto/message.hpp"
#include "proto/text.hpp"
#include "tests/client/fake_service.hpp"

namespace {

using lyk::Channel;
using lyk::str;
using lyk::UniqueFd;
using lyk::test::image_bytes;

std::string open_descriptors() {
  std::vector<int> numbers;
  DIR* folder = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(folder))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") {
      int number = -1;
      (void)std::from_chars(name.data(), name.data() + name.size(), number);  // the kernel wrote it
      if (number != ::dirfd(folder))
        numbers.push_back(number);
    }
  ::closedir(folder);
  std::sort(numbers.begin(), numbers.end());
  std::string out;
  for (const int number : numbers)
    out += str(out.empty() ? "" : " ", number);
  return out;
}

std::string target_of(int fd) {
  std::array<char, 512> target{};
  const ssize_t size = ::readlink(str("/proc/self/fd/", fd).c_str(), target.data(), target.size());
  return size < 0 ? "closed" : std::string(target.data(), static_cast<std::size_t>(size));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "unset" : value;
}

// The masks of signals that are blocked and ignored.
std::string signal_lines() {
  std::ifstream status{"/proc/self/status"};
  std::string out;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigBlk:") || line.starts_with("SigIgn:"))
      out += str(line.substr(0, 6), "=", line.substr(8), "\n");
  return out;
}

std::string report() {
  std::string out = str("pid=", ::getpid(), "\nparent=", ::getppid(), "\nsession=", ::getsid(0),
                        "\nfds=", open_descriptors(), "\n", signal_lines());
  for (int fd = 0; fd < 3; ++fd)
    out += str("fd", fd, "=", target_of(fd), "\n");
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET",
                           "WATCHDOG_USEC", "LYK_TEST_MARK"})
    out += str(name, "=", variable(name), "\n");
  return out;
}

std::string answer(std::string_view text, const std::string& self) {
  const auto call = lyk::wire::parse_call(text);
  if (!call || call->method != "Status")
    return lyk::wire::encode_reply(lyk::test::resolve_reply());
  lyk::wire::StatusReply reply;
  reply.version = self;
  reply.pid = ::getpid();
  return lyk::wire::encode_reply(reply);
}

void serve(UniqueFd connection) {
  const std::string self = report();  // before anything is opened here
  const UniqueFd image = lyk::test::memfd_of(image_bytes);
  Channel channel{std::move(connection), {}};
  while (true) {
    auto frame = channel.read_frame();
    if (!frame || !*frame || !channel.write_frame(answer((*frame)->text, self), image.get()))
      return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (variable("LYK_TEST_SERVICE") == "exit")
    return 1;
  if (argc < 3) {
    serve(UniqueFd{3});
    return 0;
  }
  const UniqueFd listener = lyk::test::listen_at(argv[2]);
  if (::write(STDOUT_FILENO, "x", 1) != 1)
    return 1;
  while (true)
    serve(UniqueFd{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)});
}
