#include "tests/fakes/softcuda/ptx/platform.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "proto/text.hpp"

namespace softcuda::ptx {

namespace {

// As ptxas 13.0 has it; sm_101 was renamed to sm_110 with PTX 9.0.
struct TargetVersion {
  std::string_view target;
  PtxVersion version;
};

constexpr std::array target_versions{
    TargetVersion{"sm_20", {2, 0}},   TargetVersion{"sm_21", {2, 0}},
    TargetVersion{"sm_30", {3, 0}},   TargetVersion{"sm_32", {4, 0}},
    TargetVersion{"sm_35", {3, 1}},   TargetVersion{"sm_37", {4, 1}},
    TargetVersion{"sm_50", {4, 0}},   TargetVersion{"sm_52", {4, 1}},
    TargetVersion{"sm_53", {4, 2}},   TargetVersion{"sm_60", {5, 0}},
    TargetVersion{"sm_61", {5, 0}},   TargetVersion{"sm_62", {5, 0}},
    TargetVersion{"sm_70", {6, 0}},   TargetVersion{"sm_72", {6, 1}},
    TargetVersion{"sm_75", {6, 3}},   TargetVersion{"sm_80", {7, 0}},
    TargetVersion{"sm_86", {7, 1}},   TargetVersion{"sm_87", {7, 4}},
    TargetVersion{"sm_88", {9, 0}},   TargetVersion{"sm_89", {7, 8}},
    TargetVersion{"sm_90", {7, 8}},   TargetVersion{"sm_90a", {8, 0}},
    TargetVersion{"sm_100", {8, 6}},  TargetVersion{"sm_100a", {8, 6}},
    TargetVersion{"sm_100f", {8, 8}}, TargetVersion{"sm_101", {8, 6}},
    TargetVersion{"sm_101a", {8, 6}}, TargetVersion{"sm_101f", {8, 8}},
    TargetVersion{"sm_103", {8, 8}},  TargetVersion{"sm_103a", {8, 8}},
    TargetVersion{"sm_103f", {8, 8}}, TargetVersion{"sm_110", {9, 0}},
    TargetVersion{"sm_110a", {9, 0}}, TargetVersion{"sm_110f", {9, 0}},
    TargetVersion{"sm_120", {8, 7}},  TargetVersion{"sm_120a", {8, 7}},
    TargetVersion{"sm_120f", {8, 8}}, TargetVersion{"sm_121", {8, 8}},
    TargetVersion{"sm_121a", {8, 8}}, TargetVersion{"sm_121f", {8, 8}},
};

int number_of(std::string_view target) {
  constexpr std::string_view prefix = "sm_";
  int number = 0;
  if (target.starts_with(prefix))
    (void)std::from_chars(target.data() + prefix.size(), target.data() + target.size(), number);
  return number;
}

bool is_specific(std::string_view target) {
  return target.ends_with('a') || target.ends_with('f');
}

bool has_target(std::string_view own, std::string_view needed) {
  if (needed.empty())
    return true;
  if (number_of(own) < number_of(needed) || (is_specific(needed) && !is_specific(own)))
    return false;
  constexpr int numbers_in_family = 10;
  return !needed.ends_with('f') ||
         number_of(own) / numbers_in_family == number_of(needed) / numbers_in_family;
}

}  // namespace

std::optional<std::string> missing_on(const Platform& platform, const Need& need) {
  if (!has_target(platform.target, need.target))
    return lyk::str(need.target, ", the target is ", platform.target);
  if (platform.version < need.version)
    return lyk::str("PTX ", need.version.major, ".", need.version.minor, ", the module is ",
                    platform.version.major, ".", platform.version.minor);
  return std::nullopt;
}

std::optional<PtxVersion> version_named(std::string_view text) {
  PtxVersion version;
  const char* const end = text.data() + text.size();
  const auto [dot, major_error] = std::from_chars(text.data(), end, version.major);
  if (major_error != std::errc{} || dot == end || *dot != '.')
    return std::nullopt;
  const auto [last, minor_error] = std::from_chars(dot + 1, end, version.minor);
  if (minor_error != std::errc{} || last != end)
    return std::nullopt;
  return version;
}

std::optional<PtxVersion> version_of_target(std::string_view target) {
  const auto* const found = std::ranges::find(target_versions, target, &TargetVersion::target);
  if (found == target_versions.end())
    return std::nullopt;
  return found->version;
}

}  // namespace softcuda::ptx
