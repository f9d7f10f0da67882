// Many processes of one user ask for one kernel that is not there yet: how long does the slowest
// wait, and did each get its image? Prints one JSON object.
//
//   waiters_bench PROCESSES SLOT ARCH
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "client/connection.hpp"
#include "client/settings.hpp"

namespace {

using Clock = std::chrono::steady_clock;

// Shared by the parent and all children. Written once by each child, at its own place.
struct Shared {
  std::atomic<int> connected;
  std::atomic<int> start;
  std::atomic<int> failed;
};

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// 0: the text is no number.
int count_of(std::string_view text) {
  int count = 0;
  const char* end = text.data() + text.size();
  return std::from_chars(text.data(), end, count).ptr == end ? count : 0;
}

// The seconds that one process waited; negative if it got nothing.
double ask(Shared& shared, const lyk::wire::ResolveCall& call) {
  auto settings = lyk::client::parse_settings(lyk::client::Environment::of_process());
  if (!settings)
    return -1;
  auto connection = lyk::client::Connection::open(*std::move(settings));
  if (connection)
    (void)connection->call<lyk::wire::StatusReply>(
        lyk::wire::StatusCall{});  // warm-up, not measured
  ++shared.connected;
  while (shared.start.load() == 0)
    (void)::usleep(20'000);
  if (!connection)
    return -1;
  const auto begin = Clock::now();
  const auto image = connection->resolve(call);
  if (!image)
    (void)std::fprintf(stderr, "waiters_bench: %s\n", image.error().message.c_str());
  return image ? seconds(Clock::now() - begin) : -1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span arguments{argv, static_cast<std::size_t>(argc)};
  if (arguments.size() != 4) {
    (void)std::fprintf(stderr, "usage: waiters_bench PROCESSES SLOT ARCH\n");
    return 2;
  }
  const int processes = count_of(arguments[1]);
  const auto slot = lyk::SlotName::parse(arguments[2]);
  const auto arch = lyk::Arch::parse(arguments[3]);
  if (processes < 1 || !slot || !arch)
    return 2;
  const lyk::wire::ResolveCall call{*slot, lyk::Device{*arch, false, {}}, 120'000, false, false};

  const std::size_t times_bytes = sizeof(double) * static_cast<std::size_t>(processes);
  void* memory = ::mmap(nullptr, sizeof(Shared) + times_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return 1;
  auto* shared = new (memory) Shared{};
  auto* waited = reinterpret_cast<double*>(shared + 1);

  for (int i = 0; i < processes; ++i) {
    if (::fork() == 0) {
      waited[i] = ask(*shared, call);
      ::_exit(0);
    }
  }
  while (shared->connected.load() < processes)
    (void)::usleep(20'000);
  shared->start = 1;
  while (::wait(nullptr) > 0) {
  }
  std::vector<double> times{waited, waited + processes};
  std::sort(times.begin(), times.end());
  const auto served = times.end() - std::lower_bound(times.begin(), times.end(), 0.0);
  (void)std::printf(
      "{\"processes\": %d, \"served\": %ld, \"fastest_s\": %.3f, \"slowest_s\": %.3f}\n", processes,
      static_cast<long>(served), times.front(), times.back());
  return served == processes ? 0 : 1;
}
