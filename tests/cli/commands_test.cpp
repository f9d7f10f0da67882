// Each command against a service that answers with the same reply every time: what it asks, what it
// prints for people and for scripts, and its exit code.
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "tests/cli/cli_run.hpp"
#include "tests/cli/samples.hpp"

namespace lyk::cli {
namespace {

using test::CannedService;
using test::expect_golden;
using test::Ran;
using test::run_cli;

template <typename ReplyType>
CannedService answering(const ReplyType& reply) {
  return CannedService{[text = wire::encode_reply(reply)](const wire::ParsedCall&) {
    return std::vector<std::string>{text};
  }};
}

// What `status` and `doctor` ask.
CannedService answering_about(const wire::StatusReply& status, const wire::PinsReply& pins) {
  return CannedService{[status = wire::encode_reply(status),
                        pins = wire::encode_reply(pins)](const wire::ParsedCall& call) {
    return std::vector<std::string>{call.method == "Pins" ? pins : status};
  }};
}

// The text for people and the document for scripts, each as its golden file.
void check_goldens_with(const CannedService& service,
                        std::vector<std::string> words,
                        int exit_code,
                        const std::vector<std::string>& variables = {}) {
  const std::string name = "cli/" + words.front();
  const Ran text = run_cli(words, service.environment(variables));
  EXPECT_EQ(text.exit_code, exit_code) << text.err;
  expect_golden(name + ".txt", text.out + "-- stderr --\n" + text.err);
  words.emplace_back("--json");
  const Ran json = run_cli(words, service.environment(variables));
  EXPECT_EQ(json.exit_code, exit_code) << json.err;
  EXPECT_EQ(json.err, text.err);
  expect_golden(name + ".json", json.out);
}

template <typename ReplyType>
void check_goldens(const ReplyType& reply, std::vector<std::string> words, int exit_code = 0) {
  check_goldens_with(answering(reply), std::move(words), exit_code);
}

TEST(Commands, ListShowsWhatTheStoreHolds) {
  wire::Revision unpinned = test::revision();
  unpinned.slot.reset();
  unpinned.repo = "somebody/else";
  unpinned.proof = wire::ProofKind::digests;
  unpinned.gated = true;
  check_goldens(wire::ListReply{.revisions = {test::revision(), unpinned}}, {"list"});
}

TEST(Commands, ListOfAnEmptyStoreSaysSo) {
  const CannedService service = answering(wire::ListReply{});
  EXPECT_EQ(run_cli({"list"}, service.environment()).out, "the store is empty\n");
}

TEST(Commands, InfoShowsPinProofFilesAndImages) {
  check_goldens(
      wire::InfoReply{.pin = test::pin(), .revision = test::revision(), .files = test::files()},
      {"info", "ms_deform_attn"});
}

TEST(Commands, InfoOfASlotThatIsNotFetchedSaysSo) {
  const CannedService service =
      answering(wire::InfoReply{.pin = test::pin(), .revision = std::nullopt, .files = {}});
  const Ran ran = run_cli({"info", "ms_deform_attn"}, service.environment());
  EXPECT_NE(ran.out.find("in the store:   nothing yet\n"), std::string::npos) << ran.out;
}

TEST(Commands, PinsShowsWhatIsInForceAndWarnsOfWhatIsNot) {
  check_goldens(wire::PinsReply{.pins = {test::pin()},
                                .refused = {{"/etc/libreyolo-kernels/pins.d/nms.toml",
                                             "line 3: unknown key 'repoo', did you mean repo?"}}},
                {"pins"});
}

TEST(Commands, WhatIsRefusedIsNamedOnceAndAsWhatItIs) {
  const std::string folder = "/etc/libreyolo-kernels/pins.d";
  const CannedService service = answering(wire::PinsReply{
      .pins = {},
      .refused = {{folder, folder + ": others may write it; run chmod go-w '" + folder + "'"},
                  {folder + "/nms.toml", folder + "/nms.toml:3: unknown key"}}});
  EXPECT_EQ(run_cli({"pins"}, service.environment()).err,
            "libreyolo-kernels: warning: not in force: " + folder +
                ": others may write it; run chmod go-w '" + folder +
                "'\n"
                "libreyolo-kernels: warning: not in force: " +
                folder + "/nms.toml:3: unknown key\n");
}

TEST(Commands, StatusShowsServiceStoreSlotsAndCounters) {
  check_goldens_with(answering_about(test::status_reply(), {.pins = {test::pin()}, .refused = {}}),
                     {"status"}, 0);
}

TEST(Commands, WithNothingButRefusedPinsNobodySaysThatNoneIsThere) {
  wire::StatusReply status = test::status_reply();
  status.slots.clear();
  const CannedService service =
      answering_about(status, {.pins = {}, .refused = {test::refused_pin()}});
  for (const char* command : {"status", "pins"}) {
    const Ran ran = run_cli({command}, service.environment());
    EXPECT_NE(ran.out.find("no pin is in force\n"), std::string::npos) << ran.out;
    EXPECT_NE(ran.err.find("warning: not in force: /etc/"), std::string::npos) << ran.err;
  }
}

TEST(Commands, DoctorNamesTheFirstObstacleAndWhatMendsIt) {
  check_goldens_with(answering_about(test::status_reply(), {.pins = {test::pin()}, .refused = {}}),
                     {"doctor"}, 7, {"LIBREYOLO_KERNELS_DISABLE=ms_deform_attn:cpu"});
}

TEST(Commands, DoctorFindsNothingToMendOnAMachineWithoutAGpu) {
  const CannedService service =
      answering_about(test::status_reply(), {.pins = {test::pin()}, .refused = {}});
  const Ran ran = run_cli({"doctor"}, service.environment());
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out.find("not accelerated"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("ms_deform_attn\n  cpu runs: on host tensors: no driver: "),
            std::string::npos)
      << ran.out;
}

TEST(Commands, DoctorWithoutAServiceStillSaysWhatItFound) {
  const Ran ran = run_cli({"doctor"}, test::with_socket("/nowhere/socket"));
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_NE(ran.out.find("service:  none: no service at '/nowhere/socket'"), std::string::npos)
      << ran.out;
}

TEST(Commands, StatusAsMetrics) {
  const CannedService service =
      answering_about(test::status_reply(), {.pins = {test::pin()}, .refused = {}});
  const Ran ran = run_cli({"status", "--format", "prometheus"}, service.environment());
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  expect_golden("cli/status.prom", ran.out);
  EXPECT_EQ(run_cli({"status", "--format", "xml"}, service.environment()).err,
            "libreyolo-kernels: format 'xml' is not known: expected prometheus\n");
  EXPECT_EQ(
      run_cli({"status", "--format", "prometheus", "--json"}, service.environment()).exit_code, 2);
}

TEST(Commands, RemoveTellsWhatIsGone) {
  check_goldens(wire::RemoveReply{.files = 3, .bytes = 12'582'912}, {"remove", "ms_deform_attn"});
}

TEST(Commands, PruneTellsWhatIsGoneAndWhatIsLeft) {
  check_goldens(
      wire::PruneReply{
          .files = 1, .bytes = 1024, .bytes_left = 4096, .refused = {test::refused_pin()}},
      {"prune"});
}

TEST(Commands, PruneSendsItsSizeInBytes) {
  std::optional<std::uint64_t> asked;
  const CannedService service{[&](const wire::ParsedCall& call) {
    asked = wire::decode_parameters<wire::PruneCall>(call)->max_bytes;
    return std::vector{wire::encode_reply(wire::PruneReply{})};
  }};
  EXPECT_EQ(run_cli({"prune", "--max-bytes", "2M"}, service.environment()).exit_code, 0);
  EXPECT_EQ(asked, 2'097'152U);
  EXPECT_EQ(run_cli({"prune", "--max-bytes", "lots"}, service.environment()).err,
            "libreyolo-kernels: option --max-bytes: size 'lots': expected bytes, as 4096, 64M or "
            "2GiB\n");
}

TEST(Commands, RebuildIndexTellsWhatWasFound) {
  check_goldens(wire::RebuildIndexReply{.files = 3, .images = 24, .revisions = 1},
                {"rebuild-index"});
}

TEST(Commands, VerifyThatFindsDamageEndsInFour) {
  check_goldens(test::verified(), {"verify"}, 4);
}

TEST(Commands, VerifyThatFindsNoneEndsInZero) {
  const CannedService service = answering(
      wire::VerifyReply{.progress = {}, .files = 3, .bytes = 2048, .damaged = {}, .missing = {}});
  const Ran ran = run_cli({"verify", "nms"}, service.environment());
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.out, "verified 3 files, 2.0 KiB: all as proven\n");
  EXPECT_EQ(ran.err, "");
}

TEST(Commands, FetchShowsWhatCameAndWarns) {
  check_goldens(test::fetched(), {"fetch", "ms_deform_attn"});
}

std::vector<std::string> fetch_stream() {
  wire::FetchProgress progress{.slot = "ms_deform_attn",
                               .step = wire::FetchStep::proving,
                               .file = std::nullopt,
                               .bytes_done = 0,
                               .bytes_total = 0,
                               .files_done = 0,
                               .files_total = 0};
  std::vector<std::string> messages;
  const auto add = [&] {
    messages.push_back(wire::encode_reply(
        wire::FetchReply{.progress = progress, .fetched = std::nullopt}, wire::Continues::yes));
  };
  add();
  progress.step = wire::FetchStep::downloading;
  progress.file = "build/x.so";
  progress.bytes_total = 2048;
  progress.files_total = 1;
  add();
  progress.bytes_done = 2048;
  add();
  messages.push_back(wire::encode_reply(test::fetched()));
  return messages;
}

TEST(Commands, FetchHasOneLineForEachStepAndFileWithoutATerminal) {
  const CannedService service{[](const wire::ParsedCall&) { return fetch_stream(); }};
  const Ran ran = run_cli({"fetch", "ms_deform_attn"}, service.environment());
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err,
            "ms_deform_attn: proving\n"
            "ms_deform_attn: downloading build/x.so\n"
            "libreyolo-kernels: warning: ms_deform_attn: repo type model: the Hub answers 401\n");
}

