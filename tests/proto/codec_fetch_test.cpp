#include <gtest/gtest.h>

#include "tests/proto/wire_samples.hpp"

namespace lyk::wire::test {
namespace {

FetchedSlot fetched_slot() {
  return {.slot = "ms_deform_attn",
          .repo = "kernels-community/deformable-detr",
          .repo_type = "kernel",
          .commit = commit(),
          .proof = ProofKind::digests,
          .files = 3,
          .images = 24,
          .bytes = 12'582'912,
          .downloaded_bytes = 8'388'608,
          .adopted_bytes = 4'194'304,
          .warnings = {"token rejected, fetched without one"}};
}

TEST(CodecFetch, CallIsAsItsGolden) {
  const FetchCall call{.slots = {slot_name()},
                       .archs = {{9, 0, ArchVariant::none}, {12, 0, ArchVariant::none}},
                       .offline = true,
                       .pin = "slot = \"ms_deform_attn\"\n",
                       .pin_name = "./ms_deform_attn.toml"};
  check_call("wire/fetch_call.json", call, Flow::more);
}

TEST(CodecFetch, CallForADriverIsAsItsGolden) {
  check_call("wire/fetch_call.driver.json",
             FetchCall{.slots = {slot_name()},
                       .archs = {{8, 6, ArchVariant::none}},
                       .pin = {},
                       .pin_name = {},
                       .driver = CudaVersion{12, 8}},
             Flow::more);
}

TEST(CodecFetch, CallOfEveryPinIsShort) {
  check_call("wire/fetch_call.short.json", FetchCall{}, Flow::more);
}

TEST(CodecFetch, ReplyIsAsItsGolden) {
  check_reply("wire/fetch_reply.json", FetchReply{.progress = {}, .fetched = {{fetched_slot()}}});
}

TEST(CodecFetch, ProgressIsAsItsGolden) {
  check_reply("wire/fetch_reply.progress.json",
              FetchReply{.progress = fetch_progress(), .fetched = {}}, Continues::yes);
}

TEST(CodecFetch, AnEmptyResultIsStillAResult) {
  const auto text = encode_reply(FetchReply{.progress = {}, .fetched = std::vector<FetchedSlot>{}});
  EXPECT_EQ(text, R"({"parameters":{"fetched":[]}})");
  EXPECT_TRUE(decode_parameters<FetchReply>(*parse_reply(text))->fetched);
}

TEST(CodecFetch, RefusalsNameTheParameter) {
  EXPECT_EQ(refusal<FetchCall>(R"({})"), "parameter 'slots': it is missing");
  EXPECT_EQ(refusal<FetchCall>(R"({"slots":"all"})"), "parameter 'slots': it must be an array");
  EXPECT_EQ(refusal<FetchCall>(R"({"slots":["a",1]})"),
            "parameter 'slots[1]': it must be a string");
  EXPECT_EQ(refusal<FetchCall>(R"({"slots":[],"archs":["9.0","x"]})"),
            "parameter 'archs[1]': architecture 'x': write it as 9.0, sm_90 or sm_90a");
  EXPECT_EQ(refusal<FetchCall>(R"({"slots":[],"driver":"new"})"),
            "parameter 'driver': CUDA version 'new': write it as 13.0");
}

TEST(CodecProbe, CallIsAsItsGolden) {
  const ProbeCall call{.slot = slot_name(),
                       .repo = repo_id(),
                       .revision = "v1",
                       .repo_types = {RepoType::model, RepoType::kernel},
                       .abi = "ms_deform_im2col"};
  check_call("wire/probe_call.json", call, Flow::more);
}

TEST(CodecProbe, CallWithoutOptionsIsShort) {
  const ProbeCall call{
      .slot = slot_name(), .repo = repo_id(), .revision = "main", .repo_types = {}, .abi = {}};
  check_call("wire/probe_call.short.json", call, Flow::more);
}

TEST(CodecProbe, ReplyIsAsItsGolden) {
  ProbeReply reply{.progress = {},
                   .pin = "slot = \"ms_deform_attn\"\n",
                   .commit = commit(),
                   .repo_type = "kernel",
                   .license = "Apache-2.0",
                   .files = {file()},
                   .warnings = {"the tag moved"},
                   .kept = {}};
  check_reply("wire/probe_reply.json", reply);
  reply.kept = {"abi", "public"};
  check_reply("wire/probe_reply.kept.json", reply);
}

TEST(CodecProbe, ProgressHasNothingElse) {
  ProbeReply reply{};
  reply.progress = fetch_progress();
  reply.progress->step = FetchStep::proving;
  reply.progress->file.reset();
  check_reply("wire/probe_reply.progress.json", reply, Continues::yes);
}

TEST(CodecProbe, RefusalsNameTheParameter) {
  EXPECT_EQ(refusal<ProbeCall>(R"({"slot":"s","repo":"a/../b","revision":"v1"})"),
            "parameter 'repo': repo 'a/../b': write it as namespace/name, as on the Hub");
  EXPECT_EQ(
      refusal<ProbeCall>(R"({"slot":"s","repo":"a/b","revision":"v1","repo_types":["space"]})"),
      "parameter 'repo_types[0]': it must be one of 'kernel', 'model'");
  EXPECT_EQ(refusal<ProbeCall>(R"({"slot":"s","repo":"a/b"})"),
            "parameter 'revision': it is missing");
}

}  // namespace
}  // namespace lyk::wire::test
