#include "client/connection.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "proto/text.hpp"
#include "tests/client/fake_service.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::client {
namespace {

using test::FakeService;
using test::memfd_of;
using test::resolve_call;
using test::resolve_reply;
using test::settings_for;
using test::TempDir;

// A whole reply to Resolve as bytes of the stream.
std::string reply_bytes(const wire::ResolveReply& reply = resolve_reply()) {
  return wire::encode_reply(reply) + '\0';
}

wire::VerifyReply verify_progress(std::uint64_t files_done) {
  wire::VerifyReply reply;
  reply.progress.emplace().files_done = files_done;
  return reply;
}

// What a client makes of one reply that it receives again and again.
Result<ResolvedImage> resolve_against(std::string_view bytes, int fd) {
  const TempDir folder;
  FakeService service{folder / "socket", [&](UniqueFd connection, int) {
                        test::answer_raw(std::move(connection), bytes, fd);
                      }};
  auto connection = Connection::open(settings_for(folder / "socket"));
  if (!connection)
    return std::move(connection).error();
  return connection->resolve(resolve_call());
}

void expect_protocol_error(const wire::ResolveReply& reply, int fd, std::string_view text) {
  const auto image = resolve_against(reply_bytes(reply), fd);
  ASSERT_FALSE(image) << text;
  EXPECT_EQ(image.error().code, Code::protocol) << image.error().message;
  EXPECT_NE(image.error().message.find(text), std::string::npos) << image.error().message;
}

TEST(Connection, ResolveReturnsTheSealedImage) {
  const UniqueFd sealed = memfd_of(test::image_bytes);
  const auto image = resolve_against(reply_bytes(), sealed.get());
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->reply.image.arch, "sm_90");
  std::string bytes(image->reply.image.bytes, '\0');
  ASSERT_EQ(::pread(image->fd.get(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(bytes, test::image_bytes);
  EXPECT_NE(::fcntl(image->fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Connection, OneConnectionServesManyCalls) {
  const TempDir folder;
  const UniqueFd sealed = memfd_of(test::image_bytes);
  FakeService service{folder / "socket", [&](UniqueFd connection, int) {
                        test::answer_resolves(std::move(connection), resolve_reply(), sealed.get());
                      }};
  auto connection = Connection::open(settings_for(folder / "socket"));
  ASSERT_TRUE(connection) << connection.error().message;
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(connection->resolve(resolve_call()));
  EXPECT_EQ(service.connections(), 1);
  EXPECT_EQ(connection->peer(), str("'", folder / "socket", "'"));
}

TEST(Connection, AnImageThatCouldBeChangedIsRefused) {
  for (const int missing : {F_SEAL_WRITE, F_SEAL_GROW, F_SEAL_SHRINK, F_SEAL_SEAL}) {
    const UniqueFd weak = memfd_of(test::image_bytes, test::image_seals & ~missing);
    expect_protocol_error(resolve_reply(), weak.get(), "could be changed");
  }
}

TEST(Connection, ADescriptorThatIsNoMemfdIsRefused) {
  const UniqueFd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  expect_protocol_error(resolve_reply(), null.get(), "has no seals");
}

TEST(Connection, AReplyWithoutDescriptorIsRefused) {
  expect_protocol_error(resolve_reply(), -1, "no descriptor is attached");
}

TEST(Connection, MoreSealsThanOursAreFine) {
  constexpr int future_write = F_SEAL_FUTURE_WRITE;
  const UniqueFd sealed = memfd_of(test::image_bytes, test::image_seals | future_write);
  EXPECT_TRUE(resolve_against(reply_bytes(), sealed.get()));
}

TEST(Connection, AnImageOfAnotherSizeIsRefused) {
  for (const std::string_view bytes :
       {test::image_bytes.substr(1), std::string_view{"longer than it says"}}) {
    const UniqueFd sealed = memfd_of(bytes);
    const auto image = resolve_against(reply_bytes(), sealed.get());
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().code, Code::size_mismatch) << image.error().message;
  }
}

TEST(Connection, PtxHasOneNulMoreThanItsBytes) {
  auto reply = resolve_reply();
  const std::string ptx = ".version 8.0";
  reply.image.kind = wire::ImageKind::ptx;
  reply.image.bytes = ptx.size();
  const UniqueFd good = memfd_of(ptx + '\0');
  EXPECT_TRUE(resolve_against(reply_bytes(reply), good.get()));
  const UniqueFd without = memfd_of(ptx);
  EXPECT_EQ(resolve_against(reply_bytes(reply), without.get()).error().code, Code::size_mismatch);
  const UniqueFd other = memfd_of(ptx + 'x');
  expect_protocol_error(reply, other.get(), "does not end in NUL");
}

TEST(Connection, AReplyThatContradictsTheCallOrItselfIsRefused) {
  const UniqueFd sealed = memfd_of(test::image_bytes);
  auto reply = resolve_reply();
  reply.slot = "another";
  expect_protocol_error(reply, sealed.get(), "slot 'another': 'ms_deform_attn' was asked for");
  reply = resolve_reply();
  reply.image.bytes = 0;
  expect_protocol_error(reply, sealed.get(), "image: 0 bytes");
  reply = resolve_reply();
  reply.image.arch = "hopper";
  expect_protocol_error(reply, sealed.get(), "'hopper'");
  reply = resolve_reply();
  reply.commit = "main";
  expect_protocol_error(reply, sealed.get(), "'main'");
  reply = resolve_reply();
  reply.file = "../etc/passwd";
  expect_protocol_error(reply, sealed.get(), "'../etc/passwd'");
  reply = resolve_reply();
  reply.repo = "a/b/c";
  expect_protocol_error(reply, sealed.get(), "'a/b/c'");
}

// One reply of a service that gives another one each time.
struct Given {
  wire::ResolveReply reply = resolve_reply();
  int fd = -1;
};

void answer_in_turn(UniqueFd connection, const std::vector<Given>& all) {
  Channel channel{std::move(connection), {}};
  for (const Given& given : all)
    if (auto frame = channel.read_frame();
        !frame || !*frame || !channel.write_frame(wire::encode_reply(given.reply), given.fd))
      return;
}

TEST(Connection, TheSameReplyAgainIsWorthNothingWithoutItsDescriptor) {
  const TempDir folder;
  const UniqueFd sealed = memfd_of(test::image_bytes);
  const UniqueFd weak = memfd_of(test::image_bytes, F_SEAL_WRITE);
  const UniqueFd shorter = memfd_of(test::image_bytes.substr(1));
  const std::vector<Given> given{{.fd = sealed.get()},
                                 {.fd = weak.get()},
                                 {.fd = -1},
                                 {.fd = shorter.get()},
                                 {.fd = sealed.get()}};
  FakeService service{folder / "socket", [&](UniqueFd connection, int) {
                        answer_in_turn(std::move(connection), given);
                      }};
  auto connection = Connection::open(settings_for(folder / "socket"));
  ASSERT_TRUE(connection);
  EXPECT_TRUE(connection->resolve(resolve_call()));
  EXPECT_EQ(connection->resolve(resolve_call()).error().code, Code::protocol);
  EXPECT_EQ(connection->resolve(resolve_call()).error().code, Code::protocol);
  EXPECT_EQ(connection->resolve(resolve_call()).error().code, Code::size_mismatch);
  EXPECT_TRUE(connection->resolve(resolve_call()));
  EXPECT_EQ(service.connections(), 1);
}

TEST(Connection, EveryReplyThatDiffersIsReadAnew) {
  const TempDir folder;
  const UniqueFd sealed = memfd_of(test::image_bytes);
  wire::ResolveReply older = resolve_reply();
  older.image.arch = "sm_80";  // of the same length
  wire::ResolveReply wrong = resolve_reply();
  wrong.image.arch = "sm_xx";
  wire::ResolveReply described = resolve_reply();
  described.image.kernels.resize(limits::known_reply_bytes_max / 16);
  const std::vector<Given> given{
      {.reply = resolve_reply(), .fd = sealed.get()}, {.reply = older, .fd = sealed.get()},
      {.reply = wrong, .fd = sealed.get()},           {.reply = described, .fd = sealed.get()},
      {.reply = described, .fd = sealed.get()},       {.reply = older, .fd = sealed.get()}};
  FakeService service{folder / "socket", [&](UniqueFd connection, int) {
                        answer_in_turn(std::move(connection), given);
                      }};
  auto connection = Connection::open(settings_for(folder / "socket"));
  ASSERT_TRUE(connection);
  EXPECT_EQ(connection->resolve(resolve_call())->reply.image.arch, "sm_90");
  EXPECT_EQ(connection->resolve(resolve_call())->reply.image.arch, "sm_80");
  EXPECT_EQ(connection->resolve(resolve_call()).error().code, Code::protocol);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(connection->resolve(resolve_call())->reply.image.kernels.size(),
              described.image.kernels.size());
  EXPECT_EQ(connection->resolve(resolve_call())->reply.image.arch, "sm_80");
}

TEST(Connection, AKnownReplyIsRefusedForAnotherSlot) {
  const TempDir folder;
  const UniqueFd sealed = memfd_of(test::image_bytes);
  FakeService service{folder / "socket", [&](UniqueFd connection, int) {
                        test::answer_resolves(std::move(connection), resolve_reply(), sealed.get());
                      }};
  auto connection = Connection::open(settings_for(folder / "socket"));
  ASSERT_TRUE(connection);
  ASSERT_TRUE(connection->resolve(resolve_call()));
  auto other = resolve_call();
  other.slot = *SlotName::parse("another");
  const auto image = connection->resolve(other);
  ASSERT_FALSE(image);
  EXPECT_NE(image.error().message.find("'another' was asked for"), std::string::npos);
  EXPECT_TRUE(connection->resolve(resolve_call()));
}

TEST(Connection, WhatIsNoReplyIsAProtocolError) {
  for (const std::string_view bytes :
       {std::string_view{"{}}\0", 4}, std::string_view{"\0", 1}, std::string_view{"[1]\0", 4},
        std::string_view{"{\"continues\": true}\0", 20}}) {
    const auto image = resolve_against(bytes, -1);
    ASSERT_FALSE(image) << bytes;
    EXPECT_EQ(image.error().code, Code::protocol) << image.error().message;
  }
}

TEST(Connection, AServiceThatDiesWithinItsReplyIsATypedError) {
  const std::string whole = reply_bytes();
  const UniqueFd sealed = memfd_of(test::image_bytes);
  const TempDir folder;
  FakeService service{folder / "socket", [&](UniqueFd connection, int number) {
                        const auto sent = static_cast<std::size_t>(number / 2);
                        test::answer_raw(std::move(connection),
                                         std::string_view{whole}.substr(0, sent), sealed.get());
                      }};
  for (std::size_t sent = 0; sent < whole.size(); ++sent) {
    auto connection = Connection::open(settings_for(folder / "socket"));
    ASSERT_TRUE(connection) << connection.error().message;
    const auto image = connection->resolve(resolve_call());
    ASSERT_FALSE(image) << sent;
    ASSERT_EQ(image.error().code, Code::network) << image.error().message;
    ASSERT_EQ(service.connections(), static_cast<int>(2 * sent + 2)) << "one repetition";
  }
}

TEST(Connection, ResolveIsRepeatedOnceWhereverTheServiceDied) {
  const std::string whole = reply_bytes();
  const UniqueFd sealed = memfd_of(test::image_bytes);
  const TempDir folder;
  FakeService service{folder / "socket", [&](UniqueFd connection, int number) {
                        const auto sent =
                            number % 2 == 0 ? static_cast<std::size_t>(number / 2) : whole.size();
                        test::answer_raw(std::move(connection),
                                         std::string_view{whole}.substr(0, sent), sealed.get());
                      }};
  for (std::size_t sent = 0; sent < whole.size(); ++sent) {
    auto connection = Connection::open(settings_for(folder / "socket"));
    ASSERT_TRUE(connection) << connection.error().message;
    const auto image = connection->resolve(resolve_call());
    ASSERT_TRUE(image) << sent << ": " << image.error().message;
  }
}

TEST(Connection, ARestartedServiceIsNotNoticedByResolve) {
  const TempDir folder;
  const UniqueFd sealed = memfd_of(test::image_bytes);
  FakeService service{folder / "socket", [&](UniqueFd connection, int) {
                        test::answer_raw(std::move(connection), reply_bytes(), sealed.get());
                      }};
  auto connection = Connection::open(settings_for(folder / "socket"));
  ASSERT_TRUE(connection);
  for (int i = 1; i <= 10; ++i) {
    const auto image = connection->resolve(resolve_call());
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_EQ(service.connections(), i);
  }
}

TEST(Connection, ACallThatChangesSomethingIsNeverRepeated) {
  const TempDir folder;
  FakeService service{folder / "socket", [&](UniqueFd connection, int) {
                        test::answer_raw(std::move(connection), "");
                      }};
  auto connection = Connection::open(settings_for(folder / "socket"));
  ASSERT_TRUE(connection);
  const auto reply =
      connection->call<wire::RemoveReply>(wire::RemoveCall{*SlotName::parse("ms_deform_attn")});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::network);
  EXPECT_NE(reply.error().message.find("closed the connection before it answered"),
            std::string::npos)
      << reply.error().message;
  EXPECT_EQ(service.connections(), 1);
}

TEST(Connection, TheErrorOfAServiceIsTheErrorOfTheCallWithItsFields) {
  const TempDir folder;
  FakeService service{folder / "socket", [&](UniqueFd connection, int) {
                        Channel channel{std::move(connection), {}};
                        while (channel.read_frame(std::chrono::seconds{5}).value())
                          (void)channel.write_frame(wire::encode_error(
                              {Code::no_image, "slot ms_deform_attn: no image fits sm_90"},
                              {"ms_deform_attn", {{"sm_80 cubin", "other major"}}}));
                      }};
  auto connection = Connection::open(settings_for(folder / "socket"));
  ASSERT_TRUE(connection);
  for (int i = 0; i < 2; ++i) {
    const auto image = connection->resolve(resolve_call());
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().code, Code::no_image);
    EXPECT_EQ(image.error().message, "slot ms_deform_attn: no image fits sm_90");
    ASSERT_EQ(connection->error_fields().refused.size(), 1U);
    EXPECT_EQ(connection->error_fields().refused[0].reason, "other major");
  }
  EXPECT_EQ(service.connections(), 1) << "an error reply is no reason to connect anew";
}

TEST(Connection, AServiceThatTurnsUsAwayIsHeard) {
  const TempDir folder;
  FakeService service{folder / "socket", [&](UniqueFd connection, int) {
                        Channel channel{std::move(connection), {}};
                        (void)channel.write_frame(
                            wire::encode_error({Code::busy, "2048 connections of uid 7 are open"}));
                      }};
  auto connection = Connection::open(settings_for(folder / "socket"));
  ASSERT_TRUE(connection);
  for (int i = 0; i < 20; ++i) {
    const auto image = connection->resolve(resolve_call());
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().code, Code::busy) << image.error().message;
  }
}

TEST(Connection, AStreamTellsItsProgressAndReturnsItsLastReply) {
  const TempDir folder;
  FakeService service{folder / "socket", [&](UniqueFd connection, int) {
                        Channel channel{std::move(connection), {}};
                        (void)channel.read_frame();
                        for (std::uint64_t done = 1; done <= 3; ++done)
                          (void)channel.write_frame(
                              wire::encode_reply(verify_progress(done), wire::Continues::yes));
                        wire::VerifyReply last;
                        last.files = 3;
                        (void)channel.write_frame(wire::encode_reply(last));
                      }};
  auto connection = Connection::open(settings_for(folder / "socket"));
  ASSERT_TRUE(connection);
  std::vector<std::uint64_t> seen;
  const auto reply = connection->stream<wire::VerifyReply>(
      wire::VerifyCall{},
      [&](const wire::VerifyReply& part) { seen.push_back(part.progress.value().files_done); });
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(reply->files, 3U);
}

TEST(Connection, AStreamThatBreaksIsAnErrorAndNotRepeated) {
  const TempDir folder;
  FakeService service{
      folder / "socket", [&](UniqueFd connection, int) {
        Channel channel{std::move(connection), {}};
        (void)channel.read_frame();
        (void)channel.write_frame(wire::encode_reply(verify_progress(1), wire::Continues::yes));
      }};
  auto connection = Connection::open(settings_for(folder / "socket"));
  ASSERT_TRUE(connection);
  int parts = 0;
  const auto reply = connection->stream<wire::VerifyReply>(
      wire::VerifyCall{}, [&](const wire::VerifyReply&) { ++parts; });
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Code::network);
  EXPECT_EQ(parts, 1);
  EXPECT_EQ(service.connections(), 1);
}

