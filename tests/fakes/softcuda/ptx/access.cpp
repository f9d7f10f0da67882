#include "tests/fakes/softcuda/ptx/access.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "proto/text.hpp"

namespace softcuda::ptx {

namespace {

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), value, 16).ptr;
  return lyk::str("0x",
                  std::string_view{digits.data(), static_cast<std::size_t>(end - digits.data())});
}

std::string describe(const Reach& wanted) {
  return lyk::str(writes(wanted.access) ? "write" : "read", " of ", wanted.bytes, " bytes at ",
                  hexadecimal(wanted.address));
}

// The global allocation at or below an address.
Region* nearest_global(Run& run, Address address) {
  const auto above = std::ranges::upper_bound(run.global, address, {}, &Region::base);
  return above == run.global.begin() ? nullptr : &*std::prev(above);
}

bool holds(const Region& region, const Reach& wanted) {
  const std::uint64_t offset = wanted.address - region.base;
  return offset < region.bytes && wanted.bytes <= region.bytes - offset;
}

Region local_region(Thread& thread) {
  return {0, thread.local.size(), thread.local.data(), thread.local_written.data(), nullptr};
}

Region parameter_region(Thread& thread, Space space) {
  if (space == Space::kernel_parameter) {
    std::vector<std::byte>& bytes = thread.block->run->parameters;
    return {0, bytes.size(), bytes.data(), nullptr, nullptr};
  }
  const std::uint32_t begin = thread.frames.back().parameters;
  return {0, thread.parameters.size() - begin, thread.parameters.data() + begin, nullptr, nullptr};
}

void refuse_stray(const Instruction& in, Thread& thread, const Reach& wanted, const Region* near) {
  std::string where = "no allocation there";
  if (near != nullptr) {
    const std::uint64_t offset = wanted.address - near->base;
    where = lyk::str("the nearest bytes that exist are ", near->bytes, " at ",
                     hexadecimal(near->base), ", it begins ", offset, " bytes after their start");
  }
  (void)fail(in, thread, FaultKind::illegal_address, lyk::str(describe(wanted), ": ", where));
}

bool all_written(const std::uint8_t* written, std::uint32_t bytes) {
  return std::all_of(written, written + bytes, [](std::uint8_t byte) { return byte != 0; });
}

// False after a fault.
bool note_race(const Instruction& in, Thread& thread, const Reach& wanted, const Region& region) {
  for (std::uint32_t i = 0; i < wanted.bytes; ++i) {
    const Stamp earlier =
        region.shadow->note(in, thread, wanted.address - region.base + i, wanted.access);
    if (earlier.thread == 0)
      continue;
    const auto threads = static_cast<std::uint32_t>(thread.block->run->launch->block.count());
    (void)fail(in, thread, FaultKind::race,
               lyk::str(describe(wanted), ": nothing orders it after the ",
                        writes(earlier.access) ? "write" : "read", " at ptx line ", earlier.line,
                        " by thread ", (earlier.thread - 1) % threads, " of block ",
                        (earlier.thread - 1) / threads));
    return false;
  }
  return true;
}

std::byte* checked(const Instruction& in, Thread& thread, const Reach& wanted, Region& region) {
  const std::uint64_t offset = wanted.address - region.base;
  if (wanted.address % wanted.alignment != 0) [[unlikely]] {
    (void)fail(in, thread, FaultKind::misaligned_address,
               lyk::str(describe(wanted), ": not a multiple of ", wanted.alignment));
    return nullptr;
  }
  if (region.written != nullptr) {
    const bool reads = wanted.access != Access::write;
    if (reads && thread.block->run->launch->checks.uninitialised &&
        !all_written(region.written + offset, wanted.bytes)) [[unlikely]] {
      (void)fail(in, thread, FaultKind::uninitialised_read,
                 lyk::str(describe(wanted), ": nothing ever wrote all of them"));
      return nullptr;
    }
    if (writes(wanted.access))
      std::memset(region.written + offset, 1, wanted.bytes);
  }
  if (region.shadow != nullptr && !note_race(in, thread, wanted, region)) [[unlikely]]
    return nullptr;
  return region.content + offset;
}

