#include "tests/fakes/softcuda/allocations.hpp"

#include <limits>
#include <utility>

#include "tests/fakes/softcuda/trace.hpp"

namespace softcuda {

namespace {

template <typename Map>
auto holder(const Map& map, DevicePointer address) {
  auto after = map.upper_bound(address);
  return after == map.begin() ? map.end() : std::prev(after);
}

bool holds(const Allocations::Place& place, DevicePointer address) {
  return address - place.base < place.bytes;
}

}  // namespace

// What one device has is counted here, since all devices share the memory.
Allocations::Allocations() : memory_(std::numeric_limits<std::uint64_t>::max()) {}

Status Allocations::allocate(Context& context, std::uint64_t bytes, DevicePointer& out) {
  if (bytes == 0)
    return refuse(Status::invalid_value, "no bytes");
  if (bytes > free_bytes(context))
    return refuse(Status::out_of_memory, "more than the device has left");
  const auto base = memory_.allocate(bytes);
  if (!base)
    return refuse(Status::out_of_memory, base.error().message);
  const std::scoped_lock lock{mutex_};
  device_.emplace(*base,
                  Place{.base = *base, .bytes = bytes, .context = &context, .id = ++last_id_});
  used_[context.device] += bytes;
  out = *base;
  return Status::success;
}

Status Allocations::free(DevicePointer base) {
  {
    const std::scoped_lock lock{mutex_};
    const auto found = device_.find(base);
    if (found == device_.end())
      return refuse(Status::invalid_value, "not the start of live device memory");
    used_[found->second.context->device] -= found->second.bytes;
    device_.erase(found);
  }
  return memory_.free(base) ? Status::success : Status::invalid_value;
}

Status Allocations::allocate_host(Context& context, std::size_t bytes, void*& out) {
  if (bytes == 0)
    return refuse(Status::invalid_value, "no bytes");
  // NOLINTNEXTLINE(modernize-avoid-c-arrays): of a size known late
  auto memory = std::make_unique<std::byte[]>(bytes);
  void* const start = memory.get();
  const auto base = reinterpret_cast<DevicePointer>(start);
  const std::scoped_lock lock{mutex_};
  Place place{.base = base, .bytes = bytes, .context = &context, .id = ++last_id_};
  host_.emplace(base, HostBytes{.bytes = std::move(memory), .place = place});
  out = start;
  return Status::success;
}

Status Allocations::free_host(void* base) {
  const std::scoped_lock lock{mutex_};
  return host_.erase(reinterpret_cast<DevicePointer>(base)) == 1
             ? Status::success
             : refuse(Status::invalid_value, "not the start of live pinned memory");
}

std::optional<Allocations::Place> Allocations::find(DevicePointer address) const {
  const std::scoped_lock lock{mutex_};
  const auto found = holder(device_, address);
  if (found == device_.end() || !holds(found->second, address))
    return std::nullopt;
  return found->second;
}

std::optional<Allocations::Place> Allocations::find_host(DevicePointer address) const {
  const std::scoped_lock lock{mutex_};
  const auto found = holder(host_, address);
  if (found == host_.end() || !holds(found->second.place, address))
    return std::nullopt;
  return found->second.place;
}

// Variables of modules are memory too, and only the memory itself knows them.
bool Allocations::is_inside(DevicePointer address, std::uint64_t bytes) const {
  const auto range = memory_.find(address);
  return range && bytes <= range->bytes - (address - range->base);
}

std::uint64_t Allocations::free_bytes(const Context& context) const {
  const std::scoped_lock lock{mutex_};
  const auto used = used_.find(context.device);
  return device_memory_bytes - (used == used_.end() ? 0 : used->second);
}

void Allocations::free_all_of(const Context& context) {
  const std::scoped_lock lock{mutex_};
  std::erase_if(host_, [&](const auto& entry) { return entry.second.place.context == &context; });
  std::erase_if(device_, [&](const auto& entry) {
    const bool is_its = entry.second.context == &context;
    if (is_its) {
      used_[context.device] -= entry.second.bytes;
      (void)memory_.free(entry.first);  // it is live: it was in the table
    }
    return is_its;
  });
}

}  // namespace softcuda
