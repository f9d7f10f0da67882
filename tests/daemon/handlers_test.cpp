// Every method but Resolve, called as a message on a connection that needs no thread.
#include "daemon/handlers.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "tests/daemon/house.hpp"

namespace lyk::daemon {
namespace {

using test::House;

class Handlers : public ::testing::Test {
protected:
  void SetUp() override {
    house_.pin_kernel();
    house_.store(House::kernel());
    service_ = house_.open();
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    caller_ = UniqueFd{ends[1]};
    connection_.emplace(
        Connection{.channel = Channel(UniqueFd{ends[0]}, {}),
                   .peer = {.uid = ::geteuid(), .pid = 1, .is_administrator = false}});
  }

  Result<Answer> ask(const std::string& text) {
    const auto message = wire::parse_call(text);
    EXPECT_TRUE(message);
    Call call{
        .service = *service_, .connection = *connection_, .message = *message, .error_fields = {}};
    return answer(call);
  }

  template <typename Reply, typename CallType>
  Reply ask(const CallType& call) {
    const auto answered = ask(wire::encode_call(call));
    EXPECT_TRUE(answered) << answered.error().message;
    const auto parsed = wire::parse_reply(answered->view());
    EXPECT_TRUE(parsed && !parsed->error) << answered->view();
    auto reply = wire::decode_parameters<Reply>(*parsed);
    EXPECT_TRUE(reply) << answered->view();
    return std::move(reply).value();
  }

  template <typename CallType>
  Error refused(const CallType& call) {
    const auto answered = ask(wire::encode_call(call));
    EXPECT_FALSE(answered);
    return answered ? Error{} : answered.error();
  }

  static SlotName slot(const char* text) { return SlotName::parse(text).value(); }

