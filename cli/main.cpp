// libreyolo-kernels: see `libreyolo-kernels --help` and docs/cli.md.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "cli/process.hpp"
#include "cli/run.hpp"

int main(int argc, char** argv) {
  // The last net, for what no Result carries: memory that ran out, a fault in a library.
  try {
    lyk::cli::prepare_process();
    const auto environment = lyk::client::Environment::of_process();
    const auto terminal = lyk::cli::look_at_terminal(lyk::cli::read_preferences(environment));
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    return lyk::cli::run(words, environment, terminal);
  } catch (const std::exception& problem) {
    std::cerr << "libreyolo-kernels: internal: " << problem.what() << '\n';
    return lyk::info(lyk::Code::internal).exit_code;
  }
}
