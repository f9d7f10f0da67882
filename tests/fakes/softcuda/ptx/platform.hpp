// What a module is written for, its .version and .target, and what an instruction needs of them.
//
// Thread rule: values and pure functions.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace softcuda::ptx {

struct PtxVersion {
  int major = 0;
  int minor = 0;
  auto operator<=>(const PtxVersion&) const = default;
};

struct Platform {
  PtxVersion version;
  std::string_view target;  // "sm_90a"
};

// The first version and the first target that have something; empty: all have it. "sm_100a" stands
// for every target of one architecture or one family from there on, "sm_100f" for those of that
// family alone.
struct Need {
  std::string_view target;
  PtxVersion version = {};
};

// "PTX 7.8" or "sm_90": what is missing; nothing if all is there.
[[nodiscard]] std::optional<std::string> missing_on(const Platform& platform, const Need& need);

// "7.8"; nothing if it is no version.
[[nodiscard]] std::optional<PtxVersion> version_named(std::string_view text);

// The PTX version that brought a target; nothing for what is no target.
[[nodiscard]] std::optional<PtxVersion> version_of_target(std::string_view target);

}  // namespace softcuda::ptx
