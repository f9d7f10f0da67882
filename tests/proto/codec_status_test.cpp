#include <gtest/gtest.h>

#include "tests/proto/wire_samples.hpp"

namespace lyk::wire::test {
namespace {

StatusReply full_reply() {
  const std::string repo = "kernels-community/deformable-detr";
  return {
      .version = "0.1.0",
      .mode = Mode::private_instance,
      .pid = 4711,
      .uptime_s = 86'400,
      .endpoint = "https://huggingface.co",
      .offline = true,
      .store = {.path = "/var/cache/libreyolo-kernels",
                .writable = true,
                .bytes = 12'582'912,
                .bytes_max = 2'147'483'648,
                .files = 3,
                .images = 24,
                .quarantined = 1},
      .slots = {{.slot = "ms_deform_attn",
                 .repo = repo,
                 .commit = commit(),
                 .state = SlotState::cached,
                 .images = 24,
                 .reason = {}},
                {.slot = "other",
                 .repo = repo,
                 .commit = commit(),
                 .state = SlotState::failed,
                 .images = 0,
                 .reason = "network: connection refused"}},
      .counters = {.resolve_calls = 1,
                   .resolve_memory_hits = 2,
                   .resolve_store_hits = 3,
                   .resolve_misses = 4,
                   .fetches_started = 5,
                   .fetches_done = 6,
                   .fetches_failed = 7,
                   .fetched_bytes = 8,
                   .adopted_bytes = 9,
                   .quarantined_files = 10,
                   .refused_calls = 11,
                   .connections = 12,
                   .connections_accepted = 13,
                   .connections_refused = 14,
                   .images_in_memory = 15,
                   .images_in_memory_bytes = 16},
      .refused = {},
  };
}

TEST(CodecStatus, IsAsItsGoldens) {
  check_call("wire/status_call.json", StatusCall{});
  check_reply("wire/status_reply.json", full_reply());
  StatusReply reply = full_reply();
  reply.refused = {refused_pin()};
  check_reply("wire/status_reply.refused.json", reply);
}

TEST(CodecStatus, EveryModeAndStateHasItsWord) {
  const auto has = [](const StatusReply& reply, std::string_view part) {
    return encode_reply(reply).find(part) != std::string::npos;
  };
  StatusReply reply = full_reply();
  reply.mode = Mode::system;
  EXPECT_TRUE(has(reply, R"("mode":"system")"));
  reply.mode = Mode::user;
  EXPECT_TRUE(has(reply, R"("mode":"user")"));
  reply.mode = Mode::private_instance;
  EXPECT_TRUE(has(reply, R"("mode":"private")"));
  reply.slots[0].state = SlotState::not_cached;
  EXPECT_TRUE(has(reply, R"("state":"not_cached")"));
  reply.slots[0].state = SlotState::fetching;
  EXPECT_TRUE(has(reply, R"("state":"fetching")"));
}

TEST(CodecStatus, JsonForPeopleKeepsTheOrderOfTheInterface) {
  StatusReply reply = full_reply();
  reply.slots.clear();
  const std::string text = to_json(reply);
  EXPECT_EQ(text.substr(0, text.find("  \"store\"")), R"({
  "version": "0.1.0",
  "mode": "private",
  "pid": 4711,
  "uptime_s": 86400,
  "endpoint": "https://huggingface.co",
  "offline": true,
)");
}

TEST(CodecPins, IsAsItsGoldens) {
  check_call("wire/pins_call.json", PinsCall{});
  check_reply("wire/pins_reply.json", PinsReply{.pins = {pin()}, .refused = {refused_pin()}});
}

}  // namespace
}  // namespace lyk::wire::test
