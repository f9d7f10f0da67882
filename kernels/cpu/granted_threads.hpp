// How many threads this process may use for computing: what people and the system have set, never
// more than the machine gives.
//
// Thread rule: free functions, safe from any thread; the environment must not be changed meanwhile,
// as ever.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

namespace lyk::cpu {

// The least of OMP_NUM_THREADS, the processors that the calling thread may run on, and the cgroup's
// share of processor time, rounded up; at least 1.
std::size_t granted_threads();

// The first number of OMP_NUM_THREADS, which may be a list for nested levels; nothing if it is not
// a positive number, as OpenMP ignores it then.
std::optional<std::size_t> parse_omp_num_threads(std::string_view text);

// The processor time that the cgroups of this process grant it together, in processors, rounded up:
// the least limit on the way up from its own group, version 2 or 1. Nothing if there is none.
// `root` is "/" but in tests.
std::optional<std::size_t> cgroup_processors(const std::filesystem::path& root);

}  // namespace lyk::cpu
