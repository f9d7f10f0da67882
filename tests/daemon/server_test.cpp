// The server with rude peers. Limits are scaled down; nothing sleeps, every wait is for an event.
#include "daemon/server.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "daemon/activation.hpp"
#include "proto/text.hpp"
#include "tests/daemon/house.hpp"
#include "tests/daemon/silent_hub.hpp"
#include "tests/daemon/wire_peer.hpp"

namespace lyk::daemon {
namespace {

using std::chrono::milliseconds;
using test::House;
using test::SilentHub;
using test::WirePeer;

constexpr milliseconds ages{60'000};
constexpr const char* resolve_parameters =
    R"({"slot":"ms_deform_attn","device":{"arch":"8.0"},"offline":true})";

class ServerWithPeers : public ::testing::Test {
protected:
  void start(const ServerLimits& limits) {
    service_ = house_.open();
    auto server = Server::open(service_, limits);
    ASSERT_TRUE(server) << server.error().message;
    server_.emplace(std::move(server).value());
    auto listener = listen_at(house_.socket(), Admission::own_user);
    ASSERT_TRUE(listener) << listener.error().message;
    socket_file_.emplace(std::move(listener->file));
    ASSERT_TRUE(server_->accept_from(std::move(listener->fd)));
  }
  WirePeer peer() const { return WirePeer::at(house_.socket()); }
  static bool is_status(const std::string& reply) {
    return reply.find("\"version\"") != std::string::npos;
  }
  wire::Counters counters() { return service_->tally.lock()->counters; }

  House house_;
  std::shared_ptr<Service> service_;
  std::optional<SocketFile> socket_file_;
  std::optional<Server> server_;
};

TEST_F(ServerWithPeers, AnswersManyCallsOnOneConnectionInOrder) {
  start({});
  WirePeer caller = peer();
  ASSERT_TRUE(
      caller.send(WirePeer::call("Status") + WirePeer::call("Pins") + WirePeer::call("List")));
  EXPECT_TRUE(is_status(caller.receive()->text));
  EXPECT_NE(caller.receive()->text.find("\"pins\""), std::string::npos);
  EXPECT_NE(caller.receive()->text.find("\"revisions\""), std::string::npos);
}

TEST_F(ServerWithPeers, SendsTheImageBesideItsReply) {
  house_.pin_kernel();
  house_.store(House::kernel());
  start({});
  WirePeer caller = peer();
  ASSERT_TRUE(caller.send(WirePeer::call("Resolve", resolve_parameters)));
  const auto frame = caller.receive();
  ASSERT_TRUE(frame);
  EXPECT_TRUE(frame->fd) << frame->text;
}

TEST_F(ServerWithPeers, TheSameCallAgainIsAnsweredByWhatIsInForceNow) {
  house_.pin_kernel();
  house_.store(House::kernel());
  start({});
  WirePeer caller = peer();
  const std::string first = caller.ask("Resolve", resolve_parameters);
  EXPECT_EQ(caller.ask("Resolve", resolve_parameters), first);
  EXPECT_EQ(counters().resolve_calls, 2U);
  EXPECT_EQ(counters().resolve_memory_hits, 1U);

  house_.write_pin("ms_deform_attn", "slot = 7\n");
  ASSERT_TRUE(service_->reload());
  EXPECT_NE(caller.ask("Resolve", resolve_parameters).find("its pin is refused"),
            std::string::npos);
  house_.pin_kernel();
  ASSERT_TRUE(service_->reload());
  EXPECT_EQ(caller.ask("Resolve", resolve_parameters), first);
  EXPECT_EQ(counters().resolve_calls, 4U);
}

TEST_F(ServerWithPeers, ACallThatDiffersFromTheLastOneIsReadAnew) {
  start({});
  WirePeer caller = peer();
  const std::string spaces(limits::known_call_bytes_max, ' ');
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(is_status(caller.ask("Status")));
    EXPECT_NE(caller.ask("Pins").find("\"pins\""), std::string::npos);
    EXPECT_NE(caller.ask("Pins", str("{", spaces, "}")).find("\"pins\""), std::string::npos);
    EXPECT_NE(caller.ask("Resolve").find("InvalidArgument"), std::string::npos);
    ASSERT_TRUE(caller.send(WirePeer::call("Resolve", "{}", ",\"oneway\":true")));
  }
  EXPECT_TRUE(is_status(caller.ask("Status")));
  EXPECT_TRUE(is_status(caller.ask("Status")));
}

TEST_F(ServerWithPeers, AOnewayCallGetsNoReply) {
  start({});
  WirePeer caller = peer();
  ASSERT_TRUE(caller.send(WirePeer::call("Pins", "{}", ",\"oneway\":true")));
  EXPECT_TRUE(is_status(caller.ask("Status")));  // the first reply is the second call's
}

TEST_F(ServerWithPeers, HalfAMessageIsCutOffAfterItsDeadline) {
  start({.message_deadline = milliseconds{50}});
  WirePeer caller = peer();
  ASSERT_TRUE(caller.send("{\"method\":"));
  const auto frame = caller.receive();
  ASSERT_TRUE(frame);
  EXPECT_NE(frame->text.find("com.libreyolo.Kernels.Timeout"), std::string::npos) << frame->text;
  EXPECT_TRUE(caller.is_closed());
}

TEST_F(ServerWithPeers, AHundredMebibytesWithoutAnEndAreCutOff) {
  start({});
  WirePeer caller = peer();
  const std::string piece(limits::mib, 'x');
  int sent = 0;
  while (sent < 100 && caller.send(piece))
    ++sent;
  EXPECT_LT(sent, 10);  // the limit and what the socket's buffers hold
  EXPECT_TRUE(caller.is_closed());
  EXPECT_TRUE(is_status(peer().ask("Status")));
}

TEST_F(ServerWithPeers, WhatIsNoMessageEndsTheConnectionWithAnError) {
  start({});
  for (const std::string_view nonsense : {"hello", "[]", "{\"method\":3}", "{}"}) {
    WirePeer caller = peer();
    ASSERT_TRUE(caller.send(str(nonsense, '\0')));
    const auto frame = caller.receive();
    ASSERT_TRUE(frame) << nonsense;
    EXPECT_NE(frame->text.find("\"error\""), std::string::npos);
    EXPECT_TRUE(caller.is_closed());
  }
}

TEST_F(ServerWithPeers, MoreConnectionsThanAllowedAreToldBusy) {
  start({.connections_max = 3});
  std::vector<WirePeer> callers;
  for (int i = 0; i < 3; ++i) {
    callers.push_back(peer());
    EXPECT_TRUE(is_status(callers.back().ask("Status")));
  }
  for (int i = 0; i < 5; ++i) {
    WirePeer refused = peer();
    const auto frame = refused.receive();
    ASSERT_TRUE(frame);
    EXPECT_NE(frame->text.find("com.libreyolo.Kernels.Busy"), std::string::npos) << frame->text;
    EXPECT_TRUE(refused.is_closed());
  }
  EXPECT_TRUE(is_status(callers.front().ask("Status")));  // nobody who was served has noticed
  EXPECT_EQ(counters().connections_refused, 5U);
  EXPECT_EQ(counters().connections_accepted, 3U);
}

TEST_F(ServerWithPeers, APlaceIsFreeAgainWhenItsHolderLeaves) {
  start({.connections_max = 1});
  {
    WirePeer first = peer();
    EXPECT_TRUE(is_status(first.ask("Status")));
  }
  // The thread of the first may still be about to notice: then this one is refused, never lost.
  for (int tries = 0; tries < 10'000; ++tries)
    if (is_status(peer().ask("Status")))
      return;
  FAIL() << "the place was never free again";
}

TEST_F(ServerWithPeers, OneUserCannotTakeEveryPlace) {
  start({.connections_max = 100, .connections_per_uid_max = 2});
  WirePeer a = peer();
  WirePeer b = peer();
  EXPECT_TRUE(is_status(a.ask("Status")));
  EXPECT_TRUE(is_status(b.ask("Status")));
  WirePeer c = peer();
  const auto frame = c.receive();
  ASSERT_TRUE(frame);
  EXPECT_NE(frame->text.find(str("user ", ::geteuid(), " has 2 connections open")),
            std::string::npos)
      << frame->text;
}

TEST_F(ServerWithPeers, APeerThatDoesNotReadItsRepliesIsCutOff) {
  start({.write_deadline = milliseconds{50}});
  WirePeer caller = peer();
  std::string calls;
  for (int i = 0; i < 100; ++i)
    calls += WirePeer::call("org.varlink.service.GetInterfaceDescription",
                            R"({"interface":"com.libreyolo.Kernels"})");
  while (caller.send(calls)) {
  }
  EXPECT_TRUE(caller.is_closed());
  EXPECT_TRUE(is_status(peer().ask("Status")));
}

constexpr const char* waiting_parameters =
    R"({"slot":"ms_deform_attn","device":{"arch":"8.0"},"wait_ms":600000})";

TEST_F(ServerWithPeers, AClientThatDiesWhileItWaitsCancelsItsFetch) {
  const SilentHub hub;
  house_.write_config(hub.config());
  house_.pin_kernel();
  start({});
  WirePeer caller = peer();
  ASSERT_TRUE(caller.send(WirePeer::call("Resolve", waiting_parameters)));
  hub.wait_for_a_request();
  caller.close();
  service_->flights.wait_until_idle();
  EXPECT_EQ(counters().fetches_failed, 1U);
  EXPECT_TRUE(
      service_->tally.lock()->failures.empty());  // cancelled, which is no failure of the slot
}

TEST_F(ServerWithPeers, AFetchGoesOnWhileAnybodyWaits) {
  const SilentHub hub;
  house_.write_config(hub.config());
  house_.pin_kernel();
  start({});
  WirePeer first = peer();
  WirePeer second = peer();
  ASSERT_TRUE(first.send(WirePeer::call("Resolve", waiting_parameters)));
  ASSERT_TRUE(second.send(WirePeer::call("Resolve", waiting_parameters)));
  hub.wait_for_a_request();
  while (counters().resolve_misses < 2)  // the second is about to join
    std::this_thread::yield();
  first.close();
  EXPECT_TRUE(is_status(peer().ask("Status")));
  EXPECT_EQ(service_->flights.running(), 1U);
  EXPECT_EQ(counters().fetches_started, 1U);
  second.close();
  service_->flights.wait_until_idle();
}

TEST_F(ServerWithPeers, StoppingClosesIdleConnectionsAndCancelsFetchesAtTheDeadline) {
  const SilentHub hub;
  house_.write_config(hub.config());
  house_.pin_kernel();
  start({.stop_deadline = milliseconds{50}});
  WirePeer idle = peer();
  EXPECT_TRUE(is_status(idle.ask("Status")));
  WirePeer waiting = peer();
  ASSERT_TRUE(waiting.send(WirePeer::call("Resolve", waiting_parameters)));
  hub.wait_for_a_request();
  EXPECT_TRUE(server_->stop());
  EXPECT_TRUE(idle.is_closed());
  const auto frame = waiting.receive();
  ASSERT_TRUE(frame);  // told, not just dropped
  EXPECT_NE(frame->text.find("com.libreyolo.Kernels.Cancelled"), std::string::npos) << frame->text;
  EXPECT_TRUE(waiting.is_closed());
}

TEST_F(ServerWithPeers, APrivateInstanceEndsWithItsCaller) {
  service_ = house_.open(wire::Mode::private_instance);
  auto server = Server::open(service_, {});
  ASSERT_TRUE(server);
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  WirePeer caller{UniqueFd{ends[1]}};
  ASSERT_TRUE(server->serve_one(UniqueFd{ends[0]}));
  EXPECT_TRUE(is_status(caller.ask("Status")));
  ::pollfd ended{server->ended_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 0), 0);
  caller.close();
  EXPECT_EQ(::poll(&ended, 1, static_cast<int>(ages.count())), 1);
}

}  // namespace
}  // namespace lyk::daemon
