// Guarded<T>: data that is reachable only through its lock.
//
//   Guarded<Counters> counters;
//   counters.lock()->connections += 1;
//
// Thread rule: any thread. A Locked is used by the thread that took it and lives for a few lines;
// no lock is held over network or disk. The order of the daemon's locks is written in
// daemon/server.hpp.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace lyk::daemon {

template <typename T>
class Guarded {
public:
  class Locked {
  public:
    T* operator->() const { return data_; }
    T& operator*() const { return *data_; }

    // Gives the lock up until `changed` is notified and `predicate(data)` holds, at most until
    // `deadline`; what the predicate said last.
    template <typename Predicate>
    bool wait_until(std::condition_variable& changed,
                    std::chrono::steady_clock::time_point deadline,
                    Predicate predicate) {
      return changed.wait_until(lock_, deadline, [&] { return predicate(*data_); });
    }
    // The same without a deadline.
    template <typename Predicate>
    void wait(std::condition_variable& changed, Predicate predicate) {
      changed.wait(lock_, [&] { return predicate(*data_); });
    }

  private:
    friend class Guarded;
    Locked(std::mutex& mutex, T& data) : lock_(mutex), data_(&data) {}
    std::unique_lock<std::mutex> lock_;
    T* data_;
  };

  Guarded() = default;
  explicit Guarded(T data) : data_(std::move(data)) {}

  [[nodiscard]] Locked lock() { return Locked(mutex_, data_); }

private:
  std::mutex mutex_;
  T data_{};
};

}  // namespace lyk::daemon
