#include "tests/fakes/softcuda/inject.hpp"

#include <algorithm>

namespace softcuda {

Injector::Injector(const std::vector<Injection>& injections)
    : plans_(std::make_unique<Plan[]>(base_names().size())) {
  for (const Injection& injection : injections) {
    const auto found = std::ranges::find(base_names(), std::string_view{injection.function});
    if (found != base_names().end())
      plans_[static_cast<std::size_t>(found - base_names().begin())].injections.push_back(
          injection);
  }
}

const Injection* Injector::due(Plan& plan) {
  const std::uint64_t call = plan.calls.fetch_add(1, std::memory_order_relaxed) + 1;
  for (const Injection& injection : plan.injections)
    if (call == injection.call ||
        (call > injection.call && injection.calls == Injection::Calls::from_this_on))
      return &injection;
  return nullptr;
}

}  // namespace softcuda
