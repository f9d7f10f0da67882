#include "proto/channel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace lyk {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

struct SocketPair {
  UniqueFd first;
  UniqueFd second;
};

SocketPair socket_pair() {
  std::array<int, 2> fds{-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {UniqueFd{fds[0]}, UniqueFd{fds[1]}};
}

// A descriptor that can be recognised: a memfd of `size` bytes.
UniqueFd memory(std::size_t size) {
  UniqueFd fd{::memfd_create("channel_test", MFD_CLOEXEC)};
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
  return fd;
}

off_t size_of(const UniqueFd& fd) {
  return ::lseek(fd.get(), 0, SEEK_END);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// One sendmsg with `fds` attached, as a foreign peer may do it.
void send_raw(int socket, std::string_view bytes, const std::vector<int>& fds = {}) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(32 * sizeof(int))> control{};
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  ASSERT_EQ(::sendmsg(socket, &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

// Message i is attached a descriptor of i bytes where i % 3 is not 0.
bool has_descriptor(std::size_t i) {
  return i % 3 != 0;
}

void write_numbered(Channel& writer, std::size_t i, std::size_t text_bytes) {
  const std::string text = std::to_string(i) + std::string(text_bytes, '.');
  const UniqueFd fd = has_descriptor(i) ? memory(i) : UniqueFd{};
  ASSERT_TRUE(writer.write_frame(text, fd.get()));
}

void expect_numbered(Channel& reader, std::size_t i) {
  const auto frame = reader.read_frame(10s);
  ASSERT_TRUE(frame) << frame.error().message;
  ASSERT_TRUE(*frame);
  EXPECT_EQ(std::stoul((*frame)->text), i);
  ASSERT_EQ(static_cast<bool>((*frame)->fd), has_descriptor(i)) << "message " << i;
  if (has_descriptor(i)) {
    EXPECT_EQ(size_of((*frame)->fd), static_cast<off_t>(i));
  }
}

TEST(Channel, CarriesAMessageAndItsDescriptor) {
  auto [a, b] = socket_pair();
  Channel writer{std::move(a), {}};
  Channel reader{std::move(b), {}};
  for (std::size_t i = 1; i < 10; ++i) {
    write_numbered(writer, i, 0);
    expect_numbered(reader, i);
  }
}

TEST(Channel, MatchesDescriptorsForAReaderThatComesLate) {
  auto [a, b] = socket_pair();
  Channel writer{std::move(a), {}};
  Channel reader{std::move(b), {}};
  for (std::size_t i = 0; i < 60; ++i)
    write_numbered(writer, i, i % 7);
  for (std::size_t i = 0; i < 60; ++i)
    expect_numbered(reader, i);
}

TEST(Channel, MatchesDescriptorsForAReaderThatIsAsFastAsTheWriter) {
  auto [a, b] = socket_pair();
  Channel writer{std::move(a), {}};
  Channel reader{std::move(b), {}};
  std::thread thread{[&writer] {
    for (std::size_t i = 0; i < 3000; ++i)
      write_numbered(writer, i, i % 64);
  }};
  for (std::size_t i = 0; i < 3000; ++i)
    expect_numbered(reader, i);
  thread.join();
}

TEST(Channel, MatchesDescriptorsOfMessagesThatFillTheSocketSeveralTimes) {
  auto [a, b] = socket_pair();
  Channel writer{std::move(a), {}};
  Channel reader{std::move(b), {}};
  std::thread thread{[&writer] {
    for (std::size_t i = 0; i < 12; ++i)
      write_numbered(writer, i, i % 2 == 0 ? 700'000 : 3);
  }};
  for (std::size_t i = 0; i < 12; ++i)
    expect_numbered(reader, i);
  thread.join();
}

TEST(Channel, AcceptsAMessageThatComesByteByByte) {
  auto [a, b] = socket_pair();
  Channel reader{std::move(b), {}};
  const UniqueFd fd = memory(77);
  send_raw(a.get(), "x", {fd.get()});
  send_raw(a.get(), "y");
  send_raw(a.get(), "\0"sv);
  send_raw(a.get(), "z\0"sv);
  const auto first = reader.read_frame(10s);
  EXPECT_EQ((*first)->text, "xy");
  EXPECT_EQ(size_of((*first)->fd), 77);
  EXPECT_FALSE((*reader.read_frame(10s))->fd);
}

TEST(Channel, ReceivesDescriptorsCloseOnExec) {
  auto [a, b] = socket_pair();
  Channel reader{std::move(b), {}};
  const UniqueFd fd = memory(1);
  send_raw(a.get(), "x\0"sv, {fd.get()});
  const auto frame = reader.read_frame(10s);
  EXPECT_EQ(::fcntl((*frame)->fd.get(), F_GETFD), FD_CLOEXEC);
}

TEST(Channel, TellsAPeerThatLeftBetweenMessagesFromOneThatLeftWithinOne) {
  auto [a, b] = socket_pair();
  Channel reader{std::move(b), {}};
  send_raw(a.get(), "whole\0"sv);
  a.reset();
  EXPECT_EQ((*reader.read_frame(10s))->text, "whole");
  const auto closed = reader.read_frame(10s);
  ASSERT_TRUE(closed);
  EXPECT_FALSE(*closed);

  auto [c, d] = socket_pair();
  Channel other{std::move(d), {}};
  send_raw(c.get(), "whole\0half"sv);
  c.reset();
  EXPECT_EQ((*other.read_frame(10s))->text, "whole");
  EXPECT_EQ(other.read_frame(10s).error().code, Code::network);
}

TEST(Channel, TakesAPeerThatLeftUnreadMessagesAsClosed) {
  auto [a, b] = socket_pair();
  Channel reader{std::move(b), {}};
  ASSERT_TRUE(reader.write_frame("never read"));
  a.reset();
  const auto closed = reader.read_frame(10s);
  ASSERT_TRUE(closed) << closed.error().message;
  EXPECT_FALSE(*closed);
}

TEST(Channel, EndsAnIdleWaitAtItsDeadline) {
  auto [a, b] = socket_pair();
  Channel reader{std::move(b), {}};
  EXPECT_EQ(reader.read_frame(0ms).error().code, Code::timeout);
  EXPECT_EQ(reader.read_frame(2ms).error().code, Code::timeout);
}

TEST(Channel, EndsABegunMessageAtItsDeadlineThoughIdleWaitsAreUnlimited) {
  auto [a, b] = socket_pair();
  Channel reader{std::move(b), {.message_deadline = 2ms, .wake = {}}};
  send_raw(a.get(), "half");
  EXPECT_EQ(reader.read_frame().error().code, Code::timeout);
}

TEST(Channel, EndsABegunMessageAtItsDeadlineThoughItsBytesKeepComing) {
  auto [a, b] = socket_pair();
  Channel reader{std::move(b), {.message_deadline = 0ms, .wake = {}}};
  send_raw(a.get(), std::string(limits::read_bytes + 1, '.'));
  EXPECT_EQ(reader.read_frame().error().message, "message: it did not end in time");
}

TEST(Channel, EndsAWaitWhenTheEventComes) {
  auto [a, b] = socket_pair();
  const UniqueFd event{::eventfd(0, EFD_CLOEXEC)};
  Channel reader{std::move(b), {.wake = {event.get()}}};
  std::thread thread{[&event] { EXPECT_EQ(::eventfd_write(event.get(), 1), 0); }};
  EXPECT_EQ(reader.read_frame().error().code, Code::cancelled);
  thread.join();
  EXPECT_EQ(reader.read_frame().error().code, Code::cancelled) << "the event is not used up";
  ASSERT_TRUE(reader.write_frame("an answer is still delivered"));
  Channel peer{std::move(a), {}};
  EXPECT_EQ((*peer.read_frame(10s))->text, "an answer is still delivered");
}

TEST(Channel, RefusesAMessageAboveItsLimit) {
  auto [a, b] = socket_pair();
  Channel reader{std::move(b), {.message_bytes_max = 8, .wake = {}}};
  send_raw(a.get(), "123456789");
  EXPECT_EQ(reader.read_frame(10s).error().code, Code::protocol);
}

TEST(Channel, RefusesTwoDescriptorsAndKeepsNone) {
  const UniqueFd fd = memory(1);
  const std::size_t before = open_descriptors();
  {
    auto [a, b] = socket_pair();
    Channel reader{std::move(b), {}};
    send_raw(a.get(), "x\0"sv, {fd.get(), fd.get()});
    EXPECT_EQ(reader.read_frame(10s).error().code, Code::protocol);

    auto [c, d] = socket_pair();
    Channel other{std::move(d), {}};
    send_raw(c.get(), "x\0"sv, std::vector<int>(20, fd.get()));
    EXPECT_EQ(other.read_frame(10s).error().code, Code::protocol);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Channel, SaysAtOnceThatADescriptorHadNoRoom) {
  auto [a, b] = socket_pair();
  Channel reader{std::move(b), {}};
  const UniqueFd fd = memory(1);
  send_raw(a.get(), "x\0"sv, {fd.get()});

  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const UniqueFd lowest_free{::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)};
  const rlimit full{static_cast<rlim_t>(lowest_free.get()), usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &full), 0);
  const auto frame = reader.read_frame(10s);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);

  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().code, Code::not_eligible);
  EXPECT_NE(frame.error().message.find("RLIMIT_NOFILE"), std::string::npos);
}

TEST(Channel, GivesUpOnAPeerThatDoesNotRead) {
  auto [a, b] = socket_pair();
  Channel writer{std::move(a), {}};
  const std::string large(8'000'000, '.');
  EXPECT_EQ(writer.write_frame(large, -1, 2ms).error().code, Code::timeout);
}

TEST(Channel, ReportsAPeerThatIsGoneWithoutASignal) {
  auto [a, b] = socket_pair();
  Channel writer{std::move(a), {}};
  b.reset();
  EXPECT_EQ(writer.write_frame("x").error().code, Code::network);
}

TEST(Channel, ReportsADescriptorThatCannotBeSent) {
  auto [a, b] = socket_pair();
  Channel writer{std::move(a), {}};
  EXPECT_EQ(writer.write_frame("x", 1'000'000).error().code, Code::io);
}

TEST(Channel, IsMovedWithItsUnreadBytes) {
  auto [a, b] = socket_pair();
  Channel reader{std::move(b), {}};
  send_raw(a.get(), "one\0two\0"sv);
  EXPECT_EQ((*reader.read_frame(10s))->text, "one");
  Channel moved{std::move(reader)};
  EXPECT_EQ((*moved.read_frame(10s))->text, "two");
}

}  // namespace
}  // namespace lyk