  House house_;
  std::shared_ptr<Service> service_;
  UniqueFd caller_;
  std::optional<Connection> connection_;
};

TEST_F(Handlers, ListShowsTheRevisionsWithTheirSlot) {
  const auto all = ask<wire::ListReply>(wire::ListCall{});
  ASSERT_EQ(all.revisions.size(), 1U);
  EXPECT_EQ(all.revisions[0].slot, "ms_deform_attn");
  EXPECT_EQ(all.revisions[0].repo, "ns/kernels");
  EXPECT_EQ(all.revisions[0].images, 1U);
  const auto one = ask<wire::ListReply>(wire::ListCall{.slot = slot("ms_deform_attn")});
  EXPECT_EQ(one.revisions.size(), 1U);
  EXPECT_EQ(refused(wire::ListCall{.slot = slot("unknown")}).code, Code::not_pinned);
}

TEST_F(Handlers, InfoShowsThePinAndItsFiles) {
  const auto info = ask<wire::InfoReply>(wire::InfoCall{.slot = slot("ms_deform_attn")});
  EXPECT_EQ(info.pin.abi, "ms_deform_im2col");
  EXPECT_EQ(info.pin.digests, 1U);
  ASSERT_TRUE(info.revision);
  ASSERT_EQ(info.files.size(), 1U);
  EXPECT_EQ(info.files[0].path, "images/kernel.ptx");
  ASSERT_EQ(info.files[0].images.size(), 1U);
  EXPECT_EQ(info.files[0].images[0].kernels.size(), 16U);
}

TEST_F(Handlers, FetchOfWhatIsHereNeedsNoNetwork) {
  const auto reply = ask<wire::FetchReply>(wire::FetchCall{
      .slots = {slot("ms_deform_attn")}, .archs = {}, .offline = true, .pin = {}, .pin_name = {}});
  ASSERT_TRUE(reply.fetched);
  ASSERT_EQ(reply.fetched->size(), 1U);
  EXPECT_EQ((*reply.fetched)[0].files, 1U);
  EXPECT_EQ((*reply.fetched)[0].images, 1U);
  EXPECT_EQ((*reply.fetched)[0].downloaded_bytes, 0U);
}

// What a driver cannot load is not fetched for it: here the newer library, which is not here.
TEST_F(Handlers, FetchGoesByTheDriverAsAResolveDoes) {
  const House::NamedFile old_build{"build/torch212-cxx11-cu126-x86_64-linux/k.so", "old"};
  const House::NamedFile new_build{"build/torch212-cxx11-cu130-x86_64-linux/k.so", "new"};
  house_.pin("two", {old_build, new_build});
  house_.store(old_build);
  ASSERT_TRUE(service_->reload());
  wire::FetchCall call{.slots = {slot("two")},
                       .archs = {Arch::parse("8.6").value()},
                       .offline = true,
                       .pin = {},
                       .pin_name = {}};
  EXPECT_EQ(refused(call).code, Code::offline);
  call.driver = CudaVersion{13, 0};
  EXPECT_EQ(refused(call).code, Code::offline);
  call.driver = CudaVersion{12, 4};
  EXPECT_EQ(ask<wire::FetchReply>(call).fetched->front().files, 1U);
}

TEST_F(Handlers, FetchSaysWhenNothingOfTheSlotCanBeHandedOut) {
  const House::NamedFile nothing{"images/nothing.cubin", "no device code"};
  const House::NamedFile other{"images/other.ptx",
                               ".version 7.8\n.target sm_80\n"
                               ".address_size 64\n.visible .entry other()\n"
                               "{\nret;\n}\n"};
  house_.pin("empty", {nothing});
  house_.pin("other", {other});
  house_.store(nothing);
  house_.store(other);
  ASSERT_TRUE(service_->reload());
  const auto warnings_of = [&](const char* name) {
    const auto reply = ask<wire::FetchReply>(wire::FetchCall{
        .slots = {slot(name)}, .archs = {}, .offline = true, .pin = {}, .pin_name = {}});
    return reply.fetched->front().warnings;
  };
  EXPECT_TRUE(warnings_of("ms_deform_attn").empty());
  ASSERT_EQ(warnings_of("other").size(), 1U);
  EXPECT_NE(warnings_of("other")[0].find("none of its "), std::string::npos);
  EXPECT_NE(warnings_of("empty")[0].find("nothing of it can be handed out"), std::string::npos);
}

TEST_F(Handlers, FetchTakesAPinThatTheCallBringsAlong) {
  const std::string text =
      Service::find_pin(*service_->snapshot(), slot("ms_deform_attn"))->pin.format();
  const auto reply = ask<wire::FetchReply>(wire::FetchCall{
      .slots = {}, .archs = {}, .offline = true, .pin = text, .pin_name = "new.toml"});
  ASSERT_TRUE(reply.fetched);
  EXPECT_EQ(refused(wire::FetchCall{.slots = {},
                                    .archs = {},
                                    .offline = true,
                                    .pin = "slott = 1",
                                    .pin_name = "new.toml"})
                .message.rfind("new.toml", 0),
            0U);
}

TEST_F(Handlers, FetchOfNothingIsAMistake) {
  EXPECT_EQ(refused(wire::FetchCall{
                        .slots = {}, .archs = {}, .offline = false, .pin = {}, .pin_name = {}})
                .code,
            Code::invalid_argument);
  EXPECT_EQ(
      refused(
          wire::FetchCall{
              .slots = {slot("unknown")}, .archs = {}, .offline = false, .pin = {}, .pin_name = {}})
          .code,
      Code::not_pinned);
}

TEST_F(Handlers, ProbeRefusesAnAbiThatNoLauncherKnows) {
  const Error error = refused(wire::ProbeCall{.slot = slot("new"),
                                              .repo = RepoId::parse("ns/kernels").value(),
                                              .revision = "v1",
                                              .repo_types = {},
                                              .abi = "ms_deform_im2co"});
  EXPECT_EQ(error.code, Code::invalid_argument);
  EXPECT_EQ(error.message,
            "abi: this release has no launcher 'ms_deform_im2co'; did you mean "
            "'ms_deform_im2col'?");
}

TEST_F(Handlers, ProbeOfASlotWhoseAbiNobodyKnowsBeginsNothing) {
  const wire::ProbeCall call{.slot = slot("new"),
                             .repo = RepoId::parse("ns/kernels").value(),
                             .revision = "v1",
                             .repo_types = {},
                             .abi = {}};
  const Error error = refused(call);
  EXPECT_EQ(error.code, Code::invalid_argument);
  EXPECT_EQ(error.message,
            "slot 'new': no pin in force says its launch ABI; name it with --abi: "
            "'ms_deform_im2col'");
  wire::ProbeCall of_a_pinned_slot = call;
  of_a_pinned_slot.slot = slot("ms_deform_attn");
  EXPECT_NE(refused(of_a_pinned_slot).code, Code::invalid_argument) << "it has the pin's";
}

TEST_F(Handlers, VerifyHashesAndReportsDamage) {
  const auto good = ask<wire::VerifyReply>(wire::VerifyCall{});
  EXPECT_EQ(good.files, 1U);
  EXPECT_TRUE(good.damaged.empty());
  std::filesystem::path blob;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(house_.cache() / "blobs"))
    if (entry.is_regular_file())
      blob = entry.path();
  ASSERT_EQ(::chmod(blob.c_str(), 0600), 0);
  ASSERT_EQ(::truncate(blob.c_str(), 10), 0);
  const std::uint64_t generation = service_->images.lock()->generation();
  const auto bad = ask<wire::VerifyReply>(wire::VerifyCall{.slot = slot("ms_deform_attn")});
  ASSERT_EQ(bad.damaged.size() + bad.missing.size(), 1U);
  EXPECT_NE(service_->images.lock()->generation(), generation);  // what is in memory is forgotten
}

TEST_F(Handlers, RemoveTakesTheFilesAndLeavesThePin) {
  const auto removed = ask<wire::RemoveReply>(wire::RemoveCall{.slot = slot("ms_deform_attn")});
  EXPECT_EQ(removed.files, 1U);
  EXPECT_GT(removed.bytes, 0U);
  EXPECT_TRUE(ask<wire::ListReply>(wire::ListCall{}).revisions.empty());
  EXPECT_EQ(ask<wire::PinsReply>(wire::PinsCall{}).pins.size(), 1U);
}

TEST_F(Handlers, PruneLeavesWhatAPinNames) {
  const auto pruned = ask<wire::PruneReply>(wire::PruneCall{.max_bytes = 0});
  EXPECT_EQ(pruned.files, 0U);
  EXPECT_GT(pruned.bytes_left, 0U);
}

TEST_F(Handlers, PruneTakesWhatNoPinNames) {
  std::filesystem::remove(house_.path() / "pins/ms_deform_attn.toml");
  ASSERT_TRUE(service_->reload());
  EXPECT_EQ(ask<wire::PruneReply>(wire::PruneCall{.max_bytes = 0}).files, 1U);
}

TEST_F(Handlers, PruneLeavesWhatAPinNamedBeforeItWasMistyped) {
  house_.write_pin("ms_deform_attn", "slot = \"ms_deform_attn\"\nrepo = ");
  ASSERT_TRUE(service_->reload());
  const auto pruned = ask<wire::PruneReply>(wire::PruneCall{.max_bytes = 0});
  EXPECT_EQ(pruned.files, 0U);
  ASSERT_EQ(pruned.refused.size(), 1U);
  EXPECT_EQ(pruned.refused[0].source, (house_.path() / "pins/ms_deform_attn.toml").string());
  EXPECT_EQ(ask<wire::RebuildIndexReply>(wire::RebuildIndexCall{}).files, 1U)
      << "its digests are known";
}

TEST_F(Handlers, AServiceThatNeverUnderstoodAPinEvictsNothing) {
  house_.write_pin("ms_deform_attn", "slot = \"ms_deform_attn\"\nrepo = ");
  service_ = house_.open();
  EXPECT_EQ(ask<wire::PruneReply>(wire::PruneCall{.max_bytes = 0}).files, 0U);
  std::filesystem::remove(house_.path() / "pins/ms_deform_attn.toml");
  ASSERT_TRUE(service_->reload());
  EXPECT_EQ(ask<wire::PruneReply>(wire::PruneCall{.max_bytes = 0}).files, 1U);
}

TEST_F(Handlers, RebuildIndexFindsThePinnedFilesAgain) {
  const auto rebuilt = ask<wire::RebuildIndexReply>(wire::RebuildIndexCall{});
  EXPECT_EQ(rebuilt.files, 1U);
  EXPECT_EQ(rebuilt.images, 1U);
  EXPECT_EQ(rebuilt.revisions, 1U);
}

TEST_F(Handlers, RebuildIndexHealsAnIndexThatTheServiceHasOpen) {
  const std::filesystem::path index = house_.cache() / "index.sqlite3";
  const auto bytes = std::filesystem::file_size(index);
  ASSERT_GT(bytes, 4096U);
  std::filesystem::resize_file(index, 4096);  // its first page still opens
  std::filesystem::resize_file(index, bytes);
  const Error damaged = refused(wire::VerifyCall{});
  EXPECT_EQ(damaged.code, Code::corrupt_store);
  EXPECT_EQ(damaged.message, "index '" + index.string() +
                                 "': damaged; start it anew with `libreyolo-kernels "
                                 "rebuild-index`");
  EXPECT_EQ(ask<wire::RebuildIndexReply>(wire::RebuildIndexCall{}).files, 1U);
  EXPECT_EQ(ask<wire::VerifyReply>(wire::VerifyCall{}).files, 1U);
  EXPECT_EQ(ask<wire::StatusReply>(wire::StatusCall{}).store.files, 1U);
}

TEST_F(Handlers, PinsShowWhereEachCameFromAndWhatWasRefused) {
  house_.write_pin("broken", "slot = 3\n");
  ASSERT_TRUE(service_->reload());
  const auto pins = ask<wire::PinsReply>(wire::PinsCall{});
  ASSERT_EQ(pins.pins.size(), 1U);
  EXPECT_EQ(pins.pins[0].source, (house_.path() / "pins/ms_deform_attn.toml").string());
  ASSERT_EQ(pins.refused.size(), 1U);
  EXPECT_EQ(pins.refused[0].source, (house_.path() / "pins/broken.toml").string());
  const auto status = ask<wire::StatusReply>(wire::StatusCall{});
  ASSERT_EQ(status.refused.size(), 1U);
  EXPECT_EQ(status.refused[0].reason, pins.refused[0].reason);
}

TEST_F(Handlers, StatusTellsModeStoreSlotsAndCounters) {
  const auto status = ask<wire::StatusReply>(wire::StatusCall{});
  EXPECT_EQ(status.mode, wire::Mode::user);
  EXPECT_EQ(status.pid, ::getpid());
  EXPECT_EQ(status.version, LYK_VERSION);
  EXPECT_EQ(status.store.files, 1U);
  EXPECT_TRUE(status.store.writable);
  ASSERT_EQ(status.slots.size(), 1U);
  EXPECT_EQ(status.slots[0].state, wire::SlotState::cached);
  EXPECT_EQ(status.slots[0].images, 1U);
}

TEST_F(Handlers, StatusKeepsTheReasonOfAFailedFetch) {
  (void)ask<wire::RemoveReply>(wire::RemoveCall{.slot = slot("ms_deform_attn")});
  EXPECT_EQ(refused(wire::FetchCall{.slots = {slot("ms_deform_attn")},
                                    .archs = {},
                                    .offline = true,
                                    .pin = {},
                                    .pin_name = {}})
                .code,
            Code::offline);
  const auto status = ask<wire::StatusReply>(wire::StatusCall{});
  EXPECT_EQ(status.slots[0].state, wire::SlotState::failed);
  ASSERT_TRUE(status.slots[0].reason);
  EXPECT_NE(status.slots[0].reason->find("the request says offline"), std::string::npos);
}

TEST_F(Handlers, TheServiceDescribesItself) {
  const auto info = ask(R"({"method":"org.varlink.service.GetInfo"})");
  ASSERT_TRUE(info);
  EXPECT_NE(info->text.find("com.libreyolo.Kernels"), std::string::npos);
  const auto text = ask(
      R"({"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"com.libreyolo.Kernels"}})");
  ASSERT_TRUE(text);
  EXPECT_NE(text->text.find("method Resolve"), std::string::npos);
}

