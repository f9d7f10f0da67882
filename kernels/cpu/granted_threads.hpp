// How many threads this process may use for computing: what people and the system have set, never
// more than the machine gives.
//
// Thread rule: free functions, safe from any thread. None of them reads the environment.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

namespace lyk::cpu {

// The least of what is wished, the processors of this process (processor_set.hpp), and its cgroup's
// share of processor time, rounded up; at least 1. The same whichever thread asks.
std::size_t granted_threads(std::optional<std::size_t> wished);

// The wish of OMP_NUM_THREADS: its first number, as it may be a list for nested levels; nothing if
// that is not a positive number, as OpenMP ignores it then.
std::optional<std::size_t> parse_omp_num_threads(std::string_view text);

// The processor time that the cgroups of this process grant it together, in processors, rounded up:
// the least limit on the way up from its own group, version 2 or 1. Nothing if there is none.
// `root` is "/" but in tests.
std::optional<std::size_t> cgroup_processors(const std::filesystem::path& root);

}  // namespace lyk::cpu
