#include "cli/run.hpp"

#include <gtest/gtest.h>

#include "tests/cli/cli_run.hpp"
#include "tests/cli/samples.hpp"

namespace lyk::cli {
namespace {

using test::CannedService;
using test::Ran;
using test::run_cli;

// This machine may have a service of its own, which would answer first.
std::vector<std::string> with_nobody_there() {
  return {"LIBREYOLO_KERNELS_SOCKET=/nowhere/socket", "LIBREYOLO_KERNELS_EXEC=0"};
}

TEST(Run, AnUnknownCommandNamesTheNearestOne) {
  struct Row {
    std::string word;
    std::string message;
  };
  const std::vector<Row> table{
      {"fech", "unknown command 'fech': did you mean fetch?"},
      {"instal", "unknown command 'instal'"},
      {"clarify", "unknown command 'clarify' ("},  // another word, not a wrong `verify`
      {"partiy", "unknown command 'partiy': did you mean parity?"},
      {"infos", "unknown command 'infos': did you mean info?"},
      {"Status", "unknown command 'Status': did you mean status?"},
      {"rebuild_index", "unknown command 'rebuild_index': did you mean rebuild-index?"},
      {"--json", "expected a command before option '--json'"},
      {"", "unknown command ''"},
      {"a\nb\x1b", "unknown command 'a\\x0ab\\x1b'"},
  };
  for (const Row& row : table) {
    const Ran ran = run_cli({row.word});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out.empty(), row.word != "--json");
    EXPECT_TRUE(ran.err.starts_with("libreyolo-kernels: " + row.message)) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1);
  }
}

TEST(Run, AWrongOptionPointsToTheHelpOfItsCommand) {
  const Ran ran = run_cli({"list", "--jsno"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(ran.err,
            "libreyolo-kernels: list: unknown option '--jsno': did you mean --json? (see "
            "libreyolo-kernels list --help)\n");
}

// The exit code of every error is that of proto/error.hpp, whatever the command.
TEST(Run, EveryErrorOfTheServiceHasItsExitCode) {
  for (const CodeInfo& row : code_table) {
    const CannedService service{[&](const wire::ParsedCall&) {
      return std::vector{wire::encode_error({row.code, "this went wrong"})};
    }};
    const Ran ran = run_cli({"list", "--json"}, service.environment());
    EXPECT_EQ(ran.exit_code, row.exit_code) << row.name;
    EXPECT_TRUE(ran.err.starts_with("libreyolo-kernels: this went wrong")) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_NE(ran.out.find("\"code\": \"" + std::string{row.name} + "\""), std::string::npos)
        << ran.out;
  }
}

TEST(Run, AFailureWithJsonIsOneDocument) {
  const CannedService service{[](const wire::ParsedCall&) {
    return std::vector{wire::encode_error({Code::not_pinned, "slot 'nms' is not pinned"})};
  }};
  const Ran ran = run_cli({"info", "nms", "--json"}, service.environment());
  EXPECT_EQ(ran.out,
            "{\n"
            "  \"error\": {\n"
            "    \"code\": \"not_pinned\",\n"
            "    \"message\": \"slot 'nms' is not pinned\",\n"
            "    \"retryable\": false\n"
            "  }\n"
            "}\n");
  EXPECT_EQ(ran.err,
            "libreyolo-kernels: slot 'nms' is not pinned; `libreyolo-kernels pins` lists the slots "
            "that are pinned\n");
}

TEST(Run, AFailureWithoutJsonLeavesStdoutEmpty) {
  const Ran ran = run_cli({"list"}, with_nobody_there());
  EXPECT_EQ(ran.exit_code, 5);
  EXPECT_EQ(ran.out, "");
  EXPECT_TRUE(ran.err.starts_with("libreyolo-kernels: ")) << ran.err;
}

TEST(Run, TextOfTheServiceCannotReachTheTerminal) {
  const CannedService service{[](const wire::ParsedCall&) {
    return std::vector{wire::encode_error({Code::io, "bad\n\x1b[2Jname"})};
  }};
  EXPECT_EQ(run_cli({"list"}, service.environment()).err,
            "libreyolo-kernels: bad\\x0a\\x1b[2Jname\n");
}

TEST(Run, ColoursMarkTheProgramNameOfAnError) {
  Terminal terminal;
  terminal.error_colours = Colours::on;
  const Ran ran = run_cli({"list"}, with_nobody_there(), terminal);
  EXPECT_TRUE(ran.err.starts_with("\x1b[31mlibreyolo-kernels:\x1b[0m ")) << ran.err;
}

TEST(Run, AdviceIsGivenWhereItIsKnownAndNotGivenTwice) {
  struct Row {
    Error error;
    std::string_view slot;
    std::string_view advice;
  };
  const std::vector<Row> table{
      {{Code::not_cached, "x"}, "nms", "; `libreyolo-kernels fetch nms` fetches it"},
      {{Code::not_cached, "x; run libreyolo-kernels fetch nms"}, "nms", ""},
      {{Code::not_cached, "x"}, "", ""},
      {{Code::no_image, "x"},
       "nms",
       "; `libreyolo-kernels info nms` lists the images that there are"},
      {{Code::no_image, "x"}, "", ""},
      {{Code::no_space, "store '/var/cache/libreyolo-kernels' is full"},
       "",
       "; `libreyolo-kernels prune` makes room in the store"},
      {{Code::corrupt_store, "x"},
       "",
       "; `libreyolo-kernels rebuild-index` makes a new index from the files"},
      {{Code::busy, "x"}, "", "; try again"},
      {{Code::offline, "x"}, "nms", ""},
  };
  for (const Row& row : table)
    EXPECT_EQ(advice(row.error, row.slot), row.advice);
}

TEST(Run, AStdoutThatIsClosedEndsLikeABrokenPipe) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  (void)::close(ends[0]);
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  Terminal terminal;
  terminal.out_fd = ends[1];
  EXPECT_EQ(run(std::vector<std::string>{"--help"}, {}, terminal), exit_broken_pipe);
  (void)::signal(SIGPIPE, before);
  (void)::close(ends[1]);
}

TEST(Run, AStdoutThatIsFullIsAnError) {
  const UniqueFd full{::open("/dev/full", O_WRONLY | O_CLOEXEC)};
  const UniqueFd err{::memfd_create("err", MFD_CLOEXEC)};
  Terminal terminal;
  terminal.out_fd = full.get();
  terminal.error_fd = err.get();
  EXPECT_EQ(run(std::vector<std::string>{"--help"}, {}, terminal), 6);
  EXPECT_EQ(test::contents_of(err.get()),
            "libreyolo-kernels: write to standard output: No space left on device\n");
}

}  // namespace
}  // namespace lyk::cli
