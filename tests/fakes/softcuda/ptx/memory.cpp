#include "tests/fakes/softcuda/ptx/memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "proto/text.hpp"

namespace softcuda::ptx {

namespace {

constexpr std::uint64_t alignment = 256;
constexpr std::uint64_t gap_bytes = 256;  // at least; belongs to nobody

lyk::Error not_one_allocation(Address address, std::uint64_t bytes) {
  return {lyk::Code::invalid_argument, lyk::str("device memory at ", address, ": ", bytes,
                                                " bytes are not inside one live allocation")};
}

}  // namespace

Allocation::Allocation(Range place)
    : range(place),
      content(std::make_unique_for_overwrite<std::byte[]>(place.bytes)),
      written(std::make_unique<std::uint8_t[]>(place.bytes)) {
  std::memset(content.get(), 0xff, place.bytes);
}

lyk::Result<Address> Memory::allocate(std::uint64_t bytes) {
  LYK_CHECK(bytes > 0);
  const std::scoped_lock lock{mutex_};
  if (bytes > bytes_max_ - used_)
    return lyk::Error{lyk::Code::no_space, lyk::str("device memory: ", bytes, " bytes wanted, ",
                                                    bytes_max_ - used_, " left")};
  const Range place{next_, bytes};
  allocations_.emplace(place.base, std::make_shared<Allocation>(place));
  next_ += (bytes + gap_bytes + alignment - 1) / alignment * alignment;
  used_ += bytes;
  return place.base;
}

lyk::Result<void> Memory::free(Address base) {
  const std::scoped_lock lock{mutex_};
  const auto found = allocations_.find(base);
  if (found == allocations_.end())
    return lyk::Error{lyk::Code::invalid_argument,
                      lyk::str("device memory at ", base, ": not the start of a live allocation")};
  used_ -= found->second->range.bytes;
  allocations_.erase(found);
  return {};
}

// The live allocation that holds all of the bytes; null if there is none.
std::shared_ptr<Allocation> Memory::holder(Address address, std::uint64_t bytes) const {
  const std::scoped_lock lock{mutex_};
  const auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin())
    return nullptr;
  const std::shared_ptr<Allocation>& candidate = std::prev(after)->second;
  const std::uint64_t offset = address - candidate->range.base;
  if (offset > candidate->range.bytes || bytes > candidate->range.bytes - offset)
    return nullptr;
  return candidate;
}

std::optional<Range> Memory::find(Address address) const {
  const std::shared_ptr<Allocation> found = holder(address, 1);
  return found ? std::optional{found->range} : std::nullopt;
}

lyk::Result<void> Memory::copy_in(Address to, std::span<const std::byte> from) {
  if (from.empty())
    return {};
  const std::shared_ptr<Allocation> target = holder(to, from.size());
  if (!target)
    return not_one_allocation(to, from.size());
  const std::uint64_t offset = to - target->range.base;
  std::memcpy(target->content.get() + offset, from.data(), from.size());
  std::memset(target->written.get() + offset, 1, from.size());
  return {};
}

lyk::Result<void> Memory::copy_out(std::span<std::byte> to, Address from) const {
  if (to.empty())
    return {};
  const std::shared_ptr<Allocation> source = holder(from, to.size());
  if (!source)
    return not_one_allocation(from, to.size());
  std::memcpy(to.data(), source->content.get() + (from - source->range.base), to.size());
  return {};
}

lyk::Result<void> Memory::copy(Address to, Address from, std::uint64_t bytes) {
  if (bytes == 0)
    return {};
  const std::shared_ptr<Allocation> source = holder(from, bytes);
  if (!source)
    return not_one_allocation(from, bytes);
  const std::shared_ptr<Allocation> target = holder(to, bytes);
  if (!target)
    return not_one_allocation(to, bytes);
  const std::uint64_t source_offset = from - source->range.base;
  const std::uint64_t target_offset = to - target->range.base;
  std::memmove(target->content.get() + target_offset, source->content.get() + source_offset, bytes);
  std::memmove(target->written.get() + target_offset, source->written.get() + source_offset, bytes);
  return {};
}

lyk::Result<void> Memory::fill(Address to,
                               std::span<const std::byte> pattern,
                               std::uint64_t count) {
  if (pattern.empty() || count == 0)
    return {};
  if (count > bytes_max_ / pattern.size())
    return not_one_allocation(to, count);
  const std::uint64_t bytes = pattern.size() * count;
  const std::shared_ptr<Allocation> target = holder(to, bytes);
  if (!target)
    return not_one_allocation(to, bytes);
  const std::uint64_t offset = to - target->range.base;
  for (std::uint64_t at = 0; at < bytes; at += pattern.size())
    std::memcpy(target->content.get() + offset + at, pattern.data(), pattern.size());
  std::memset(target->written.get() + offset, 1, bytes);
  return {};
}

std::uint64_t Memory::bytes_used() const {
  const std::scoped_lock lock{mutex_};
  return used_;
}

std::vector<std::shared_ptr<Allocation>> Memory::live() const {
  const std::scoped_lock lock{mutex_};
  std::vector<std::shared_ptr<Allocation>> out;
  out.reserve(allocations_.size());
  for (const auto& [base, allocation] : allocations_)
    out.push_back(allocation);
  return out;
}

}  // namespace softcuda::ptx
