#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/cli_run.hpp"
#include "tests/cli/samples.hpp"

namespace lyk::cli {
namespace {

using lyk::test::read_text;
using test::CannedService;
using test::expect_golden;
using test::Ran;
using test::run_cli;

constexpr const char* repo = "kernels-community/deformable-detr";

// A service that proves every revision, and remembers what it was asked.
class Probing {
public:
  Probing()
      : service_([this](const wire::ParsedCall& call) {
          asked_ = *wire::decode_parameters<wire::ProbeCall>(call);
          return std::vector{wire::encode_reply(test::probed())};
        }) {}

  Ran pin(std::vector<std::string> more, std::vector<std::string> variables = {}) {
    std::vector<std::string> words{"pin", "ms_deform_attn", "--repo", repo, "--revision", "v1"};
    words.insert(words.end(), more.begin(), more.end());
    return run_cli(words, service_.environment(std::move(variables)));
  }
  std::string path(const char* name) const { return service_.path(name); }
  const std::optional<wire::ProbeCall>& asked() const { return asked_; }

private:
  std::optional<wire::ProbeCall> asked_;
  CannedService service_;
};

std::string without(std::string text, const std::string& part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part))
    text.replace(at, part.size(), "PINS");
  return text;
}

TEST(PinCommand, WritesThePinBelowTheUsersConfiguration) {
  Probing probing;
  const std::string home = probing.path("home");
  const Ran ran = probing.pin({}, {"HOME=" + home});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(read_text(home + "/.config/libreyolo-kernels/pins.d/ms_deform_attn.toml"),
            *test::probed().pin);
  expect_golden("cli/pin.txt", without(ran.out + "-- stderr --\n" + ran.err, home));
  const Ran json = probing.pin({"--json"}, {"HOME=" + home});
  expect_golden("cli/pin.json", without(json.out, home));
}

TEST(PinCommand, APathCannotSendEscapeSequencesToTheTerminal) {
  Probing probing;
  const Ran ran = probing.pin({"--output", probing.path("a\x1b[2J")});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("a\\x1b[2J\n"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find('\x1b'), std::string::npos) << ran.out;
}

TEST(PinCommand, SaysThatNoParityRanWhereThereIsNoGpu) {
  Probing probing;
  EXPECT_NE(probing.pin({"--output", probing.path("a")}).out.find("parity:   not run"),
            std::string::npos);
  EXPECT_NE(probing.pin({"--output", "-"}).err.find("parity not run"), std::string::npos);
  EXPECT_NE(
      probing.pin({"--output", probing.path("a"), "--json"}).out.find("\"parity\": \"not_run\""),
      std::string::npos);
}

TEST(PinCommand, OnStdoutThereIsNothingButThePin) {
  Probing probing;
  const Ran ran = probing.pin({"--output", "-", "--quiet"});
  EXPECT_EQ(ran.out, *test::probed().pin);
  EXPECT_EQ(ran.err, "");
}

TEST(PinCommand, AsksForTypesAndAbi) {
  Probing probing;
  EXPECT_EQ(probing.pin({"--output", "-", "--type", "model,kernel", "--abi", "ms_deform_im2col"})
                .exit_code,
            0);
  ASSERT_TRUE(probing.asked());
  EXPECT_EQ(probing.asked()->revision, "v1");
  EXPECT_EQ(probing.asked()->repo_types,
            (std::vector<RepoType>{RepoType::model, RepoType::kernel}));
  EXPECT_EQ(probing.asked()->abi, "ms_deform_im2col");
}

TEST(PinCommand, WrongWordsAreRefusedBeforeAServiceIsAsked) {
  struct Row {
    std::vector<std::string> words;
    std::string text;
  };
  const std::vector<Row> table{
      {{"--abi", "nope"},
       "option --abi: this release has no launcher 'nope'; it has 'ms_deform_im2col'"},
      {{"--abi", "ms_deform_im2cool"}, "did you mean 'ms_deform_im2col'?"},
      {{"--abi", ""}, "option --abi has an empty value"},
      {{"--output", ""}, "option --output has an empty value"},
      {{"--type", "dataset"}, "'dataset'"},
  };
  Probing probing;
  for (const Row& row : table) {
    const Ran ran = probing.pin(row.words);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_NE(ran.err.find(row.text), std::string::npos) << ran.err;
  }
  for (const std::string revision : {"\n", "a b", "a..b", "-x", "v1~2", "v[1]", "a\\b", "\x7f"}) {
    const Ran ran = run_cli({"pin", "nms", "--repo", repo, "--revision", revision},
                            {"LIBREYOLO_KERNELS_EXEC=0"});
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_NE(ran.err.find("option --revision: '"), std::string::npos) << ran.err;
  }
  EXPECT_FALSE(probing.asked());
}

