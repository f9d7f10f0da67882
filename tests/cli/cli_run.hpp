// Runs a command line in the test's own process, as main() would, and keeps what it wrote.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/run.hpp"
#include "proto/unique.hpp"
#include "tests/client/fake_service.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::cli::test {

using lyk::test::expect_golden;
using lyk::test::FakeService;
using lyk::test::TempDir;

struct Ran {
  int exit_code = 0;
  std::string out;
  std::string err;
};

inline std::string contents_of(int fd) {
  std::string text(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
  if (::pread(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    std::abort();
  return text;
}

// The driver of a machine that has none, whatever this one has.
inline constexpr std::string_view absent_driver = "libcuda-absent.so.1";

inline Ran run_cli(const std::vector<std::string>& words,
                   std::vector<std::string> variables = {},
                   Terminal terminal = {},
                   std::string_view driver_library = absent_driver) {
  const UniqueFd out{::memfd_create("out", MFD_CLOEXEC)};
  const UniqueFd err{::memfd_create("err", MFD_CLOEXEC)};
  terminal.out_fd = out.get();
  terminal.error_fd = err.get();
  client::Environment environment;
  environment.variables = std::move(variables);
  const int exit_code = run(words, environment, terminal, driver_library);
  return {exit_code, contents_of(out.get()), contents_of(err.get())};
}

// The environment of a user whose service is the fake one at `socket`.
inline std::vector<std::string> with_socket(const std::string& socket,
                                            std::vector<std::string> more = {}) {
  more.push_back("LIBREYOLO_KERNELS_SOCKET=" + socket);
  more.emplace_back("LIBREYOLO_KERNELS_EXEC=0");
  return more;
}

// A service that answers every call with the messages that `answers` makes of it.
class CannedService {
public:
  using Answers = std::function<std::vector<std::string>(const wire::ParsedCall& call)>;

  explicit CannedService(Answers answers)
      : answers_(std::move(answers)),
        service_(folder_ / "socket",
                 [this](UniqueFd connection, int) { serve(std::move(connection)); }) {}

  std::vector<std::string> environment(std::vector<std::string> more = {}) const {
    return with_socket(folder_ / "socket", std::move(more));
  }
  std::string path(const char* name) const { return folder_ / name; }
  int connections() const { return service_.connections(); }

private:
  void serve(UniqueFd connection) {
    Channel channel{std::move(connection), {}};
    while (true) {
      auto frame = channel.read_frame();
      if (!frame || !*frame)
        return;
      const auto call = wire::parse_call((*frame)->text);
      if (!call)
        return;
      for (const std::string& answer : answers_(*call))
        if (!channel.write_frame(answer))
          return;
    }
  }

  TempDir folder_;
  Answers answers_;
  FakeService service_;
};

}  // namespace lyk::cli::test
