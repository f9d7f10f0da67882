#include <gtest/gtest.h>

#include "tests/proto/wire_samples.hpp"

namespace lyk::wire::test {
namespace {

TEST(CodecList, IsAsItsGoldens) {
  check_call("wire/list_call.json", ListCall{slot_name()});
  check_call("wire/list_call.short.json", ListCall{});
  Revision unpinned = revision();
  unpinned.slot.reset();
  check_reply("wire/list_reply.json", ListReply{{revision(), unpinned}});
}

TEST(CodecInfo, IsAsItsGoldens) {
  check_call("wire/info_call.json", InfoCall{slot_name()});
  check_reply("wire/info_reply.json", InfoReply{pin(), revision(), {file()}});
  Pin files_only = pin();
  files_only.license.reset();
  files_only.abi.reset();
  check_reply("wire/info_reply.short.json", InfoReply{files_only, {}, {}});
  Pin compared = pin();
  compared.parity = {parity_record()};
  check_reply("wire/info_reply.parity.json", InfoReply{compared, {}, {}});
}

TEST(CodecVerify, IsAsItsGoldens) {
  check_call("wire/verify_call.json", VerifyCall{slot_name()}, Flow::more);
  check_call("wire/verify_call.short.json", VerifyCall{}, Flow::more);
  const std::string repo = "kernels-community/deformable-detr";
  check_reply("wire/verify_reply.json",
              VerifyReply{.progress = {},
                          .files = 3,
                          .bytes = 12'582'912,
                          .damaged = {{.repo = repo,
                                       .commit = commit(),
                                       .path = library_path(),
                                       .expected = digest().hex(),
                                       .actual = Digest{}.hex()}},
                          .missing = {{.repo = repo, .commit = commit(), .path = "README.md"}}});
}

TEST(CodecVerify, ProgressHasNothingElse) {
  VerifyReply reply{};
  reply.progress = {.files_done = 1, .files_total = 3, .bytes_done = 4096, .bytes_total = 12'288};
  check_reply("wire/verify_reply.progress.json", reply, Continues::yes);
}

TEST(CodecVerify, AnEmptyStoreHasAResult) {
  EXPECT_EQ(encode_reply(VerifyReply{}),
            R"({"parameters":{"files":0,"bytes":0,"damaged":[],"missing":[]}})");
}

TEST(CodecRemove, IsAsItsGoldens) {
  check_call("wire/remove_call.json", RemoveCall{slot_name()});
  check_reply("wire/remove_reply.json", RemoveReply{.files = 3, .bytes = 12'582'912});
}

TEST(CodecPrune, IsAsItsGoldens) {
  check_call("wire/prune_call.json", PruneCall{1'073'741'824});
  check_call("wire/prune_call.short.json", PruneCall{});
  PruneReply reply{.files = 3, .bytes = 12'582'912, .bytes_left = 1'073'741'824, .refused = {}};
  check_reply("wire/prune_reply.json", reply);
  reply.refused = {refused_pin()};
  check_reply("wire/prune_reply.refused.json", reply);
}

TEST(CodecPrune, ZeroBytesIsNotAbsent) {
  EXPECT_EQ(encode_call(PruneCall{0}),
            R"({"method":"com.libreyolo.Kernels.Prune","parameters":{"max_bytes":0}})");
}

TEST(CodecRebuildIndex, IsAsItsGoldens) {
  check_call("wire/rebuild_index_call.json", RebuildIndexCall{});
  check_reply("wire/rebuild_index_reply.json",
              RebuildIndexReply{.files = 3, .images = 24, .revisions = 1});
}

TEST(CodecStore, RefusalsNameTheParameter) {
  EXPECT_EQ(refusal<ListCall>(R"({"slot":"UPPER"})").substr(0, 31),
            "parameter 'slot': slot 'UPPER':");
  EXPECT_EQ(refusal<ListCall>(R"({"slot":null})"), "") << "null is absent";
  EXPECT_EQ(refusal<RemoveCall>(R"({})"), "parameter 'slot': it is missing");
  EXPECT_EQ(refusal<PruneCall>(R"({"max_bytes":"1G"})"),
            "parameter 'max_bytes': it must be a whole number from 0 to 9223372036854775807");
}

}  // namespace
}  // namespace lyk::wire::test
