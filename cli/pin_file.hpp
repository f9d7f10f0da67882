// The pin file that `pin` is about to replace: only what decides whether and how it may be. Pins
// are parsed for use by the service alone (fetcher/pin). Thread rule: a pure function but for
// reading the file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "proto/result.hpp"

namespace lyk::cli {

struct ExistingPin {
  std::optional<std::string> repo;  // absent: the file is no pin that we understand
  std::optional<std::string> revision;
  std::optional<std::string> abi;
  std::vector<std::string> keys;  // of the top level, sorted
};

// What a text says; without a repo where it is no pin.
ExistingPin parse_existing_pin(std::string_view text);

// Absent if there is no such file. A file that is not TOML is an ExistingPin without a repo.
Result<std::optional<ExistingPin>> read_existing_pin(const std::filesystem::path& path);

}  // namespace lyk::cli
