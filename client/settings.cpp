#include "client/settings.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "proto/limits.hpp"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

constexpr std::string_view system_socket = "/run/libreyolo-kernels/socket";

Error unusable(std::string_view variable, std::string_view value, std::string_view wanted) {
  return {Code::invalid_argument, str(variable, " ", quoted(value), ": not ", wanted)};
}

// A whole decimal number and nothing else.
std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || problem != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

Result<void> parse_socket(Settings& settings) {
  constexpr std::string_view variable = "LIBREYOLO_KERNELS_SOCKET";
  const auto value = settings.environment.value(variable);
  if (!value.empty() && value.front() != '/')
    return unusable(variable, value, "an absolute path");
  settings.socket = value;
  return {};
}

Result<void> parse_exec(Settings& settings) {
  constexpr std::string_view variable = "LIBREYOLO_KERNELS_EXEC";
  const auto value = settings.environment.value(variable);
  if (value == "0")
    settings.activation = Activation::forbidden;
  else if (!value.empty() && value.front() != '/')
    return unusable(variable, value, "0 or an absolute path");
  else
    settings.program = value;
  return {};
}

Result<void> parse_trusted_uid(Settings& settings) {
  constexpr std::string_view variable = "LIBREYOLO_KERNELS_TRUST_UID";
  const auto value = settings.environment.value(variable);
  if (value.empty())
    return {};
  const auto number = parse_number(value);
  // The largest number means "no user" to the kernel.
  if (!number || *number >= static_cast<uid_t>(-1))
    return unusable(variable, value, "a user id");
  settings.trusted_uid = static_cast<uid_t>(*number);
  return {};
}

Result<void> parse_wait(Settings& settings) {
  constexpr std::string_view variable = "LIBREYOLO_KERNELS_WAIT";
  const auto value = settings.environment.value(variable);
  if (value.empty())
    return {};
  const auto seconds = parse_number(value);
  if (!seconds)
    return unusable(variable, value, "a number of seconds");
  const auto seconds_max = static_cast<std::uint64_t>(limits::resolve_wait_max.count()) / 1000;
  settings.wait = std::chrono::seconds{*seconds < seconds_max ? *seconds : seconds_max};
  return {};
}

}  // namespace

Environment Environment::of_process() {
  Environment out;
  if (::getauxval(AT_SECURE) != 0)
    return out;
  for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable)
    out.variables.emplace_back(*variable);
  return out;
}

std::string_view Environment::value(std::string_view name) const {
  for (const std::string_view variable : variables)
    if (variable.size() > name.size() && variable[name.size()] == '=' && variable.starts_with(name))
      return variable.substr(name.size() + 1);
  return {};
}

Result<Settings> parse_settings(Environment environment) {
  Settings settings;
  settings.environment = std::move(environment);
  settings.system_socket = system_socket;
  // The XDG specification: a relative path there is to be ignored.
  if (const auto folder = settings.environment.value("XDG_RUNTIME_DIR"); folder.starts_with('/'))
    settings.user_socket = str(folder, "/libreyolo-kernels/socket");
  LYK_TRY(parse_socket(settings));
  LYK_TRY(parse_exec(settings));
  LYK_TRY(parse_trusted_uid(settings));
  LYK_TRY(parse_wait(settings));
  settings.hub_forbidden = parse_hub_forbidden(settings.environment);
  return settings;
}

// LibreYOLO's words for no; anything else is a yes.
std::string parse_hub_forbidden(const Environment& environment) {
  constexpr std::string_view variable = "LIBREYOLO_HUB_KERNELS";
  constexpr std::string_view blanks = " \t\r\n";
  const auto value = environment.value(variable);
  const auto first = value.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  std::string word{value.substr(first, value.find_last_not_of(blanks) + 1 - first)};
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  constexpr std::array<std::string_view, 4> words{"0", "false", "off", "no"};
  const bool is_no = std::find(words.begin(), words.end(), word) != words.end();
  return is_no ? str(variable, "=", word) : std::string{};
}

}  // namespace lyk::client
