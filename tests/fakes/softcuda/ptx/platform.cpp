#include "tests/fakes/softcuda/ptx/platform.hpp"

#include <charconv>

#include "proto/text.hpp"

namespace softcuda::ptx {

namespace {

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
  return std::nullopt;
}

}  // namespace softcuda::ptx
