// A service in threads of the test: it listens on a socket and hands each connection to a function
// of the test, in a thread of its own, which says what this service does.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "client/settings.hpp"
#include "proto/channel.hpp"
#include "proto/message.hpp"
#include "proto/methods.hpp"
#include "proto/unique.hpp"

namespace lyk::test {

constexpr int image_seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;

inline UniqueFd memfd_of(std::string_view bytes, int seals = image_seals) {
  UniqueFd fd{::memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!fd || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      (seals != 0 && ::fcntl(fd.get(), F_ADD_SEALS, seals) != 0))
    std::abort();
  return fd;
}

inline UniqueFd listen_at(const std::string& path, int backlog = 16) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), std::begin(address.sun_path));
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(fd.get(), backlog) != 0)
    std::abort();
  return fd;
}

inline wire::ResolveCall resolve_call() {
  return {.slot = *SlotName::parse("ms_deform_attn"),
          .device = {.arch = {9, 0, ArchVariant::none}, .tegra = false, .driver = {}},
          .wait_ms = {}};
}

constexpr std::string_view image_bytes = "\177ELF: a device image";

inline wire::ResolveReply resolve_reply() {
  wire::ResolveReply reply;
  reply.slot = "ms_deform_attn";
  reply.image.container = "build/x/ops.so";
  reply.image.arch = "sm_90";
  reply.image.compression = "none";
  reply.image.bytes = image_bytes.size();
  reply.repo = "kernels-community/deformable-detr";
  reply.repo_type = "kernel";
  reply.commit = "4d2393e5d7879f7cf68db04cc7c9c7342272bc05";
  reply.file = "build/x/ops.so";
  reply.pin = "/etc/libreyolo-kernels/pins.d/ms_deform_attn.toml";
  return reply;
}

// Settings that know of one socket and no other service.
inline client::Settings settings_for(const std::string& socket) {
  client::Settings settings;
  settings.system_socket = socket;
  settings.activation = client::Activation::forbidden;
  return settings;
}

class FakeService {
public:
  using Serve = std::function<void(UniqueFd connection, int number)>;  // numbers count from 0

  FakeService(const std::string& path, Serve serve)
      : listener_(listen_at(path)),
        stop_(::eventfd(0, EFD_CLOEXEC)),
        serve_(std::move(serve)),
        thread_([this] { run(); }) {}
  ~FakeService() {
    const std::uint64_t one = 1;
    if (::write(stop_.get(), &one, sizeof(one)) != sizeof(one))
      std::abort();
    thread_.join();
    for (std::thread& conversation : conversations_)
      conversation.join();
  }
  FakeService(const FakeService&) = delete;
  FakeService& operator=(const FakeService&) = delete;
  FakeService(FakeService&&) = delete;
  FakeService& operator=(FakeService&&) = delete;

  int connections() const { return connections_; }

private:
  void run() {
    while (true) {
      std::array<pollfd, 2> fds{pollfd{listener_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
      if (::poll(fds.data(), fds.size(), -1) < 0)
        continue;
      if (fds[1].revents != 0)
        return;
      UniqueFd connection{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
      if (connection)
        conversations_.emplace_back(serve_, std::move(connection), connections_++);
    }
  }

  UniqueFd listener_;
  UniqueFd stop_;
  Serve serve_;
  std::atomic<int> connections_{0};
  std::vector<std::thread> conversations_;
  std::thread thread_;
};

// Answers every Resolve on one connection with `reply` and `fd` until the client leaves.
inline void answer_resolves(UniqueFd connection, const wire::ResolveReply& reply, int fd) {
  Channel channel{std::move(connection), {}};
  while (true) {
    auto frame = channel.read_frame();
    if (!frame || !*frame || !channel.write_frame(wire::encode_reply(reply), fd))
      return;
  }
}

// Reads one call, sends `bytes` as they are with `fd` at the first of them (-1: none), and goes
// away.
inline void answer_raw(UniqueFd connection, std::string_view bytes, int fd = -1) {
  std::array<char, 4096> call;
  if (::recv(connection.get(), call.data(), call.size(), 0) <= 0)
    return;
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    *reinterpret_cast<int*>(CMSG_DATA(header)) = fd;
  }
  if (!bytes.empty())
    (void)::sendmsg(connection.get(), &message, MSG_NOSIGNAL);  // the client may be gone
}

}  // namespace lyk::test
