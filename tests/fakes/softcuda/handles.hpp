// Handles that are checked: a handle is a number that is never given out twice, so one that is
// wrong, of another kind or already destroyed is an answer (invalid handle) and never a crash. It
// looks like a pointer, and who follows it meets an unmapped page.
//
// Thread rule: any thread. An object lives until its last user has let go of it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace softcuda {

enum class HandleKind : std::uint8_t {
  context = 1,
  module,
  function,
  library,
  kernel,
  stream,
  event,
  graph,
  graph_exec,
  node,
};

// What the numbers begin with: the lowest addresses above the half that Linux gives to programs.
inline constexpr std::uintptr_t handle_base = 0x00c0'0000'0000'0000;

inline std::uintptr_t make_handle(HandleKind kind, std::uintptr_t index) {
  return handle_base + (std::uintptr_t{static_cast<std::uint8_t>(kind)} << 44U) + index * 16;
}

// The live objects of one kind. T has a member `handle` of type Handle, which `add` sets.
template <typename T, typename Handle, HandleKind kind>
class Handles {
public:
  Handle add(const std::shared_ptr<T>& object) {
    const std::scoped_lock lock{mutex_};
    // The driver's handles are pointers by type; these are numbers.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    object->handle = reinterpret_cast<Handle>(make_handle(kind, ++last_));
    live_.emplace(object->handle, object);
    return object->handle;
  }

  // Null for a handle that is not live.
  std::shared_ptr<T> find(Handle handle) const {
    const std::shared_lock lock{mutex_};
    const auto found = live_.find(handle);
    return found == live_.end() ? nullptr : found->second;
  }

  // As find, and the handle is not live any more.
  std::shared_ptr<T> take(Handle handle) {
    const std::scoped_lock lock{mutex_};
    auto node = live_.extract(handle);
    return node.empty() ? nullptr : std::move(node.mapped());
  }

  // Takes all that `belongs` says yes to.
  template <typename Predicate>
  std::vector<std::shared_ptr<T>> take_if(Predicate belongs) {
    std::vector<std::shared_ptr<T>> out;
    const std::scoped_lock lock{mutex_};
    for (auto at = live_.begin(); at != live_.end();) {
      if (belongs(*at->second)) {
        out.push_back(std::move(at->second));
        at = live_.erase(at);
      } else {
        ++at;
      }
    }
    return out;
  }

private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Handle, std::shared_ptr<T>> live_;
  std::uintptr_t last_ = 0;
};

}  // namespace softcuda
