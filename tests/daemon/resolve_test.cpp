// Resolve from the outside: a household with a kernel in its store, a caller, and what it gets.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "daemon/handlers.hpp"
#include "fetcher/init.hpp"
#include "proto/hash.hpp"
#include "proto/text.hpp"
#include "tests/daemon/abi_ptx.hpp"
#include "tests/daemon/house.hpp"
#include "tests/daemon/silent_hub.hpp"

namespace lyk::daemon {
namespace {

using test::House;

class Resolve : public ::testing::Test {
protected:
  void SetUp() override {
    house_.pin_kernel();
    house_.store(House::kernel());
  }

  void open(wire::Mode mode = wire::Mode::user) { service_ = house_.open(mode); }

  Result<Answer> resolve(const wire::ResolveCall& call, Peer peer) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    caller_ = UniqueFd{ends[1]};
    Connection connection{.channel = Channel(UniqueFd{ends[0]}, {}), .peer = peer};
    const auto message = wire::parse_call(wire::encode_call(call));
    EXPECT_TRUE(message);
    Call handled{
        .service = *service_, .connection = connection, .message = *message, .error_fields = {}};
    auto result = answer(handled);
    fields_ = handled.error_fields;
    return result;
  }
  Result<Answer> resolve(const wire::ResolveCall& call) {
    return resolve(call, {.uid = ::geteuid(), .pid = 1, .is_administrator = false});
  }

  static wire::ResolveCall for_device(const char* arch, const char* slot = "ms_deform_attn") {
    return {.slot = SlotName::parse(slot).value(),
            .device = {.arch = Arch::parse(arch).value(), .tegra = false, .driver = {}},
            .wait_ms = 30'000,
            .offline = true,
            .describe = false};
  }

  static wire::ResolveReply reply_of(const Answer& answer) {
    const auto parsed = wire::parse_reply(answer.view());
    EXPECT_TRUE(parsed);
    auto reply = wire::decode_parameters<wire::ResolveReply>(*parsed);
    EXPECT_TRUE(reply) << answer.view();
    return std::move(reply).value();
  }

  wire::Counters counters() { return service_->tally.lock()->counters; }

  // The one blob of the store.
  std::filesystem::path blob() const {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(house_.cache() / "blobs"))
      if (entry.is_regular_file())
        return entry.path();
    return {};
  }

