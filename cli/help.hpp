// The text of --help, made from the tables of the commands.
// Thread rule: pure functions.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace lyk::cli {

inline constexpr std::string_view program_name = "libreyolo-kernels";

std::string program_help();
std::string command_help(const Command& command);

}  // namespace lyk::cli
