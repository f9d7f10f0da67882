#include "tests/fakes/softcuda/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>

#include "proto/text.hpp"
#include "tests/fakes/softcuda/functions.hpp"

namespace softcuda {

namespace {

using lyk::Code;
using lyk::Error;
using lyk::quoted;
using lyk::Result;
using lyk::str;

constexpr std::array known_variables{
    std::string_view{"SOFTCUDA_DEVICES"}, std::string_view{"SOFTCUDA_DRIVER"},
    std::string_view{"SOFTCUDA_FAIL"},    std::string_view{"SOFTCUDA_PTX_PATH"},
    std::string_view{"SOFTCUDA_SEED"},    std::string_view{"SOFTCUDA_CHECK"},
    std::string_view{"SOFTCUDA_TRACE"},   std::string_view{"SOFTCUDA_EXECUTE"},
    std::string_view{"SOFTCUDA_HIDE"},    std::string_view{"SOFTCUDA_MOVE_PRIMARY"},
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t end = text.find(separator);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return out;
    text.remove_prefix(end + 1);
  }
}

Result<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return Error{Code::invalid_argument, str(quoted(text), " is no number")};
  return value;
}

Result<bool> parse_switch(std::string_view text) {
  if (text != "0" && text != "1")
    return Error{Code::invalid_argument, str(quoted(text), " is neither 0 nor 1")};
  return text == "1";
}

Result<std::string> parse_function(std::string_view text) {
  std::string base = base_name(text);
  const auto names = base_names();
  if (std::ranges::find(names, std::string_view{base}) != names.end())
    return base;
  const std::string_view near = lyk::nearest(base, names);
  return Error{Code::invalid_argument,
               str("no function ", quoted(text), near.empty() ? "" : ", perhaps ", near)};
}

Result<std::vector<const DeviceModel*>> parse_devices(std::string_view text) {
  std::vector<const DeviceModel*> out;
  if (text == "none")
    return out;
  for (const std::string_view word : split(text, ',')) {
    const DeviceModel* const model = find_device_model(word);
    if (model == nullptr) {
      std::string known;
      for (const std::string_view name : device_model_names())
        known += str(known.empty() ? "" : " ", name);
      return Error{Code::invalid_argument,
                   str("no device ", quoted(word), " here; known: ", known)};
    }
    out.push_back(model);
  }
  if (out.size() > devices_max)
    return Error{Code::invalid_argument, str(out.size(), " devices, limit ", devices_max)};
  return out;
}

Result<lyk::CudaVersion> parse_driver(std::string_view text) {
  const auto version = lyk::CudaVersion::parse(text);
  if (!version || !is_known_driver(*version))
    return Error{Code::invalid_argument, str(quoted(text), " is no CUDA version of 11.8 to 13")};
  return *version;
}

// NAME:N[+]:CODE[:async]
Result<Injection> parse_injection(std::string_view text) {
  const auto words = split(text, ':');
  if (words.size() < 3 || words.size() > 4)
    return Error{Code::invalid_argument, str(quoted(text), " is not function:call:code[:async]")};
  Injection out;
  LYK_TRY_ASSIGN(out.function, parse_function(words[0]));
  std::string_view call = words[1];
  if (call.ends_with('+')) {
    out.calls = Injection::Calls::from_this_on;
    call.remove_suffix(1);
  }
  LYK_TRY_ASSIGN(out.call, parse_number(call));
  if (out.call == 0)
    return Error{Code::invalid_argument, str(quoted(text), ": calls are counted from 1")};
  LYK_TRY_ASSIGN(const std::uint64_t code, parse_number(words[2]));
  if (code == 0 || code > 999)
    return Error{Code::invalid_argument, str(quoted(text), ": codes are 1 to 999")};
  out.status = static_cast<Status>(code);
  if (words.size() == 4) {
    if (words[3] != "async")
      return Error{Code::invalid_argument,
                   str(quoted(text), ": ", quoted(words[3]), " is not 'async'")};
    if (!is_sticky(out.status))
      return Error{Code::invalid_argument,
                   str(quoted(text), ": code ", code, " does not come from a running kernel")};
    out.when = Injection::When::afterwards;
  }
  return out;
}