  void flip_a_byte_of_the_blob() const {
    const std::filesystem::path path = blob();
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    const UniqueFd fd{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
    char byte = 0;
    ASSERT_EQ(::pread(fd.get(), &byte, 1, 100), 1);
    byte = static_cast<char>(byte ^ 1);
    ASSERT_EQ(::pwrite(fd.get(), &byte, 1, 100), 1);
  }

  House house_;
  std::shared_ptr<Service> service_;
  UniqueFd caller_;
  wire::ErrorFields fields_;
};

TEST_F(Resolve, HandsOutASealedImageThatIsWhatTheReplySays) {
  open();
  const auto answer = resolve(for_device("8.0"));
  ASSERT_TRUE(answer) << answer.error().message;
  const wire::ResolveReply reply = reply_of(*answer);
  EXPECT_EQ(reply.slot, "ms_deform_attn");
  EXPECT_EQ(reply.image.kind, wire::ImageKind::ptx);
  EXPECT_EQ(reply.image.arch, "sm_75");
  EXPECT_EQ(reply.file, "images/kernel.ptx");
  EXPECT_EQ(reply.proof, wire::ProofKind::digests);
  EXPECT_EQ(reply.pin, (house_.path() / "pins/ms_deform_attn.toml").string());
  EXPECT_TRUE(reply.image.kernels.empty());

  ASSERT_GE(answer->fd(), 0);
  struct ::stat found {};
  ASSERT_EQ(::fstat(answer->fd(), &found), 0);
  ASSERT_EQ(static_cast<std::uint64_t>(found.st_size),
            reply.image.bytes + 1);  // PTX ends with a NUL
  std::string bytes(reply.image.bytes + 1, 'x');
  ASSERT_EQ(::pread(answer->fd(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(bytes.back(), '\0');
  bytes.pop_back();
  EXPECT_EQ(sha256(std::as_bytes(std::span{bytes})), reply.image.sha256);
  EXPECT_NE(::fcntl(answer->fd(), F_GET_SEALS) & F_SEAL_WRITE, 0);
}

TEST_F(Resolve, SaysWhichPassesThePinMarksDeterministic) {
  house_.pin_kernel("deterministic = [\"forward\"]\n");
  open();
  for (const char* way : {"from the store", "from memory"}) {
    const auto marked = resolve(for_device("8.0"));
    ASSERT_TRUE(marked) << way << ": " << marked.error().message;
    EXPECT_EQ(reply_of(*marked).deterministic, std::vector<std::string>{"forward"}) << way;
  }
  house_.pin_kernel();
  open();
  const auto unmarked = resolve(for_device("8.0"));
  ASSERT_TRUE(unmarked) << unmarked.error().message;
  EXPECT_TRUE(reply_of(*unmarked).deterministic.empty());
}

TEST_F(Resolve, WhatAnotherPinOfTheRevisionBroughtIsNotHandedOut) {
  house_.store({"images/fits_better.ptx", test::ptx_of_abi("ms_deform_im2col", "sm_80")});
  open();
  const auto answer = resolve(for_device("8.0"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(reply_of(*answer).file, "images/kernel.ptx");
}

TEST_F(Resolve, DigestsOfAnotherPinProveNothingToAPinByGit) {
  ASSERT_TRUE(fetcher::init_libraries());
  std::string by_git = House::pin_text("ms_deform_attn", {});
  by_git.erase(by_git.find("[digests]"));
  house_.write_pin("ms_deform_attn", by_git);
  open();
  const auto answer = resolve(for_device("8.0"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::offline) << answer.error().message;
}

TEST_F(Resolve, APinOfTheCallIsAnsweredWithItsImageAndLeavesOthersAlone) {
  const House::NamedFile other{"images/other.ptx", House::kernel().content + "\n"};
  house_.store(other);
  open();
  const auto before = resolve(for_device("8.0"));
  ASSERT_TRUE(before) << before.error().message;
  wire::ResolveCall call = for_device("8.0");
  call.pin = House::pin_text("ms_deform_attn", {other});
  call.pin_name = "the new pin";
  const auto candidate = resolve(call);
  ASSERT_TRUE(candidate) << candidate.error().message;
  EXPECT_EQ(reply_of(*candidate).file, "images/other.ptx");
  EXPECT_EQ(reply_of(*candidate).pin, "the new pin");
  const auto after = resolve(for_device("8.0"));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(reply_of(*after).file, reply_of(*before).file);
}

TEST_F(Resolve, APinOfTheCallIsForTheServicesOwnUserAndForTheSlotOfTheCall) {
  open();
  wire::ResolveCall call = for_device("8.0");
  call.pin = House::pin_text("ms_deform_attn", {House::kernel()});
  const auto stranger =
      resolve(call, {.uid = ::geteuid() + 1, .pid = 1, .is_administrator = false});
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code, Code::refused);
  call.pin = House::pin_text("nms", {House::kernel()});
  const auto of_another_slot = resolve(call);
  ASSERT_FALSE(of_another_slot);
  EXPECT_EQ(of_another_slot.error().message,
            "the pin of the call: it pins slot 'nms', not 'ms_deform_attn'");
  call.pin = "hello";
  EXPECT_EQ(resolve(call).error().code, Code::invalid_argument);
}

TEST_F(Resolve, AWarmAnswerNeedsNoStore) {
  open();
  const auto cold = resolve(for_device("8.0"));
  ASSERT_TRUE(cold);
  std::filesystem::remove_all(house_.cache());
  const auto warm = resolve(for_device("8.0"));
  ASSERT_TRUE(warm) << warm.error().message;
  EXPECT_EQ(warm->view(), cold->view());
  EXPECT_EQ(warm->fd(), cold->fd());
  EXPECT_EQ(counters().resolve_calls, 2U);
  EXPECT_EQ(counters().resolve_store_hits, 1U);
  EXPECT_EQ(counters().resolve_memory_hits, 1U);
}

TEST_F(Resolve, DevicesThatGetTheSameImageShareItsMemory) {
  open();
  const auto one = resolve(for_device("8.0"));
  const auto other = resolve(for_device("9.0"));
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->fd(), other->fd());
  EXPECT_EQ(service_->images.lock()->images(), 1U);
}

TEST_F(Resolve, ADescriptionNamesTheKernels) {
  open();
  auto call = for_device("8.0");
  call.describe = true;
  const auto answer = resolve(call);
  ASSERT_TRUE(answer);
  EXPECT_EQ(reply_of(*answer).image.kernels.size(), 16U);
  const auto plain = resolve(for_device("8.0"));
  EXPECT_TRUE(reply_of(*plain).image.kernels.empty());
}

TEST_F(Resolve, ADeviceThatNothingFitsIsToldWhyForEachImage) {
  open();
  const auto answer = resolve(for_device("7.0"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::no_image);
  EXPECT_EQ(fields_.slot, "ms_deform_attn");
  ASSERT_EQ(fields_.refused.size(), 1U);
  EXPECT_EQ(fields_.refused[0].image, "images/kernel.ptx sm_75 ptx");
}

TEST_F(Resolve, AnUnknownSlotIsToldTheNearestOne) {
  open();
  const auto answer = resolve(for_device("8.0", "ms_deform_atn"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::not_pinned);
  EXPECT_EQ(answer.error().message,
            "slot 'ms_deform_atn': no pin names it; did you mean 'ms_deform_attn'?");
  EXPECT_EQ(fields_.slot, "ms_deform_atn");
}

TEST_F(Resolve, ARefusedPinIsTheReasonWhyItsSlotHasNone) {
  house_.write_pin("ms_deform_attn", "slot = \"ms_deform_attn\"\nrepoo = \"a/b\"\n");
  open();
  const auto answer = resolve(for_device("8.0"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::invalid_argument);
  EXPECT_NE(answer.error().message.find("its pin is refused: "), std::string::npos);
}

TEST_F(Resolve, APinForFilesOnlyHasNoImages) {
  house_.write_pin("files",
                   "slot = \"files\"\nrepo = \"ns/kernels\"\nvariants = [\"*\"]\n"
                   "revision = \"0123456789abcdef0123456789abcdef01234567\"\n");
  open();
  const auto answer = resolve(for_device("8.0", "files"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::no_image);
}

TEST_F(Resolve, AChangedByteIsFoundAndTheFileIsQuarantined) {
  open();
  flip_a_byte_of_the_blob();
  const auto answer = resolve(for_device("8.0"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::offline) << answer.error().message;  // to be fetched again
  EXPECT_EQ(counters().quarantined_files, 1U);
  EXPECT_EQ(service_->store().value()->stats().value().quarantined, 1U);
  EXPECT_EQ(blob(), std::filesystem::path{});
  house_.store(House::kernel());
  EXPECT_TRUE(resolve(for_device("8.0")));
}

TEST_F(Resolve, AReadOnlyStoreServesWhatItHas) {
  if (::geteuid() == 0)
    GTEST_SKIP() << "root writes everywhere; the system tests mount one read only";
  open();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(house_.cache()))
    if (entry.is_directory())
      std::filesystem::permissions(entry.path(), std::filesystem::perms{0555});
  std::filesystem::permissions(house_.cache(), std::filesystem::perms{0555});
  EXPECT_TRUE(resolve(for_device("8.0")));
  std::filesystem::permissions(house_.cache(), std::filesystem::perms{0755});
  for (const auto& entry : std::filesystem::recursive_directory_iterator(house_.cache()))
    if (entry.is_directory())
      std::filesystem::permissions(entry.path(), std::filesystem::perms{0755});
}

TEST_F(Resolve, AMissWithoutWaitingIsNotCachedAndTheFetchGoesOn) {
  const test::SilentHub hub;
  house_.write_config(hub.config());
  std::filesystem::remove_all(house_.cache());
  open();
  auto call = for_device("8.0");
  call.offline = false;
  call.wait_ms = 0;
  const auto answer = resolve(call);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::not_cached);
  EXPECT_EQ(answer.error().message,
            "slot 'ms_deform_attn': not here after 0 ms; the fetch goes on for later processes; "
            "`libreyolo-kernels fetch ms_deform_attn` fetches ahead of time");
  EXPECT_EQ(fields_.slot, "ms_deform_attn");
  hub.wait_for_a_request();
  EXPECT_EQ(service_->flights.running(), 1U);
  EXPECT_EQ(counters().resolve_misses, 1U);
}

TEST_F(Resolve, AnOfflineMissSaysOffline) {
  std::filesystem::remove_all(house_.cache());
  open();
  const auto answer = resolve(for_device("8.0"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::offline);
  EXPECT_EQ(fields_.slot, "ms_deform_attn");
}

TEST_F(Resolve, PartOfARevisionServesWhereTheRestCannotBeHad) {
  const House::NamedFile absent{"images/other.ptx", "not here"};
  house_.pin("ms_deform_attn", {House::kernel(), absent});
  open();
  const auto answer = resolve(for_device("8.0"));
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(service_->images.lock()->images(), 0U);  // a later, better choice is not hidden
}

TEST_F(Resolve, WhereNothingOfWhatAHintNamesFitsTheRestIsMissingToo) {
  const House::NamedFile wrong{"build/torch212-cxx11-cu126-x86_64-linux/x.so",
                               test::ptx_of_abi("ms_deform_im2col", "sm_100")};
  const House::NamedFile right{"build/torch212-cxx11-cu128-x86_64-linux/x.so",
                               test::ptx_of_abi("ms_deform_im2col", "sm_75")};
  const std::string archs =
      "[archs]\n\"torch212-cxx11-cu126-x86_64-linux\" = [\"sm_90\"]\n"
      "\"torch212-cxx11-cu128-x86_64-linux\" = [\"sm_80\"]\n";
  house_.pin("ms_deform_attn", {wrong, right}, archs);
  std::filesystem::remove_all(house_.cache());
  house_.store(wrong);
  open();
  const auto without = resolve(for_device("9.0"));
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, Code::offline) << without.error().message;
  house_.store(right);
  const auto with = resolve(for_device("9.0"));
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_EQ(reply_of(*with).file, right.path);
}

TEST_F(Resolve, FilesOfAGatedRepoAreForTheServicesOwnUser) {
  std::filesystem::remove_all(house_.cache());
  house_.store(House::kernel(), cache::Visibility::gated);
  open(wire::Mode::system);
  const Peer stranger{.uid = ::geteuid() + 1, .pid = 1, .is_administrator = true};
  for (int i = 0; i < 2; ++i) {  // cold, and from memory
    const auto refused = resolve(for_device("8.0"), stranger);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::refused);
    EXPECT_NE(refused.error().message.find("public = true"), std::string::npos);
    EXPECT_TRUE(resolve(for_device("8.0")));
  }
}

TEST_F(Resolve, APublicPinOpensAGatedRepoToEverybody) {
  std::filesystem::remove_all(house_.cache());
  house_.store(House::kernel(), cache::Visibility::gated);
  house_.pin_kernel("public = true\n");
  open(wire::Mode::system);
  EXPECT_TRUE(
      resolve(for_device("8.0"), {.uid = ::geteuid() + 1, .pid = 1, .is_administrator = false}));
}

}  // namespace
}  // namespace lyk::daemon
