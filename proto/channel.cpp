#include "proto/channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "proto/text.hpp"

namespace lyk {

namespace {

using std::chrono::steady_clock;

// One more than a message may have, so that a peer that sends too many is told from a process that
// has no room for one.
constexpr std::size_t fds_room = limits::fds_per_message_max + 1;

struct ControlBuffer {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(fds_room * sizeof(int))> bytes;
};

// Until `deadline` for poll: rounded up, so that a wait never ends early and spins; -1 without one.
int poll_timeout_ms(std::optional<steady_clock::time_point> deadline) {
  if (!deadline)
    return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - steady_clock::now());
  if (left.count() <= 0)
    return 0;
  return left.count() > std::numeric_limits<int>::max() ? std::numeric_limits<int>::max()
                                                        : static_cast<int>(left.count());
}

// Owns the descriptors that came with a message before anything else can fail.
std::size_t take_descriptors(msghdr& message, std::span<UniqueFd, fds_room> out) {
  std::size_t count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
      continue;
    const std::size_t n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < n && count < out.size(); ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      out[count++] = UniqueFd{fd};
    }
  }
  return count;
}

void put_descriptor(msghdr& message, ControlBuffer& control, int fd) {
  message.msg_control = control.bytes.data();
  message.msg_controllen = CMSG_SPACE(sizeof(int));
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(part), &fd, sizeof(int));
}

Error timed_out(std::string_view why) {
  return {Code::timeout, str("message: ", why)};
}

Error send_error(int number) {
  Error error = os_error(number, "send message");
  switch (number) {
    case ETOOMANYREFS:  // unread descriptors of this user: they drain when peers read
    case ENOBUFS:
    case ENOMEM:
      error.code = Code::busy;
      break;
    case EBADF:  // the descriptor to attach, or ours
    case EINVAL:
      break;
    default:
      error.code = Code::network;
  }
  return error;
}

}  // namespace

Result<void> Channel::wait(short events, std::optional<TimePoint> deadline) const {
  const bool wakeable = wake_.fd >= 0 && (events & POLLIN) != 0;
  std::array<pollfd, 2> fds{pollfd{socket_.get(), events, 0}, pollfd{wake_.fd, POLLIN, 0}};
  while (true) {
    const int ready = ::poll(fds.data(), wakeable ? 2 : 1, poll_timeout_ms(deadline));
    const int number = errno;
    if (ready > 0) {
      if (wakeable && fds[1].revents != 0)
        return Error{Code::cancelled, "wait for a message: stopped"};
      return {};
    }
    if (ready < 0 && number != EINTR)
      return Error{Code::network, os_error(number, "wait for the socket").message};
    if (deadline && steady_clock::now() >= *deadline)
      return timed_out((events & POLLIN) != 0 ? "it did not come in time"
                                              : "the peer does not read it");
  }
}

Result<Channel::Received> Channel::receive() {
  std::array<char, limits::read_bytes> bytes;  // filled by the kernel as far as it is read
  ControlBuffer control;
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t count = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  const int number = errno;
  if (count < 0) {
    if (number == EAGAIN || number == EINTR)
      return Received::nothing_yet;
    if (number == ECONNRESET)  // it left without reading everything that we sent
      return Received::closed;
    return Error{Code::network, os_error(number, "receive message").message};
  }
  std::array<UniqueFd, fds_room> fds;
  const std::size_t fd_count = take_descriptors(message, fds);
  if ((message.msg_flags & MSG_CTRUNC) != 0 && fd_count <= limits::fds_per_message_max)
    return Error{Code::not_eligible,
                 "receive descriptor: this process may not open more files (RLIMIT_NOFILE)"};
  if (count == 0)
    return Received::closed;
  LYK_TRY(reader_.feed(std::span{bytes}.first(static_cast<std::size_t>(count)),
                       std::span{fds}.first(fd_count)));
  return Received::bytes;
}

Result<std::optional<Frame>> Channel::read_frame(
    std::optional<std::chrono::milliseconds> idle_max) {
  std::optional<TimePoint> deadline;
  if (idle_max)
    deadline = steady_clock::now() + *idle_max;
  bool begun = false;
  while (true) {
    if (auto frame = reader_.next())
      return frame;
    if (!begun && reader_.partial_bytes() > 0) {
      begun = true;
      deadline = steady_clock::now() + message_deadline_;
    } else if (begun && steady_clock::now() >= *deadline) {
      return timed_out("it did not end in time");  // however busily its bytes trickle in
    }
    LYK_TRY(wait(POLLIN, deadline));
    LYK_TRY_ASSIGN(const Received received, receive());
    if (received != Received::closed)
      continue;
    if (begun || reader_.partial_bytes() > 0)
      return Error{Code::network, "message: the peer went away within it"};
    return std::optional<Frame>{};
  }
}

Result<void> Channel::write_frame(std::string_view text,
                                  int fd,
                                  std::chrono::milliseconds deadline) {
  LYK_CHECK(text.find('\0') == std::string_view::npos);
  const TimePoint end = steady_clock::now() + deadline;
  const std::string_view closing{"\0", 1};
  std::size_t sent = 0;
  while (sent <= text.size()) {
    const std::string_view rest = text.substr(sent);
    // sendmsg only reads what an iovec points to.
    std::array<iovec, 2> parts{iovec{const_cast<char*>(rest.data()), rest.size()},
                               iovec{const_cast<char*>(closing.data()), closing.size()}};
    ControlBuffer control{};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    if (fd >= 0 && sent == 0)
      put_descriptor(message, control, fd);
    const ssize_t count = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    const int number = errno;
    if (count >= 0)
      sent += static_cast<std::size_t>(count);
    else if (number == EAGAIN)
      LYK_TRY(wait(POLLOUT, end));
    else if (number != EINTR)
      return send_error(number);
  }
  return {};
}

}  // namespace lyk
