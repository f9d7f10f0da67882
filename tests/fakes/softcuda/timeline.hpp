// How far a stream has come. Work gets positions 1, 2, 3 ... as it is submitted and completes in
// that order; whoever must come after something holds a Point and waits for it. A Point always
// belongs to work that was submitted already, so waiting cannot go round in a circle.
//
// Thread rule: any thread.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace softcuda {

class Timeline {
public:
  std::uint64_t submit() {
    const std::scoped_lock lock{mutex_};
    return ++submitted_;
  }
  std::uint64_t submitted() const {
    const std::scoped_lock lock{mutex_};
    return submitted_;
  }
  bool has_reached(std::uint64_t position) const {
    const std::scoped_lock lock{mutex_};
    return completed_ >= position;
  }
  void wait_for(std::uint64_t position) const {
    std::unique_lock lock{mutex_};
    moved_.wait(lock, [&] { return completed_ >= position; });
  }
  void complete(std::uint64_t position) {
    {
      const std::scoped_lock lock{mutex_};
      completed_ = position;
    }
    moved_.notify_all();
  }

private:
  mutable std::mutex mutex_;
  mutable std::condition_variable moved_;
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
};

struct Point {
  std::shared_ptr<Timeline> timeline;  // null: nothing to wait for
  std::uint64_t position = 0;

  bool is_reached() const { return timeline == nullptr || timeline->has_reached(position); }
  void wait() const {
    if (timeline != nullptr)
      timeline->wait_for(position);
  }
};

inline void wait_for_all(const std::vector<Point>& points) {
  for (const Point& point : points)
    point.wait();
}

inline bool are_reached(const std::vector<Point>& points) {
  return std::all_of(points.begin(), points.end(),
                     [](const Point& point) { return point.is_reached(); });
}

}  // namespace softcuda