TEST(Commands, FetchThatIsQuietWritesNothingToStderr) {
  const CannedService service{[](const wire::ParsedCall&) { return fetch_stream(); }};
  const Ran ran = run_cli({"fetch", "ms_deform_attn", "-q"}, service.environment());
  EXPECT_EQ(ran.err, "");
  EXPECT_NE(ran.out, "");
}

TEST(Commands, FetchTakesItsProgressLineAwayFromATerminal) {
  const CannedService service{[](const wire::ParsedCall&) { return fetch_stream(); }};
  Terminal terminal;
  terminal.progress = ProgressStyle::redraw;
  const Ran ran = run_cli({"fetch", "ms_deform_attn"}, service.environment(), terminal);
  const auto last = ran.err.rfind("\r\x1b[K");
  ASSERT_NE(last, std::string::npos);
  EXPECT_TRUE(ran.err.substr(last + 4).starts_with("libreyolo-kernels: warning: ")) << ran.err;
}

wire::FetchCall asked_by(const std::vector<std::string>& words,
                         std::vector<std::string> variables = {},
                         std::string_view driver_library = test::absent_driver) {
  std::optional<wire::FetchCall> asked;
  const CannedService service{[&](const wire::ParsedCall& call) {
    if (call.method == "Pins")
      return std::vector{wire::encode_reply(wire::PinsReply{.pins = {test::pin()}, .refused = {}})};
    asked = *wire::decode_parameters<wire::FetchCall>(call);
    EXPECT_EQ(call.flow, wire::Flow::more);
    return std::vector{wire::encode_reply(test::fetched())};
  }};
  const Ran ran = run_cli(words, service.environment(std::move(variables)), {}, driver_library);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return *asked;
}