TEST(PinCommand, RaisingAPinKeepsItsAbiAndNamesTheCommitBefore) {
  Probing probing;
  std::ofstream{probing.path("a")} << "slot = \"ms_deform_attn\"\nrepo = \"" << repo
                                   << "\"\nrevision = \"0000\"\nabi = \"ms_deform_im2col\"\n"
                                   << "public = true\n";
  const Ran ran = probing.pin({"--output", probing.path("a")});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(probing.asked()->abi, "ms_deform_im2col");
  EXPECT_NE(ran.out.find("before:   0000\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.err.find("warning: the pin before had `public`, the new one has not"),
            std::string::npos)
      << ran.err;
  EXPECT_EQ(read_text(probing.path("a")), *test::probed().pin);
}

TEST(PinCommand, APinOfAnotherRepoIsNotReplacedWithoutForce) {
  Probing probing;
  for (const std::string text : {"repo = \"other/repo\"\n", "hello\n"}) {
    std::ofstream{probing.path("a")} << text;
    const Ran ran = probing.pin({"--output", probing.path("a")});
    EXPECT_EQ(ran.exit_code, 8);
    EXPECT_NE(ran.err.find("--force"), std::string::npos) << ran.err;
    EXPECT_EQ(read_text(probing.path("a")), text);
    EXPECT_FALSE(probing.asked());
  }
  EXPECT_EQ(probing.pin({"--output", probing.path("a"), "--force"}).exit_code, 0);
  EXPECT_EQ(read_text(probing.path("a")), *test::probed().pin);
}

TEST(PinCommand, AFailedProbeWritesNothing) {
  const CannedService service{[](const wire::ParsedCall&) {
    return std::vector{wire::encode_error({Code::not_found, "no revision 'v9'"})};
  }};
  const std::string path = service.path("a");
  std::ofstream{path} << "repo = \"" << repo << "\"\n";
  const Ran ran = run_cli({"pin", "nms", "--repo", repo, "--revision", "v9", "--output", path},
                          service.environment());
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(ran.err, "libreyolo-kernels: no revision 'v9'\n");
  EXPECT_EQ(read_text(path), "repo = \"" + std::string{repo} + "\"\n");
}

struct Refused {
  std::vector<std::string> words;
  int exit_code = 2;
  std::string message;
};

TEST(PinCommand, WrongWordsAreRefusedBeforeAnybodyIsAsked) {
  const std::vector<Refused> table{
      {{"pin", "nms", "--revision", "v1"}, 2, "pin: option --repo is required"},
      {{"pin", "nms", "--repo", "a/b"}, 2, "pin: option --revision is required"},
      {{"pin", "nms", "--repo", "a/b", "--revision", "v1"},
       2,
       "pin: HOME is not set: name the file with --output FILE"},
      {{"pin", "nms", "--repo", "a/b", "--revision", "v1", "--system", "--output", "x"},
       2,
       "pin: options --output and --system exclude each other"},
  };
  for (const Refused& row : table) {
    const Ran ran = run_cli(row.words, {"LIBREYOLO_KERNELS_EXEC=0"});
    EXPECT_EQ(ran.exit_code, row.exit_code);
    EXPECT_EQ(ran.err, "libreyolo-kernels: " + row.message + "\n");
  }
  for (const char* wrong : {"../b", "a/..", "a", "a/b/c", "a/b.git"}) {
    const Ran ran = run_cli({"pin", "nms", "--repo", wrong, "--revision", "v1", "--output", "-"});
    EXPECT_EQ(ran.exit_code, 2) << wrong;
    EXPECT_NE(ran.err.find(std::string{"'"} + wrong + "'"), std::string::npos) << ran.err;
  }
}

// For the time of a test.
class Umask {
public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  ~Umask() { (void)::umask(before_); }
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;
  Umask(Umask&&) = delete;
  Umask& operator=(Umask&&) = delete;

private:
  mode_t before_;
};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

TEST(PinCommand, WhateverTheUmaskAServiceTakesThePinThatIsWritten) {
  for (const mode_t mask : {0002U, 0077U, 0000U}) {
    Probing probing;
    const std::string home = probing.path("home");
    const Umask umask{mask};
    EXPECT_EQ(probing.pin({}, {"HOME=" + home}).exit_code, 0);
    const std::string folder = home + "/.config/libreyolo-kernels";
    EXPECT_EQ(mode_of(folder), 0755U) << mask;
    EXPECT_EQ(mode_of(folder + "/pins.d"), 0755U) << mask;
    EXPECT_EQ(mode_of(folder + "/pins.d/ms_deform_attn.toml"), 0644U) << mask;
  }
}

TEST(PinCommand, AnOutputThatNoServiceReadsLeavesTheUmaskAlone) {
  Probing probing;
  const std::string folder = probing.path("new");
  const Umask umask{0077};
  const Ran ran = probing.pin({"--output", folder + "/inner/x.toml"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(mode_of(folder), 0700U);
  EXPECT_EQ(mode_of(folder + "/inner"), 0700U);
}

TEST(PinCommand, AFolderFromWhichNoServiceTakesPinsIsRefusedBeforeAnybodyIsAsked) {
  Probing probing;
  const std::string home = probing.path("home");
  const std::string folder = home + "/.config/libreyolo-kernels/pins.d";
  std::filesystem::create_directories(folder);
  ASSERT_EQ(::chmod(folder.c_str(), 0775), 0);
  const Ran ran = probing.pin({}, {"HOME=" + home});
  EXPECT_EQ(ran.exit_code, 8);
  EXPECT_EQ(ran.err, "libreyolo-kernels: " + folder + ": others may write it; run chmod go-w '" +
                         folder + "'\n");
  EXPECT_FALSE(probing.asked());
  const Ran elsewhere = probing.pin({"--output", folder + "/x"}, {"HOME=" + home});
  EXPECT_EQ(elsewhere.exit_code, 0) << elsewhere.err;  // no service reads that
}

TEST(PinCommand, AFolderThatTakesNoFileIsToldBeforeAnybodyIsAsked) {
  Probing probing;
  const Ran ran = probing.pin({"--output", "/proc/1/none/x"});
  EXPECT_EQ(ran.exit_code, 6) << ran.err;
  EXPECT_FALSE(probing.asked());
}

TEST(PinCommand, OfflineSaysWhy) {
  Probing probing;
  const Ran ran = probing.pin({"--output", "-"}, {"HF_HUB_OFFLINE=1"});
  EXPECT_EQ(ran.exit_code, 5);
  EXPECT_NE(ran.err.find("HF_HUB_OFFLINE=1 forbids"), std::string::npos) << ran.err;
  EXPECT_FALSE(probing.asked());
}

}  // namespace
}  // namespace lyk::cli
