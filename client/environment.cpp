#include "client/environment.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/granted_threads.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

constexpr std::string_view disable_variable = "LIBREYOLO_KERNELS_DISABLE";
constexpr std::string_view all_of_ours = "lyk";  // this library's name in LibreYOLO

// Without blanks around it and in lower case, as LibreYOLO compares values.
std::string word(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  std::string out{text.substr(first, text.find_last_not_of(blanks) + 1 - first)};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

void parse_only(Policy& policy, const Environment& environment) {
  // The second is older than this library and counts only where the first says nothing.
  for (const std::string_view variable : {"LIBREYOLO_KERNELS", "LIBREYOLO_QUANT_KERNELS"}) {
    const std::string value = word(environment.value(variable));
    if (value.empty())
      continue;
    policy.only = value == "off" ? reference_name : std::string_view{value};
    policy.only_variable = str(variable, "=", value);
    return;
  }
}

// One that means nothing is an error, and the others hold all the same.
Result<void> parse_disabled(Policy& policy, const Environment& environment) {
  Result<void> out;
  std::string_view rest = environment.value(disable_variable);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string entry = word(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    if (entry.empty())
      continue;
    const auto colon = entry.find(':');
    Disabled disabled{word(entry.substr(0, colon)), {}};
    if (colon != std::string::npos)
      disabled.implementation = word(entry.substr(colon + 1));
    if (disabled.slot.empty() || (colon != std::string::npos && disabled.implementation.empty()))
      out = Error{Code::invalid_argument,
                  str(disable_variable, " ", quoted(entry), ": not a slot or slot:implementation")};
    else
      policy.disabled.push_back(std::move(disabled));
  }
  return out;
}

bool parse_deterministic(const Environment& environment) {
  constexpr std::array<std::string_view, 4> noes{"0", "false", "off", "no"};
  const std::string value = word(environment.value("LIBREYOLO_KERNELS_DETERMINISTIC"));
  return !value.empty() && std::find(noes.begin(), noes.end(), value) == noes.end();
}

}  // namespace

std::optional<std::size_t> parse_host_threads(const Environment& environment) {
  return cpu::parse_omp_num_threads(environment.value("OMP_NUM_THREADS"));
}

bool is_own_name(std::string_view name) {
  return name == hub_name || name == cuda_name || name == cpu_name;
}

Policy parse_policy(Environment environment) {
  Policy policy;
  parse_only(policy, environment);
  policy.deterministic = parse_deterministic(environment);
  policy.host_threads = parse_host_threads(environment);
  policy.hub_forbidden = parse_hub_forbidden(environment);
  const auto disabled = parse_disabled(policy, environment);
  policy.settings = parse_settings(std::move(environment));
  if (!disabled)
    policy.settings = disabled.error();
  return policy;
}

std::string forbidden_by(const Policy& policy, std::string_view slot, std::string_view name) {
  const bool is_meant = policy.only == all_of_ours ? is_own_name(name) : name == policy.only;
  if (!policy.only.empty() && !is_meant && name != reference_name)
    return policy.only_variable;
  if (name == hub_name && !policy.hub_forbidden.empty())
    return policy.hub_forbidden;
  for (const Disabled& entry : policy.disabled)
    if (entry.slot == slot && (entry.implementation.empty() || entry.implementation == name))
      return str(disable_variable, " names ", slot, entry.implementation.empty() ? "" : ":",
                 entry.implementation);
  return {};
}

}  // namespace lyk::client