TEST(Commands, FetchAsksForEveryArchitectureUnlessToldOtherwise) {
  const auto everything = asked_by({"fetch", "nms"});
  EXPECT_TRUE(everything.archs.empty());
  EXPECT_FALSE(everything.driver);
  const auto call = asked_by({"fetch", "nms", "softnms", "--arch", "8.9,9.0", "--arch", "sm_120"});
  ASSERT_EQ(call.archs.size(), 3U);
  EXPECT_EQ(call.archs[2].number(), 120);
  ASSERT_EQ(call.slots.size(), 2U);
  EXPECT_EQ(call.slots[1].text(), "softnms");
  EXPECT_FALSE(call.offline);
}

TEST(Commands, FetchAsksForTheGpusAndTheDriverOfThisMachine) {
  ASSERT_EQ(::setenv("SOFTCUDA_DEVICES", "sm_86,sm_90,sm_86", 1), 0);
  ASSERT_EQ(::setenv("SOFTCUDA_DRIVER", "12.8", 1), 0);
  const auto call = asked_by({"fetch", "nms"}, {}, LYK_SOFTCUDA);
  ASSERT_EQ(call.archs.size(), 2U);
  EXPECT_EQ(call.archs[0].number(), 86);
  EXPECT_EQ(call.archs[1].number(), 90);
  ASSERT_TRUE(call.driver);
  EXPECT_EQ(call.driver->text(), "12.8");
  // Whoever names GPUs may mean those of another machine, and says its driver too.
  EXPECT_FALSE(asked_by({"fetch", "nms", "--arch", "8.6"}, {}, LYK_SOFTCUDA).driver);
  const auto other =
      asked_by({"fetch", "nms", "--arch", "8.6,8.9", "--driver", "12.4"}, {}, LYK_SOFTCUDA);
  EXPECT_EQ(other.archs.size(), 2U);
  ASSERT_TRUE(other.driver);
  EXPECT_EQ(other.driver->text(), "12.4");
}