Result<void> parse_checks(std::string_view text, Settings& out) {
  for (const std::string_view word : split(text, ',')) {
    if (word == "race")
      out.check_race = true;
    else if (word == "uninitialised")
      out.check_uninitialised = true;
    else
      return Error{Code::invalid_argument,
                   str(quoted(word), " is neither 'race' nor 'uninitialised'")};
  }
  return {};
}

Result<void> parse_lists(std::string_view name, std::string_view value, Settings& out) {
  if (name == "SOFTCUDA_FAIL") {
    for (const std::string_view word : split(value, ',')) {
      LYK_TRY_ASSIGN(Injection injection, parse_injection(word));
      out.injections.push_back(std::move(injection));
    }
  } else if (name == "SOFTCUDA_HIDE") {
    for (const std::string_view word : split(value, ',')) {
      LYK_TRY_ASSIGN(std::string function, parse_function(word));
      out.hidden.push_back(std::move(function));
    }
  } else if (name == "SOFTCUDA_PTX_PATH") {
    for (const std::string_view word : split(value, ':'))
      if (!word.empty())
        out.ptx_paths.emplace_back(word);
  }
  return {};
}

Result<void> parse_variable(std::string_view name, std::string_view value, Settings& out) {
  if (name == "SOFTCUDA_DEVICES") {
    LYK_TRY_ASSIGN(out.devices, parse_devices(value));
  } else if (name == "SOFTCUDA_DRIVER") {
    LYK_TRY_ASSIGN(out.driver, parse_driver(value));
  } else if (name == "SOFTCUDA_SEED") {
    LYK_TRY_ASSIGN(out.seed, parse_number(value));
  } else if (name == "SOFTCUDA_CHECK") {
    return parse_checks(value, out);
  } else if (name == "SOFTCUDA_TRACE") {
    out.trace_path = value;
  } else if (name == "SOFTCUDA_EXECUTE") {
    LYK_TRY_ASSIGN(out.execute, parse_switch(value));
  } else if (name == "SOFTCUDA_MOVE_PRIMARY") {
    LYK_TRY_ASSIGN(out.move_primary, parse_switch(value));
  }
  return parse_lists(name, value, out);
}

}  // namespace

bool is_sticky(Status status) {
  constexpr std::array sticky{
      Status::ecc_uncorrectable,     Status::nvlink_uncorrectable, Status::contained,
      Status::illegal_address,       Status::launch_timeout,       Status::assert_failed,
      Status::hardware_stack_error,  Status::illegal_instruction,  Status::misaligned_address,
      Status::invalid_address_space, Status::invalid_pc,           Status::launch_failed,
      Status::external_device};
  return std::ranges::find(sticky, status) != sticky.end();
}

std::string base_name(std::string_view function) {
  for (const std::string_view suffix : {"_ptsz", "_ptds"})
    if (function.ends_with(suffix))
      function.remove_suffix(suffix.size());
  const std::size_t version = function.rfind("_v");
  if (version != std::string_view::npos && version + 3 == function.size() &&
      function.back() >= '1' && function.back() <= '9')
    function.remove_suffix(3);
  return std::string{function};
}

Variables softcuda_variables() {
  Variables out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::size_t end = text.find('=');
    if (text.starts_with("SOFTCUDA_") && end != std::string_view::npos)
      out.emplace(text.substr(0, end), text.substr(end + 1));
  }
  return out;
}

Result<Settings> parse_settings(const Variables& variables) {
  Settings out;
  out.devices = {find_device_model("sm_90")};
  out.driver = {13, 0};
  for (const auto& [name, value] : variables) {
    if (std::ranges::find(known_variables, std::string_view{name}) == known_variables.end()) {
      const std::string_view near = lyk::nearest(name, known_variables);
      return Error{Code::invalid_argument,
                   str(quoted(name), ": no such variable", near.empty() ? "" : ", perhaps ", near)};
    }
    if (value.empty())
      continue;
    const auto parsed = parse_variable(name, value, out);
    if (!parsed)
      return Error{Code::invalid_argument, str(name, ": ", parsed.error().message)};
  }
  for (const DeviceModel* const device : out.devices)
    if (out.driver < device->first_driver)
      return Error{Code::invalid_argument,
                   str("SOFTCUDA_DEVICES: ", device->sm, " needs a driver of CUDA ",
                       device->first_driver.text(), ", SOFTCUDA_DRIVER is ", out.driver.text())};
  return out;
}

}  // namespace softcuda
