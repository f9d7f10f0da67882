#include "client/shared_connection.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "tests/client/fake_service.hpp"
#include "tests/client/in_child.hpp"
#include "tests/support/temp_dir.hpp"

namespace lyk::client {
namespace {

using test::FakeService;
using test::resolve_call;
using test::settings_for;
using test::TempDir;

class SharedConnectionTest : public testing::Test {
protected:
  SharedConnectionTest()
      : image(test::memfd_of(test::image_bytes)),
        service(folder / "socket", [this](UniqueFd connection, int) {
          test::answer_resolves(std::move(connection), test::resolve_reply(), image.get());
        }) {}

  Settings settings() const { return settings_for(folder / "socket"); }

  // What `body` returns in a child of fork.
  template <typename Body>
  static bool is_true_in_child(const Body& body) {
    const pid_t child = ::fork();
    if (child == 0)
      ::_exit(body() ? 0 : 1);
    int status = -1;
    return ::waitpid(child, &status, 0) == child && status == 0;
  }

  TempDir folder;
  UniqueFd image;
  FakeService service;
};

TEST_F(SharedConnectionTest, NothingIsConnectedBeforeTheFirstCall) {
  SharedConnection shared{settings()};
  EXPECT_EQ(service.connections(), 0);
  EXPECT_TRUE(shared.resolve(resolve_call()));
  EXPECT_EQ(service.connections(), 1);
}

TEST_F(SharedConnectionTest, ThreadsTakeTurnsOnOneConnection) {
  SharedConnection shared{settings()};
  std::atomic<int> resolved{0};
  std::vector<std::thread> threads(4);
  for (std::thread& thread : threads)
    thread = std::thread([&] {
      for (int round = 0; round < 50; ++round)
        if (shared.resolve(resolve_call()))
          ++resolved;
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(resolved, 200);
  EXPECT_EQ(service.connections(), 1);
}

TEST_F(SharedConnectionTest, AChildOfForkHasAConnectionOfItsOwn) {
  if constexpr (test::is_address_sanitizer)
    GTEST_SKIP() << test::forks_among_threads;
  SharedConnection shared{settings()};
  ASSERT_TRUE(shared.resolve(resolve_call()));
  EXPECT_TRUE(is_true_in_child([&] { return bool{shared.resolve(resolve_call())}; }));
  EXPECT_EQ(service.connections(), 2);
  EXPECT_TRUE(shared.resolve(resolve_call()));
  EXPECT_EQ(service.connections(), 2) << "the parent's connection is as it was";
}

TEST_F(SharedConnectionTest, AGrandchildHasAConnectionOfItsOwn) {
  if constexpr (test::is_address_sanitizer)
    GTEST_SKIP() << test::forks_among_threads;
  SharedConnection shared{settings()};
  ASSERT_TRUE(shared.resolve(resolve_call()));
  EXPECT_TRUE(is_true_in_child([&] {
    return bool{shared.resolve(resolve_call())} &&
           is_true_in_child([&] { return bool{shared.resolve(resolve_call())}; });
  }));
  EXPECT_EQ(service.connections(), 3);
}

TEST_F(SharedConnectionTest, AChildThatClosesLeavesTheParentsConnectionOpen) {
  if constexpr (test::is_address_sanitizer)
    GTEST_SKIP() << test::forks_among_threads;
  auto shared = std::make_unique<SharedConnection>(settings());
  ASSERT_TRUE(shared->resolve(resolve_call()));
  EXPECT_TRUE(is_true_in_child([&] {
    shared.reset();
    return true;
  }));
  EXPECT_TRUE(is_true_in_child([&] {
    const bool resolved{shared->resolve(resolve_call())};
    shared.reset();
    return resolved;
  }));
  EXPECT_TRUE(shared->resolve(resolve_call()));
  EXPECT_EQ(service.connections(), 2);
}

// The mutex of the parent is locked for ever in the child, and the connection half through a call.
TEST(SharedConnection, AForkInTheMiddleOfACallDoesNotStopTheChild) {
  if constexpr (test::is_address_sanitizer)
    GTEST_SKIP() << test::forks_among_threads;
  const TempDir folder;
  const UniqueFd image = test::memfd_of(test::image_bytes);
  std::atomic<bool> asked{false};
  std::atomic<bool> go_on{false};
  FakeService service{folder / "socket", [&](UniqueFd connection, int number) {
                        char peek = 0;
                        if (number == 0 && ::recv(connection.get(), &peek, 1, MSG_PEEK) == 1) {
                          asked = true;
                          asked.notify_all();
                          go_on.wait(false);
                        }
                        test::answer_resolves(std::move(connection), test::resolve_reply(),
                                              image.get());
                      }};
  SharedConnection shared{settings_for(folder / "socket")};
  std::thread caller{[&] { EXPECT_TRUE(shared.resolve(resolve_call())); }};
  asked.wait(false);
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(shared.resolve(resolve_call()) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  go_on = true;
  go_on.notify_all();
  caller.join();
}

// A service of our own must see the end of its host's connection even while a fork still has a
// copy.
TEST(SharedConnection, ClosingEndsTheConnectionThoughAForkHasACopy) {
  const UniqueFd image = test::memfd_of(test::image_bytes);
  std::atomic<bool> ended{false};
  const TempDir folder;
  FakeService service{folder / "socket", [&](UniqueFd connection, int) {
                        test::answer_resolves(std::move(connection), test::resolve_reply(),
                                              image.get());
                        ended = true;
                        ended.notify_all();
                      }};
  std::optional<SharedConnection> shared{std::in_place, settings_for(folder / "socket")};
  ASSERT_TRUE(shared->resolve(resolve_call()));
  const pid_t child = ::fork();
  if (child == 0)
    while (true)
      ::pause();
  shared.reset();
  ended.wait(false);
  EXPECT_TRUE(ended);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace lyk::client