TEST(Commands, FetchAllAsksForWhatIsPinned) {
  const auto call = asked_by({"fetch", "--all"});
  ASSERT_EQ(call.slots.size(), 1U);
  EXPECT_EQ(call.slots[0].text(), "ms_deform_attn");
}

TEST(Commands, FetchSendsAPinFileAsItIs) {
  const lyk::test::TempDir folder;
  std::ofstream{folder / "my.toml"} << "slot = \"nms\"\n# note\n";
  const auto call = asked_by({"fetch", "--pin", folder / "my.toml"});
  EXPECT_TRUE(call.slots.empty());
  EXPECT_EQ(call.pin, "slot = \"nms\"\n# note\n");
  EXPECT_EQ(call.pin_name, folder / "my.toml");
}

TEST(Commands, OfflineIsSentWithTheCall) {
  EXPECT_TRUE(asked_by({"fetch", "nms"}, {"HF_HUB_OFFLINE=1"}).offline);
  EXPECT_TRUE(asked_by({"fetch", "nms"}, {"LIBREYOLO_HUB_KERNELS=0"}).offline);
  EXPECT_FALSE(asked_by({"fetch", "nms"}, {"HF_HUB_OFFLINE=0"}).offline);
}

struct Refused {
  std::vector<std::string> words;
  std::string message;
};

TEST(Commands, FetchRefusesWordsThatContradict) {
  const lyk::test::TempDir folder;
  std::ofstream{folder / "bad.toml"} << "slot = \"\xff\"";
  const std::vector<Refused> table{
      {{"fetch"}, "nothing to fetch: name slots, --all or --pin FILE"},
      {{"fetch", "--all", "nms"}, "option --all stands alone, without slots and --pin"},
      {{"fetch", "--all", "--pin", "x"}, "option --all stands alone, without slots and --pin"},
      {{"fetch", "nms", "--arch", "sm_90a"},
       "option --arch: 'sm_90a' is what an image is built for; a GPU is 9.0"},
      {{"fetch", "nms", "--arch", "hopper"},
       "option --arch: architecture 'hopper': write it as 9.0, sm_90 or sm_90a"},
      {{"fetch", "nms", "--arch", "9.0,"}, "list '9.0,' has an empty part"},
      {{"fetch", "nms", "--driver", "12.4"}, "option --driver says nothing without --arch"},
      {{"fetch", "nms", "--arch", "all", "--driver", "12.4"},
       "option --driver says nothing with --arch all"},
      {{"fetch", "nms", "--arch", "9.0", "--driver", "new"},
       "option --driver: CUDA version 'new': write it as 13.0"},
      {{"fetch", "--pin", folder / "bad.toml"}, "'" + folder / "bad.toml" + "' is not UTF-8 text"},
  };
  for (const Refused& row : table) {
    const Ran ran = run_cli(row.words, {"LIBREYOLO_KERNELS_EXEC=0"});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.err, "libreyolo-kernels: " + row.message + "\n");
    EXPECT_EQ(ran.out, "");
  }
}

TEST(Commands, ASlotNameIsCheckedBeforeAnybodyIsAsked) {
  for (const char* command : {"fetch", "resolve", "list", "info", "verify", "remove"}) {
    const Ran ran = run_cli({command, "../etc", "--quiet"}, {"LIBREYOLO_KERNELS_EXEC=0"});
    EXPECT_EQ(ran.exit_code, 2) << command;
    EXPECT_NE(ran.err.find("'../etc'"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace lyk::cli
