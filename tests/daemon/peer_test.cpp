#include "daemon/peer.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "proto/unique.hpp"

namespace lyk::daemon {
namespace {

constexpr uid_t service_uid = 100;
constexpr uid_t stranger = 1000;

enum class Who { root, own, member, other };
enum class Verdict { yes, no };

Peer peer(Who who) {
  switch (who) {
    case Who::root:
      return {.uid = 0, .pid = 1, .is_administrator = true};
    case Who::own:
      return {.uid = service_uid, .pid = 1, .is_administrator = false};
    case Who::member:
      return {.uid = stranger, .pid = 1, .is_administrator = true};
    case Who::other:
      return {.uid = stranger, .pid = 1, .is_administrator = false};
  }
  return {};
}

struct Row {
  Method method;
  // Of the system service: root, its own user, a member of the group, anybody else.
  std::array<Verdict, 4> system;
};

constexpr auto yes = Verdict::yes;
constexpr auto no = Verdict::no;

// DESIGN section 4, "Who may ask".
const std::vector<Row> rows{
    {Method::resolve, {yes, yes, yes, yes}},
    {Method::fetch, {yes, yes, yes, yes}},
    {Method::fetch_inline_pin, {no, yes, no, no}},
    {Method::probe, {no, yes, no, no}},
    {Method::resolve_inline_pin, {no, yes, no, no}},
    {Method::list, {yes, yes, yes, yes}},
    {Method::info, {yes, yes, yes, yes}},
    {Method::verify, {yes, yes, yes, no}},
    {Method::remove, {yes, yes, yes, no}},
    {Method::prune, {yes, yes, yes, no}},
    {Method::pins, {yes, yes, yes, yes}},
    {Method::status, {yes, yes, yes, yes}},
    {Method::rebuild_index, {yes, yes, yes, no}},
};

bool is_with_a_pin(Method method) {
  return method == Method::fetch_inline_pin || method == Method::resolve_inline_pin;
}

TEST(Peer, TheSystemServiceAnswersWhomTheTableSays) {
  for (const Row& row : rows)
    for (const Who who : {Who::root, Who::own, Who::member, Who::other}) {
      const auto allowed = may(peer(who), row.method, {wire::Mode::system, service_uid});
      EXPECT_EQ(allowed.has_value(), row.system[static_cast<std::size_t>(who)] == yes)
          << name(row.method) << " " << static_cast<int>(who);
      if (!allowed) {
        EXPECT_EQ(allowed.error().code, Code::refused);
      }
    }
}

TEST(Peer, AUsersOwnServiceAnswersItsUserAndRootOnly) {
  for (const wire::Mode mode : {wire::Mode::user, wire::Mode::private_instance})
    for (const Row& row : rows) {
      const Household household{mode, service_uid};
      EXPECT_TRUE(may(peer(Who::own), row.method, household)) << name(row.method);
      EXPECT_FALSE(may(peer(Who::member), row.method, household)) << name(row.method);
      EXPECT_FALSE(may(peer(Who::other), row.method, household)) << name(row.method);
      const bool is_for_own_uid = row.method == Method::probe || is_with_a_pin(row.method);
      EXPECT_EQ(may(peer(Who::root), row.method, household).has_value(), !is_for_own_uid)
          << name(row.method);
    }
}

TEST(Peer, ARefusalSaysWhoMay) {
  const auto refused = may(peer(Who::other), Method::remove, {wire::Mode::system, service_uid});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "Remove: this service answers it only to root and the group libreyolo-kernels");
}

TEST(Peer, GatedFilesAreForTheServicesUserAndRoot) {
  const Household household{wire::Mode::system, service_uid};
  EXPECT_TRUE(may_see_gated(peer(Who::own), household));
  EXPECT_TRUE(may_see_gated(peer(Who::root), household));
  EXPECT_FALSE(may_see_gated(peer(Who::member), household));
  EXPECT_FALSE(may_see_gated(peer(Who::other), household));
}

TEST(Peer, MethodsAreKnownByTheirNamesInTheInterface) {
  for (const Row& row : rows)
    if (!is_with_a_pin(row.method)) {
      EXPECT_EQ(parse_method(name(row.method)), row.method);
    }
  EXPECT_EQ(parse_method("Fetch with a pin"), std::nullopt);
  EXPECT_EQ(parse_method("Resolve with a pin"), std::nullopt);
  EXPECT_EQ(parse_method("resolve"), std::nullopt);
}

TEST(Peer, TheKernelTellsWhoConnected) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd a{ends[0]};
  const UniqueFd b{ends[1]};
  const auto found = peer_of(a.get(), ::getegid());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->uid, ::geteuid());
  EXPECT_EQ(found->pid, ::getpid());
  EXPECT_TRUE(found->is_administrator);  // by its primary group
}

TEST(Peer, WhatIsNoSocketHasNoPeer) {
  EXPECT_FALSE(peer_of(-1, std::nullopt));
}

}  // namespace
}  // namespace lyk::daemon
