// Exec activation: a service of our own, by varlink's `exec:` convention. libreyolo-kernelsd is
// started with one end of a socketpair as descriptor 3 and leaves when that is closed.
//
// The host owes us nothing and notices nothing: the service is nobody's child (so no zombie, no
// SIGCHLD, and nothing for a waitpid(-1) to find), gets no descriptor of the host, no signal
// disposition, no mask, and a session of its own.
// Thread rule: safe from any thread of any host, also while other threads run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/settings.hpp"
#include "proto/result.hpp"
#include "proto/unique.hpp"

namespace lyk::client {

// Where the program may be, seen from the folder of the library or program that this code is in:
// beside it, and in the bin and libexec that belong to a lib. Never in the current folder, never by
// PATH. Pure.
std::vector<std::string> program_places(std::string_view folder);

// The program to start: LIBREYOLO_KERNELS_EXEC, else the first of program_places that can be run,
// else the path that was compiled in. A network error ("no daemon") names where it was looked for.
Result<std::string> find_program(const Settings& settings);

// Starts `program` and returns our end. The service inherits the environment, without what systemd
// said to the host alone. An error of exec itself is reported here (network); a program that ends
// later closes its end. Standard input and output are /dev/null, standard error is the host's,
// unless that is a pipe: whoever reads it would wait for the service too. not_eligible: the process
// is short of descriptors, memory or processes.
Result<UniqueFd> activate(const std::string& program, const Environment& environment);

}  // namespace lyk::client