TEST(Connection, MoreRepliesThanAskedForAreAProtocolError) {
  auto text = wire::encode_reply(resolve_reply(), wire::Continues::yes);
  const UniqueFd sealed = memfd_of(test::image_bytes);
  const auto image = resolve_against(text + '\0', sealed.get());
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, Code::protocol) << image.error().message;
}

// A process at its limit of descriptors must hear of it and not wait for ever (facts traps 8).
TEST(Connection, NoRoomForTheDescriptorIsNotEligibleAndPassesWithTheCause) {
  const TempDir folder;
  const UniqueFd sealed = memfd_of(test::image_bytes);
  FakeService service{folder / "socket", [&](UniqueFd connection, int) {
                        test::answer_resolves(std::move(connection), resolve_reply(), sealed.get());
                      }};
  auto connection = Connection::open(settings_for(folder / "socket"));
  ASSERT_TRUE(connection);
  ASSERT_TRUE(connection->resolve(resolve_call()));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = ::fcntl(0, F_DUPFD_CLOEXEC, 0);
  ASSERT_GE(lowest_free, 0);
  ASSERT_EQ(::close(lowest_free), 0);
  const rlimit full{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &full), 0);
  const auto image = connection->resolve(resolve_call());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code, Code::not_eligible) << image.error().message;
  EXPECT_TRUE(connection->resolve(resolve_call())) << "room again, and all is well";
}

}  // namespace
}  // namespace lyk::client
