// Errors on demand: which result the present call of a function gets instead of its own, by how
// often the function was called before.
//
// Thread rule: any thread; each call is counted once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/fakes/softcuda/functions.hpp"
#include "tests/fakes/softcuda/settings.hpp"

namespace softcuda {

class Injector {
public:
  explicit Injector(const std::vector<Injection>& injections);

  // Counts a call of the function. The injection for it, or null; of several the first.
  const Injection* next(const FunctionInfo& function) {
    Plan& plan = plans_[function.base_index];
    return plan.injections.empty() ? nullptr : due(plan);
  }

private:
  struct Plan {
    std::vector<Injection> injections;
    std::atomic<std::uint64_t> calls = 0;
  };
  static const Injection* due(Plan& plan);

  std::unique_ptr<Plan[]> plans_;  // NOLINT(modernize-avoid-c-arrays): atomics do not move
};

}  // namespace softcuda
