// A warm Resolve beside what it cannot be cheaper than: one byte each way over a socket pair, with
// a descriptor beside the answer. Both in one run, interleaved, so that their ratio means
// something.
//
//   LYK_BENCH_SLOT=ms_deform_attn LYK_BENCH_ARCH=9.0 resolve_bench --benchmark_repetitions=20
//     --benchmark_enable_random_interleaving=true
//
// needs a daemon that has the slot (LIBREYOLO_KERNELS_SOCKET). bench/run.py starts one.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "client/connection.hpp"
#include "client/settings.hpp"
#include "proto/unique.hpp"

namespace {

using lyk::UniqueFd;

[[noreturn]] void fail(const std::string& what) {
  (void)std::fprintf(stderr, "resolve_bench: %s\n", what.c_str());
  std::exit(1);
}

std::string from_environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

// One byte and, unless it is -1, one descriptor.
void send_byte(int socket, int fd) {
  char byte = 'x';
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) != 1)
    _exit(0);  // the other side has finished
}

// -1 in the descriptor's place if none came.
UniqueFd receive_byte(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
    _exit(0);
  int fd = -1;
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr)
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return UniqueFd{fd};
}

void ping_pong_with_descriptor(benchmark::State& state) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail("socketpair");
  const UniqueFd ours{ends[0]};
  UniqueFd theirs{ends[1]};
  const pid_t child = ::fork();
  if (child == 0) {
    const UniqueFd passed{::memfd_create("bench", MFD_CLOEXEC)};
    while (true) {
      (void)receive_byte(theirs.get());
      send_byte(theirs.get(), passed.get());
    }
  }
  theirs.reset();
  for (auto _ : state) {
    send_byte(ours.get(), -1);
    benchmark::DoNotOptimize(receive_byte(ours.get()).get());
  }
  (void)::shutdown(ours.get(), SHUT_RDWR);
  (void)::waitpid(child, nullptr, 0);
}
BENCHMARK(ping_pong_with_descriptor)->UseRealTime();

lyk::Arch arch_from(const std::string& text) {
  const auto arch = lyk::Arch::parse(text);
  if (!arch)
    fail(arch.error().message);
  return *arch;
}

// Resolves for each of `archs` in turn, on one connection.
void resolve_in_turn(benchmark::State& state, const std::vector<std::string>& archs) {
  const auto slot = lyk::SlotName::parse(from_environment("LYK_BENCH_SLOT", "ms_deform_attn"));
  if (!slot)
    fail(slot.error().message);
  std::vector<lyk::wire::ResolveCall> calls;
  calls.reserve(archs.size());
  for (const std::string& arch : archs)
    calls.push_back({*slot, lyk::Device{arch_from(arch), false, {}}, {}, false, false});
  auto settings = lyk::client::parse_settings(lyk::client::Environment::of_process());
  if (!settings)
    fail(settings.error().message);
  auto connection = lyk::client::Connection::open(*std::move(settings));
  if (!connection)
    fail(connection.error().message);
  std::size_t next = 0;
  for (auto _ : state) {
    auto image = connection->resolve(calls[next++ % calls.size()]);
    if (!image)
      fail(image.error().message);
    benchmark::DoNotOptimize(image->fd.get());
  }
}

// What a process does that asks again: call and reply have the bytes of the last ones.
void warm_resolve(benchmark::State& state) {
  resolve_in_turn(state, {from_environment("LYK_BENCH_ARCH", "9.0")});
}
BENCHMARK(warm_resolve)->UseRealTime();

// Both ends have to read what the other one sent.
void warm_resolve_of_changing_devices(benchmark::State& state) {
  resolve_in_turn(state, {from_environment("LYK_BENCH_ARCH", "9.0"),
                          from_environment("LYK_BENCH_OTHER_ARCH", "8.0")});
}
BENCHMARK(warm_resolve_of_changing_devices)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
