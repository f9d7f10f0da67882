#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/cli_run.hpp"

namespace lyk::cli {
namespace {

using lyk::test::TempDir;
using test::expect_golden;
using test::Ran;
using test::run_cli;

constexpr std::string_view ptx =
    "//\n"
    ".version 8.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".visible .entry _Z5scalePfi(\n"
    "  .param .u64 _Z5scalePfi_param_0,\n"
    "  .param .u32 _Z5scalePfi_param_1\n"
    ")\n"
    "{\n"
    "  ret;\n"
    "}\n";

class Inspected {
public:
  explicit Inspected(std::string_view bytes) { std::ofstream{path(), std::ios::binary} << bytes; }
  std::string path() const { return folder_ / "image.ptx"; }
  Ran run(std::vector<std::string> more) const {
    more.insert(more.begin(), {"inspect", path()});
    // No service could be found: none is needed.
    return run_cli(more, {"LIBREYOLO_KERNELS_EXEC=0"});
  }

private:
  TempDir folder_;
};

TEST(InspectCommand, ListsImagesKernelsAndWhereTheyRun) {
  const Inspected file{ptx};
  const Ran text = file.run({"--kernels"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  expect_golden("cli/inspect.txt", text.out);
  const Ran json = file.run({"--json"});
  EXPECT_EQ(json.exit_code, 0);
  expect_golden("cli/inspect.json", json.out);
}

TEST(InspectCommand, TellsWhichImageAGpuGets) {
  const Inspected file{ptx};
  const Ran fits = file.run({"--arch", "9.0", "--json"});
  EXPECT_EQ(fits.exit_code, 0) << fits.err;
  expect_golden("cli/inspect_choice.json", fits.out);
  const Ran too_old = file.run({"--arch", "7.5"});
  EXPECT_EQ(too_old.exit_code, 3);
  EXPECT_NE(too_old.out.find("for 7.5: none\n"), std::string::npos) << too_old.out;
  EXPECT_NE(too_old.out.find("REFUSED"), std::string::npos) << too_old.out;
  EXPECT_EQ(file.run({"--arch", "9.0", "--driver", "11.4"}).exit_code, 3);
}

TEST(InspectCommand, OnlyImagesThatDefineAnAbiAreCandidates) {
  const Inspected file{ptx};
  EXPECT_EQ(file.run({"--arch", "9.0", "--abi", "ms_deform_im2col"}).exit_code, 3);
  EXPECT_EQ(file.run({"--arch", "9.0", "--abi", "none_such"}).exit_code, 2);
  EXPECT_EQ(file.run({"--abi", "ms_deform_im2col"}).exit_code, 2);
}

TEST(InspectCommand, AHostLibraryHasNoImagesWhichIsNoError) {
  const Ran ran = run_cli({"inspect", "/proc/self/exe"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "library without device images\n");
  EXPECT_EQ(run_cli({"inspect", "/proc/self/exe", "--arch", "9.0"}).exit_code, 3);
}

TEST(InspectCommand, GarbageIsRefusedInOneLine) {
  const std::vector<std::string> garbage{
      "",
      "hello",
      std::string("\x7f"
                  "ELF",
                  4),
      std::string("\x7f"
                  "ELF\2\1\1",
                  7) +
          std::string(57, '\0'),
      std::string("\x50\xed\x55\xba", 4) + std::string(100, '\xff'),
      std::string(4096, '\0'),
  };
  for (const std::string& bytes : garbage) {
    const Inspected file{bytes};
    const Ran ran = file.run({"--json"});
    EXPECT_EQ(ran.exit_code, 3) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_NE(ran.err.find(file.path()), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find("; `libreyolo-kernels"), std::string::npos) << ran.err;
  }
}

TEST(InspectCommand, WhatCannotBeReadIsNamed) {
  EXPECT_EQ(run_cli({"inspect", "/nowhere"}).err,
            "libreyolo-kernels: open '/nowhere': No such file or directory\n");
  EXPECT_EQ(run_cli({"inspect", "/"}).err, "libreyolo-kernels: '/' is not a regular file\n");
}

}  // namespace
}  // namespace lyk::cli