void count(Traffic& traffic, const Reach& wanted) {
  if (wanted.access == Access::atomic)
    traffic.atomic += wanted.bytes;
  else if (writes(wanted.access))
    traffic.stored += wanted.bytes;
  else
    traffic.loaded += wanted.bytes;
}

std::byte* reach_global(const Instruction& in, Thread& thread, const Reach& wanted) {
  Run& run = *thread.block->run;
  Region*& region = run.nearest[in.site];
  if (region == nullptr || !holds(*region, wanted)) [[unlikely]] {
    Region* const found = nearest_global(run, wanted.address);
    if (found == nullptr || !holds(*found, wanted)) {
      refuse_stray(in, thread, wanted, found);
      return nullptr;
    }
    region = found;
  }
  if (run.launch->traffic != nullptr) [[unlikely]]
    count(*run.launch->traffic, wanted);
  return checked(in, thread, wanted, *region);
}

std::byte* reach_region(const Instruction& in,
                        Thread& thread,
                        const Reach& wanted,
                        Region& region) {
  if (!holds(region, wanted)) [[unlikely]] {
    refuse_stray(in, thread, wanted, &region);
    return nullptr;
  }
  return checked(in, thread, wanted, region);
}

// The space that a generic address lies in, and the address there.
Space space_of(Address& address) {
  if (is_shared(address)) {
    address -= shared_window;
    return Space::shared;
  }
  if (address - local_window < window_bytes) {
    address -= local_window;
    return Space::local;
  }
  if (address - parameter_window < window_bytes) {
    address -= parameter_window;
    return Space::kernel_parameter;
  }
  return Space::global;
}

}  // namespace

template <Space space>
std::byte* reach(const Instruction& in, Thread& thread, const Reach& wanted) {
  if constexpr (space == Space::global) {
    return reach_global(in, thread, wanted);
  } else if constexpr (space == Space::shared) {
    return reach_region(in, thread, wanted, thread.block->shared);
  } else if constexpr (space == Space::local) {
    Region region = local_region(thread);
    return reach_region(in, thread, wanted, region);
  } else if constexpr (space == Space::generic) {
    Reach inner = wanted;
    switch (space_of(inner.address)) {
      case Space::shared:
        return reach<Space::shared>(in, thread, inner);
      case Space::local:
        return reach<Space::local>(in, thread, inner);
      case Space::kernel_parameter:
        return reach<Space::kernel_parameter>(in, thread, inner);
      case Space::global:
      case Space::generic:
      case Space::frame_parameter:
        break;
    }
    return reach_global(in, thread, wanted);
  } else {
    Region region = parameter_region(thread, space);
    return reach_region(in, thread, wanted, region);
  }
}

template std::byte* reach<Space::generic>(const Instruction&, Thread&, const Reach&);
template std::byte* reach<Space::global>(const Instruction&, Thread&, const Reach&);
template std::byte* reach<Space::shared>(const Instruction&, Thread&, const Reach&);
template std::byte* reach<Space::local>(const Instruction&, Thread&, const Reach&);
template std::byte* reach<Space::kernel_parameter>(const Instruction&, Thread&, const Reach&);
template std::byte* reach<Space::frame_parameter>(const Instruction&, Thread&, const Reach&);

std::string text_at(Thread& thread, Address address) {
  constexpr std::size_t characters_max = 200;
  std::string out;
  const Region* const region = nearest_global(*thread.block->run, address);
  if (region == nullptr)
    return out;
  for (std::uint64_t at = address - region->base; at < region->bytes && out.size() < characters_max;
       ++at) {
    const char c = static_cast<char>(region->content[at]);
    if (c == '\0')
      break;
    out += c;
  }
  return out;
}

}  // namespace softcuda::ptx
