// Which instructions a module may use: those that the architecture of its .target has.
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string_view>

#include "tests/fakes/softcuda/ptx/decode.hpp"

namespace softcuda::ptx {

// The target that an instruction needs, "sm_80" or "sm_100a", if `target` has not what it takes.
[[nodiscard]] std::optional<std::string_view> missing_target(const Statement& statement,
                                                             std::string_view target);

}  // namespace softcuda::ptx
