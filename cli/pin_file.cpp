#include "cli/pin_file.hpp"

#include <system_error>

// Header only and without exceptions, as in fetcher/toml.cpp.
#undef TOML_HEADER_ONLY
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "cli/file.hpp"
#include "proto/limits.hpp"

namespace lyk::cli {

ExistingPin parse_existing_pin(std::string_view text) {
  ExistingPin pin;
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return pin;
  const toml::table& table = parsed.table();
  pin.repo = table["repo"].value<std::string>();
  pin.revision = table["revision"].value<std::string>();
  pin.abi = table["abi"].value<std::string>();
  for (const auto& [key, value] : table)
    pin.keys.emplace_back(key.str());
  return pin;
}

Result<std::optional<ExistingPin>> read_existing_pin(const std::filesystem::path& path) {
  std::error_code absent;
  if (std::filesystem::symlink_status(path, absent).type() == std::filesystem::file_type::not_found)
    return std::optional<ExistingPin>{};
  LYK_TRY_ASSIGN(const std::string text, read_text_file(path, limits::pin_bytes_max));
  return std::optional{parse_existing_pin(text)};
}

}  // namespace lyk::cli
