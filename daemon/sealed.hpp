// A sealed memfd: bytes that nobody can change any more, not even their owner, to be handed to
// other processes as a descriptor. Thread rule: pure functions of their arguments.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "proto/digest.hpp"
#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::daemon {

// PTX is handed to the driver as a C string, so it gets a NUL that its size and hash do not count.
enum class ClosingNul { no, yes };

// `name` is for people who look at /proc/<pid>/maps. The descriptor is close-on-exec, not
// executable where the kernel knows that (6.3), and sealed against writing, growing, shrinking and
// more seals.
Result<UniqueFd> seal_memory(const std::string& name,
                             std::span<const std::byte> bytes,
                             ClosingNul closing_nul);

// Hashes what stands in the memfd now: its first `bytes` bytes.
Result<Digest> hash_sealed(int fd, std::size_t bytes);

}  // namespace lyk::daemon
