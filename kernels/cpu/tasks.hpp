// How a tensor is cut into tasks: by its size alone, so that results never depend on the number of
// threads.
//
// Thread rule: as Workers.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/workers.hpp"
#include "kernels/slots/quantization.hpp"

namespace lyk::cpu {

// Below this a call is over before another thread has woken up.
inline constexpr std::size_t divided_elements_min = std::size_t{1} << 16;
// What a task reads and writes stays in the second-level cache.
inline constexpr std::size_t task_elements = std::size_t{1} << 14;

struct Units {
  std::size_t count = 0;
  std::size_t elements = 1;  // of one unit, about
};

// Calls `visit(first, last)` for ranges of units that cover all of them, each about a task's worth.
template <typename Visit>
void for_each_range(const Units& units, Workers& workers, const Visit& visit) {
  const bool is_small = units.count * units.elements < divided_elements_min;
  const std::size_t wanted = std::max<std::size_t>(task_elements / units.elements, 1);
  const std::size_t per_task = is_small ? std::max<std::size_t>(units.count, 1) : wanted;
  workers.run(slots::groups_in(units.count, per_task),
              [&](std::size_t task, std::size_t /*worker*/) {
                visit(task * per_task, std::min((task + 1) * per_task, units.count));
              });
}

}  // namespace lyk::cpu
