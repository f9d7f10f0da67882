// What a module is written for, its .target, and what an instruction needs of it.
//
// Thread rule: values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace softcuda::ptx {

struct Platform {
  std::string_view target;  // "sm_90a"
};

// The first target that has something; empty: all have it. "sm_100a" stands
// for every target of one architecture or one family from there on, "sm_100f" for those of that
// family alone.
struct Need {
  std::string_view target;
};

// "sm_90, the target is sm_80": what is missing; nothing if all is there.
[[nodiscard]] std::optional<std::string> missing_on(const Platform& platform, const Need& need);

}  // namespace softcuda::ptx
