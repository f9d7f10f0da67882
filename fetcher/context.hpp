// What every part of one fetch shares: how to reach the network, whom to tell, when to stop.
// Thread rule: one fetch, one thread; several fetches may run at once, each with its own Context.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "fetcher/progress.hpp"
#include "fetcher/settings.hpp"

namespace lyk::fetcher {

struct Context {
  Settings settings;
  ProgressCallback progress;  // may be empty
  CancelToken cancel;
  // Waits before another attempt. Empty: really waits, until `cancel` says stop. Tests count
  // instead.
  std::function<void(std::chrono::milliseconds)> pause;
};

}  // namespace lyk::fetcher