TEST_F(Handlers, WhatIsNotKnownIsAVarlinkError) {
  const std::vector<std::pair<const char*, const char*>> rows{
      {R"({"method":"org.example.Nothing.Call"})", "org.varlink.service.InterfaceNotFound"},
      {R"({"method":"com.libreyolo.Kernels.Nothing"})", "org.varlink.service.MethodNotFound"},
      {R"({"method":"com.libreyolo.Kernels.Nothing"})", R"("com.libreyolo.Kernels.Nothing")"},
      {R"({"method":"org.varlink.service.Nothing"})", R"("org.varlink.service.Nothing")"},
      {R"({"method":"org.varlink.service.GetInterfaceDescription","parameters":{"interface":"org.example.Nothing"}})",
       "org.varlink.service.InterfaceNotFound"},
  };
  for (const auto& [call, error] : rows) {
    const auto answered = ask(call);
    ASSERT_TRUE(answered) << call;
    EXPECT_NE(answered->text.find(error), std::string::npos) << answered->text;
  }
}

TEST_F(Handlers, AWrongParameterIsNamed) {
  const auto answered = ask(R"({"method":"com.libreyolo.Kernels.Info","parameters":{"slot":3}})");
  ASSERT_FALSE(answered);
  EXPECT_EQ(answered.error().code, Code::invalid_argument);
  EXPECT_NE(answered.error().message.find("slot"), std::string::npos);
}

TEST_F(Handlers, WhoMayNotAskIsRefusedBeforeAnythingIsDone) {
  connection_->peer.uid = ::geteuid() + 1;
  EXPECT_EQ(refused(wire::RemoveCall{.slot = slot("ms_deform_attn")}).code, Code::refused);
  EXPECT_EQ(service_->store().value()->stats().value().files, 1U);
}

TEST_F(Handlers, ACallerThatHasGoneIsNoticed) {
  EXPECT_FALSE(is_gone(*connection_));
  caller_.reset();
  EXPECT_TRUE(is_gone(*connection_));
}

}  // namespace
}  // namespace lyk::daemon
