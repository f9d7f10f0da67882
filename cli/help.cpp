#include "cli/help.hpp"

#include <algorithm>

#include "proto/text.hpp"

namespace lyk::cli {

namespace {

struct Row {
  std::string left;
  std::string right;
};

std::string two_columns(const std::vector<Row>& rows) {
  std::size_t width = 0;
  for (const Row& row : rows)
    width = std::max(width, row.left.size());
  std::string out;
  for (const Row& row : rows)
    out += str("  ", row.left, std::string(width - row.left.size() + 2, ' '), row.right, '\n');
  return out;
}

Row option_row(const Option& option) {
  std::string left = option.letter == '\0' ? std::string{"    "} : str('-', option.letter, ", ");
  left += str("--", option.name);
  if (!option.value.empty())
    left += str(' ', option.value);
  return {std::move(left), std::string{option.help}};
}

}  // namespace

std::string program_help() {
  std::vector<Row> rows;
  for (const Command* command : commands())
    rows.push_back({std::string{command->name}, std::string{command->summary}});
  return str("usage: ", program_name, " COMMAND [options]\n\n",
             "Proven device images of GPU kernels from the Hugging Face Hub, for every process of\n"
             "this machine. The commands ask the service, or start one for themselves where none\n"
             "runs.\n\ncommands:\n",
             two_columns(rows), "\noptions:\n",
             two_columns({{"-h, --help", "print this text; after a command, that command's help"},
                          {"    --version", "print the version"}}),
             "\nexample:\n  ", program_name, " fetch ms_deform_attn\n",
             "\nexit codes: 0 done; 2 wrong arguments; 3 not found, pinned, cached or no image;\n"
             "4 bytes are not what their proof says; 5 offline, network or no service; 6 disk or\n"
             "store; 7 driver; 8 refused; 70 busy, cancelled or a fault of our own\n");
}

std::string command_help(const Command& command) {
  std::string out = str("usage: ", program_name, ' ', command.name);
  if (!command.positionals.usage.empty())
    out += str(' ', command.positionals.usage);
  out += str(" [options]\n\n", command.description, "\n\noptions:\n");
  std::vector<Row> rows;
  for (const Option& option : command.options)
    rows.push_back(option_row(option));
  for (const Option& option : common_options())
    rows.push_back(option_row(option));
  out += two_columns(rows);
  out += command.examples.size() == 1 ? "\nexample:\n" : "\nexamples:\n";
  for (const Example& example : command.examples)
    out += str("  # ", example.what, "\n  ", program_name, ' ', example.words, '\n');
  return out;
}

}  // namespace lyk::cli
