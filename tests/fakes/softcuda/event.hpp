// Events: a point of a stream, with the time at which it was reached.
//
// Thread rule: any thread; `mutex` guards what stands below it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/capture.hpp"
#include "tests/fakes/softcuda/timeline.hpp"

namespace softcuda {

using Clock = std::chrono::steady_clock;

struct Event {
  EventHandle handle{};
  Context* context = nullptr;
  unsigned flags = 0;

  std::mutex mutex;
  bool is_recorded = false;
  Point point;
  std::shared_ptr<std::atomic<Clock::rep>> reached_at;  // of `point`, once it is reached
  CapturedPoint captured;
};

}  // namespace softcuda
