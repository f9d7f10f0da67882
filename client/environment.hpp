// Which implementations the environment allows (DESIGN section 7): parsed once into a Policy, which
// answers from then on. LibreYOLO reads the same variables and must come to the same answers.
// Thread rule: values and pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/settings.hpp"
#include "proto/result.hpp"

namespace lyk::client {

// The names of what this library brings itself. `hub` needs a service, `reference` is never off by
// LIBREYOLO_KERNELS.
inline constexpr std::string_view hub_name = "hub";
inline constexpr std::string_view cuda_name = "cuda";
inline constexpr std::string_view cpu_name = "cpu";
inline constexpr std::string_view reference_name = "reference";

// Whether a name is the library's own, which nobody else can register. `reference` is not: a host
// may have a better one.
bool is_own_name(std::string_view name);

// One entry of LIBREYOLO_KERNELS_DISABLE.
struct Disabled {
  std::string slot;
  std::string implementation;  // empty: all of the slot's
};

struct Policy {
  // LIBREYOLO_KERNELS: the one name beside `reference`, or "lyk" for all of ours; empty: all.
  std::string only;
  std::string only_variable;  // "LIBREYOLO_KERNELS=off", for reasons
  std::vector<Disabled> disabled;
  bool deterministic = false;  // LIBREYOLO_KERNELS_DETERMINISTIC
  // OMP_NUM_THREADS, for `cpu`; nothing: it says nothing, or nothing that means anything.
  std::optional<std::size_t> host_threads;
  std::string hub_forbidden;  // as Settings::hub_forbidden
  // Where a service may be found, and whether it may be asked. An invalid_argument error names the
  // variable, of all that are read here, whose value means nothing.
  Result<Settings> settings = Settings{};
};

Policy parse_policy(Environment environment);

// Policy::host_threads alone.
std::optional<std::size_t> parse_host_threads(const Environment& environment);

// Why the implementation `name` of `slot` may not run at all; empty: it may.
std::string forbidden_by(const Policy& policy, std::string_view slot, std::string_view name);

}  // namespace lyk::client
