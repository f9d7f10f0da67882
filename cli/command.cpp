#include "cli/command.hpp"

#include <array>

namespace lyk::cli {

std::span<const Command* const> commands() {
  static constexpr std::array<const Command*, 14> table{
      &fetch_command,  &resolve_command, &inspect_command, &list_command,         &info_command,
      &pins_command,   &pin_command,     &verify_command,  &remove_command,       &prune_command,
      &status_command, &doctor_command,  &parity_command,  &rebuild_index_command};
  return table;
}

const Command* find_command(std::string_view name) {
  for (const Command* command : commands())
    if (command->name == name)
      return command;
  return nullptr;
}

}  // namespace lyk::cli
